"""The committed tables are what the committed rows are judged to be, and the README counts them right."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from probe.lab.reproducing import reproduction_of, rows_of, seeds_there, write_section
from probe.reproductions import MINUTES
from probe.reproductions.claims import Settings
from probe.reproductions.winograd import MODELS, SOLVED, key_of

KEPT = Path(__file__).parents[2] / "docs" / "reproductions"
VERDICTS = ("agrees", "differs", "depends on the seed", "not run")
COUNTED = re.compile(r"^\| \[?`(\w+)`\S* \|" + r" *(\w*) *\|" * len(VERDICTS), re.MULTILINE)


@pytest.mark.parametrize("name", MINUTES)
def test_a_table_is_what_its_rows_say(name: str, tmp_path: Path) -> None:
    counted = {found[0]: found[1:] for found in COUNTED.findall((KEPT / "README.md").read_text("utf-8"))}[name]
    if not (KEPT / name / "rows").exists():
        assert counted == ("", "", "", "all")
        return
    shutil.copytree(KEPT / name / "rows", tmp_path / name / "rows")
    reproduction = reproduction_of(name)
    rows = rows_of(reproduction, Settings(), seeds_there(reproduction, Settings(), tmp_path), tmp_path)
    judged, _ = write_section(reproduction, rows, Settings(), tmp_path)
    assert (tmp_path / name / f"{name}.md").read_text("utf-8") == (KEPT / name / f"{name}.md").read_text("utf-8")
    assert {path.name for path in (tmp_path / name).glob("figures/*.svg")} == {
        path.name for path in (KEPT / name).glob("figures/*.svg")
    }
    found = Counter(one.verdict for one in judged)
    assert counted == tuple(str(found[verdict] or "") for verdict in VERDICTS)


WAYS_TO_ANSWER = {
    "one hop, by keys": r"one hop.* by their keys",
    "one hop, by values": r"one hop.* by their values",
    "two hops, by values": r"two hops.* by their values",
    "two hops, by queries": r"two hops.* by their queries",
    "two hops, by keys": r"two hops.* by their keys",
    "two hops, several ports": r"two hops.* several ports",
    "fails, not traced": r"not traced",
}


def test_the_readme_counts_strategies_as_the_rows_do() -> None:
    text = (KEPT.parents[1] / "README.md").read_text("utf-8")
    (header,) = re.findall(r"^\| model \| solved, .*\|$", text, re.MULTILINE)
    assert [cell.strip() for cell in header.split("|")[3:-1]] == list(WAYS_TO_ANSWER)
    for model, label in MODELS.items():
        if model == "uniform":
            continue
        files = [KEPT / "winograd" / "rows" / f"{key_of('hard', model, 'defaults')}-s{seed}.json" for seed in range(16)]
        rows = [json.loads(path.read_text("utf-8"))["values"] for path in files]
        solved = sum(row["last"] >= SOLVED for row in rows)
        counts = [sum(bool(re.match(way, row["strategy"])) for row in rows) for way in WAYS_TO_ANSWER.values()]
        assert sum(counts) == len(rows)
        cells = [
            label,
            f"{solved} ({sum(row['last'] for row in rows) / len(rows):.1%})",
            *(str(n or "") for n in counts),
        ]
        assert f"| {' | '.join(cells)} |" in text
