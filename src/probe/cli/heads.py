"""`probe heads [RUN]`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from probe.cli.options import AsJson, RunsDir, print_json


def heads(
    run: Annotated[
        str | None, typer.Argument(help="A run; the latest one where none is named.", metavar="[RUN]")
    ] = None,
    runs: RunsDir = Path("runs"),
    json: AsJson = False,
) -> None:
    """Score what each head does on random repeated sequences, and what could compose with what."""
    from probe import lab, store
    from probe.report.heads import heads_text

    found = store.open_run(runs, run)
    scores, composition = lab.heads_of(found)
    if json:
        tables = {
            result.name: {**result.meaning(), "table": result.table.to_dict("records")}
            for result in (scores, composition)
        }
        print_json({"run": found.name, **tables})
        return
    print(heads_text(found.name, scores, composition))
