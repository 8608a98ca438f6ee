"""`probe probes [RUN]`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from probe.cli.options import AsJson, Quiet, RunsDir, hint, print_json


def probes(
    run: Annotated[
        str | None, typer.Argument(help="A run; the latest one where none is named.", metavar="[RUN]")
    ] = None,
    subspaces: Annotated[
        bool, typer.Option("--subspaces", help="Also learn subspaces that carry one variable (a minute more).")
    ] = False,
    runs: RunsDir = Path("runs"),
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """What can be read off each layer and position by a linear probe, and whether the model uses it there."""
    from probe import lab, store
    from probe.report.probes import probes_text

    found = store.open_run(runs, run)
    hint(f"swapping variables in {found.name} …", quiet or json)
    interchange = lab.interchange_of(found, subspaces)
    hint("fitting probes …", quiet or json)
    results = {"probes": lab.probes_of(found), "interchange": interchange}
    if json:
        tables = {
            name: {**result.meaning(), "table": result.table.astype(object).where(result.table.notna(), None)}
            for name, result in results.items()
        }
        print_json({"run": found.name, **{n: {**t, "table": t["table"].to_dict("records")} for n, t in tables.items()}})
        return
    print(probes_text(found.name, results["probes"], interchange))
