"""`probe probes [RUN]`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from probe.cli.options import AsJson, Quiet, RunsDir, as_rows, hint, print_json


def probes(
    run: Annotated[
        str | None, typer.Argument(help="A run; the latest one where none is named.", metavar="[RUN]")
    ] = None,
    subspaces: Annotated[
        bool, typer.Option("--subspaces", help="Also learn subspaces that carry one variable (half a minute more).")
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
    results = {"interchange": lab.interchange_of(found)}
    hint("fitting probes …", quiet or json)
    results["probes"] = lab.probes_of(found)
    if subspaces:
        hint("learning subspaces …", quiet or json)
        results["subspaces"] = lab.subspaces_of(found)
    if json:
        tables = {name: {**each.meaning(), "table": as_rows(each.table)} for name, each in results.items()}
        print_json({"run": found.name, **tables})
        return
    print(probes_text(found.name, results["probes"], results["interchange"], results.get("subspaces")))
