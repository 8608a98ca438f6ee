"""Verification: the stated numbers of a report or of a run computed again, from the weights and the manifest alone.

Everything is computed in a scratch folder that holds the run's weights, checkpoints and manifest and none of its
results; then each stated table is laid beside the new one, cell by cell.
"""

from __future__ import annotations

import json
import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from probe import store
from probe.errors import NotThere, ProbeError
from probe.files import read_text
from probe.lab.analysing import ANALYSES, belongs, compute, result_names
from probe.lab.data import run_dataset
from probe.lab.models import provenance
from probe.report.markdown import NUMBERS
from probe.report.material import NOTHING, stated_numbers
from probe.store import Run
from probe.tasks.dataset import order_blind_counts

TOLERANCE = 0.002
"""Numbers are stated to four decimals; other processors and versions move them less than this."""
ALL = 10**6
"""Rows: of a run every table is verified, of a report those that it states."""
MEASURED = ("value", "low", "high", "floor", "control", "maximum", "ratio_of_means")
"""Columns that hold what was measured, also where all their numbers happen to be whole."""
_STATED = (
    re.compile(r'<script type="application/json" id="numbers">(.*?)</script>', re.DOTALL),
    re.compile(rf"<!-- {NUMBERS} (.*?) -->", re.DOTALL),
)


def stated_in(path: Path) -> dict[str, Any]:
    """The numbers that a page or a Markdown report states.

    Raises:
        ProbeError: the file is no report of ours.
    """
    content = read_text(path, "report")
    for form in _STATED:
        found = form.search(content)
        if found:
            try:
                numbers = json.loads(found[1])
            except json.JSONDecodeError:
                raise ProbeError(f"report {path}: its numbers are damaged; make it again with probe report") from None
            if isinstance(numbers, dict) and "run" in numbers and isinstance(numbers.get("results"), dict):
                return numbers
            if isinstance(numbers, dict) and "runs" in numbers:
                raise ProbeError(f"report {path} compares several runs; verify each run by its name")
    raise ProbeError(
        f"{path} states no numbers that could be verified; name a report that probe report wrote, or a run"
    )


def stated_by(run: Run) -> dict[str, Any]:
    """The numbers that a run's folder holds, in the form in which a report states them."""
    kept = {name: store.load_result(run, name) for name in result_names(run) if not name.startswith("attn-")}
    results = {name: result for name, result in kept.items() if result is not None}
    if not results:
        raise NotThere(f"run {run.name} holds no results to verify; make some with probe report {run.name}")
    digests = {result.provenance.model_digest for result in results.values()}
    about = {"task_digest": run.manifest["task_digest"], "data_sha256": run.manifest["data_sha256"]}
    return {"run": run.name, **about, "model_digest": digests.pop(), "results": stated_numbers(results, ALL)}


def run_of(report: Path, stated: Mapping[str, Any], runs: Path) -> Run:
    """The run that a report is about: the folder it lies in, or the one of that name in `runs`."""
    beside = report.resolve().parent
    if (beside / "manifest.json").exists() and beside.name == stated["run"]:
        return store.open_run(beside.parent, beside.name)
    return store.open_run(runs, str(stated["run"]))


def drifts(
    run: Run, stated: Mapping[str, Any], tell: Callable[[str], None] = lambda doing: None, processes: int = 1
) -> Iterator[str]:
    """What no longer holds, in one line each; nothing where all does. Computed in so many `processes`."""
    source = provenance(run)
    for what, now in (("task_digest", source.task_digest), ("model_digest", source.model_digest)):
        if stated.get(what) != now:
            yield f"{what}: stated {str(stated.get(what))[:16]}…, the run has {now[:16]}…"
    try:
        dataset = run_dataset(run)
    except ProbeError as error:
        yield f"sentences: {error}"
        return
    if stated.get("data_sha256") != dataset.digest:
        yield f"data_sha256: stated {str(stated.get('data_sha256'))[:16]}…, the task generates {dataset.digest[:16]}…"
    counts = order_blind_counts(dataset)
    counted = {"order_blind_ceiling": counts.ceiling, "table_of_bags": counts.transfer.accuracy}
    for name, value in stated.get("counts", {}).items():
        if name in counted and not _same(value, counted[name]):
            yield f"{name}: stated {value}, counted {counted[name]:.6f}"
    asked = {
        analysis.name: {name: table for name, table in stated["results"].items() if belongs(name, analysis.results)}
        for analysis in ANALYSES
    }
    asked = {name: tables for name, tables in asked.items() if tables}
    pairs = {name: max(t.get("pairs") or 0 for t in tables.values()) or None for name, tables in asked.items()}
    with tempfile.TemporaryDirectory() as folder:
        scratch = _scratch(run, Path(folder))
        gone = compute(scratch, pairs, processes, lambda doing: tell(doing.replace(" …", " again …")))
        for name, tables in asked.items():
            if name in gone:
                yield f"{name}: stated, but cannot be computed: {gone[name]}"
            else:
                yield from _drifted(scratch, tables)


def unverified(stated: Mapping[str, Any]) -> list[str]:
    """Stated results that no analysis here computes."""
    return [name for name in stated["results"] if not any(belongs(name, analysis.results) for analysis in ANALYSES)]


def _scratch(run: Run, folder: Path) -> Run:
    """The run without its results."""
    path = folder / run.name
    (path / "results").mkdir(parents=True)
    for name in ("manifest.json", "config.json", "vocabulary.json", "metrics.jsonl", "model.safetensors"):
        if (run.path / name).exists():
            shutil.copy(run.path / name, path / name)
    if (run.path / "checkpoints").is_dir():
        shutil.copytree(run.path / "checkpoints", path / "checkpoints")
    return store.open_run(folder, run.name)


def _drifted(scratch: Run, wanted: Mapping[str, Any]) -> Iterator[str]:
    """What differs between stated tables and those of their names that were computed again."""
    kept = {name: store.load_result(scratch, name) for name in wanted}
    found = stated_numbers({name: result for name, result in kept.items() if result is not None}, ALL)
    for name, table in wanted.items():
        if name not in found:
            yield f"{name}: stated, but not computed again"
        else:
            yield from _differences(name, table, found[name])


def _differences(name: str, stated: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """The numbers of one table that differ, the first three of them in full."""
    if stated["columns"] != found["columns"]:
        yield f"{name}: stated in the columns {', '.join(stated['columns'])}, computed in {', '.join(found['columns'])}"
        return
    before, now = _by_key(stated), _by_key(found)
    told = []
    for key in dict.fromkeys([*before, *now]):
        row = f"{name}: {' '.join(map(str, key))}"
        if key in before and key in now:
            old, new = before[key], now[key]
            told += [f"{row}: {c}: stated {old[c]}, computed {new[c]}" for c in old if not _same(old[c], new[c])]
        elif not all(_same(cell, 0.0, NOTHING + TOLERANCE) for cell in before.get(key, now.get(key, {})).values()):
            # a row that is left out reads 0.00 throughout
            told.append(f"{row}: {'stated, but not found again' if key in before else 'found, but not stated'}")
    yield from told[:3]
    if len(told) > 3:
        yield f"{name}: {len(told) - 3} more"


def _by_key(table: Mapping[str, Any]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The numbers of a table by what its rows are about: the cells that are no measured numbers."""
    columns = table["columns"]
    measured = {
        c for i, c in enumerate(columns) if c in MEASURED or any(isinstance(r[i], float) for r in table["rows"])
    }
    rows = {}
    for row in table["rows"]:
        cells = dict(zip(columns, row, strict=True))
        rows[tuple(v for c, v in cells.items() if c not in measured)] = {
            c: v for c, v in cells.items() if c in measured
        }
    return rows


def _same(stated: Any, found: Any, tolerance: float = TOLERANCE) -> bool:
    if isinstance(stated, float | int) and isinstance(found, float | int):
        return math.isclose(stated, found, rel_tol=tolerance, abs_tol=tolerance)
    return stated == found
