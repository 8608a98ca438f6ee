"""`probe verify REPORT|RUN`: compute the stated numbers again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from probe.cli.options import AsJson, Quiet, RunsDir, hint, print_json
from probe.errors import CheckFailed, ProbeError
from probe.processes import available_cores


def verify(
    what: Annotated[
        str | None, typer.Argument(help="A report's file, or a run; the latest run by default.", metavar="[REPORT|RUN]")
    ] = None,
    runs: RunsDir = Path("runs"),
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compute the numbers of a run's tables again from its weights and manifest; exit code 1 where one has drifted."""
    from probe import store
    from probe.lab import verifying

    if what is not None and Path(what).is_file():
        stated = verifying.stated_in(Path(what))
        run = verifying.run_of(Path(what), stated, runs)
    else:
        if what is not None and Path(what).suffix in (".html", ".md"):
            raise ProbeError(f"there is no report {what}; make one with: probe report")
        run = store.open_run(runs, what)
        stated = verifying.stated_by(run)
    found = list(verifying.drifts(run, stated, lambda doing: hint(doing, quiet or json), available_cores()))
    rest = verifying.unverified(stated)
    rows = sum(len(table["rows"]) for table in stated["results"].values())
    if json:
        print_json({"run": run.name, "verified": not found, "rows": rows, "drifted": found, "not_computed": rest})
    elif not found:
        print(f"{run.name}: {rows} stated rows in {len(stated['results']) - len(rest)} results hold (to 0.002)")
    if rest:
        hint(f"not computed again, because no analysis here makes them: {', '.join(rest)}", quiet or json)
    if found:
        for drift in found if not json else ():
            hint(f"drifted: {drift}")
        raise CheckFailed(f"{run.name}: {len(found)} stated numbers or digests have drifted; the first: {found[0]}")
