"""`probe heads [RUN]`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from probe.cli.options import AsJson, DataDir, Quiet, RunsDir, as_rows, default_threads, hint, print_json
from probe.cli.train import progress
from probe.errors import ProbeError

if TYPE_CHECKING:
    from probe.result import AnalysisResult
    from probe.store import Run


def heads(
    run: Annotated[
        str | None, typer.Argument(help="A run; the latest one where none is named.", metavar="[RUN]")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="The newest run on this task's sentences; trained now where there is none.")
    ] = None,
    rows: Annotated[
        bool,
        typer.Option("--rows", help="Instead: where the place before the answer looks, for each word of the contrast."),
    ] = False,
    formation: Annotated[
        bool, typer.Option("--formation", help="Instead: what formed when, over the run's checkpoints.")
    ] = False,
    runs: RunsDir = Path("runs"),
    data: DataDir = Path("data"),
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Score what each head does, where it looks from the answer's place, and what could compose with what."""
    from probe import lab, store
    from probe.report.heads import formation_text, heads_text, rows_text

    if run is not None and task is not None:
        raise ProbeError("RUN and --task both say which run; give one of them")
    if rows and formation:
        raise ProbeError("--rows and --formation are two different tables; give one of them")
    quiet = quiet or json
    found = store.open_run(runs, run) if task is None else _run_of_task(task, runs, data, quiet)
    if rows:
        results = (lab.answer_rows_of(found),)
        text = rows_text
    elif formation:
        results = lab.formation_of(found, lambda said: hint(said, quiet))
        text = formation_text
    else:
        results = (*lab.heads_of(found), lab.roles_of(found))
        text = heads_text
    if json:
        print_json({"run": found.name, **{result.name: _as_json(result) for result in results}})
    else:
        print(text(found.name, *results))


def _run_of_task(task: str, runs: Path, data: Path, quiet: bool) -> Run:
    """The newest run on a task's sentences, or a new one, trained with a bar on stderr."""
    from probe import lab

    run, dataset = lab.run_of_task(task, runs, data, default_threads(), sys.argv[1:])
    if dataset is None:
        hint(f"the newest run of {task}: {run.name}", quiet)
        return run
    hint(f"no finished run of {task} in {runs}; training one", quiet)
    with progress([run], quiet) as tell:
        lab.train_here(run, lambda row: tell(run, row), dataset)
    return run


def _as_json(result: AnalysisResult) -> dict[str, Any]:
    """Meaning and table; what was not found is null."""
    return {**result.meaning(), "table": as_rows(result.table)}
