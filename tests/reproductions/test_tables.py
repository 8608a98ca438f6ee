"""The committed tables are what the committed rows are judged to be, and the README counts them right."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from probe.lab.reproducing import reproduction_of, rows_of, seeds_there, write_section
from probe.reproductions import MINUTES
from probe.reproductions.claims import Settings

KEPT = Path(__file__).parents[2] / "docs" / "reproductions"
VERDICTS = ("agrees", "differs", "depends on the seed", "not run")
COUNTED = re.compile(r"^\| \[?`(\w+)`\S* \|" + r" *(\w*) *\|" * len(VERDICTS), re.MULTILINE)


@pytest.mark.parametrize("name", MINUTES)
def test_a_table_is_what_its_rows_say(name: str, tmp_path: Path) -> None:
    counted = {found[0]: found[1:] for found in COUNTED.findall((KEPT / "README.md").read_text("utf-8"))}[name]
    if not (KEPT / name).exists():
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
