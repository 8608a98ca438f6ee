"""`probe compare RUN RUN …`: several runs side by side, in the terminal and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from probe.cli.options import AsJson, Quiet, RunsDir, check_suffix, hint, print_json
from probe.errors import ProbeError
from probe.processes import available_cores


def compare(
    run: Annotated[list[str], typer.Argument(help="Two or more runs.", metavar="RUN RUN...")],
    out: Annotated[
        Path | None, typer.Option(help="The page to write; beside the runs by default.", metavar="FILE")
    ] = None,
    runs: RunsDir = Path("runs"),
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say where runs agree: accuracies, strategies, and which head of one does what which head of another does."""
    from probe import lab, store
    from probe.report.document import Table
    from probe.report.plain import report_text

    if len(run) < 2:
        raise ProbeError("probe compare wants two runs or more; `probe runs` lists them")
    opened = [store.open_run(runs, name) for name in run]
    check_suffix(out, "html", "htm")
    made, missing = lab.report_on(opened, lambda doing: hint(doing, quiet or json), available_cores())
    path = out or lab.report_path(opened, "html")
    lab.write_report(made, path, "html")
    if json:
        tables = {
            part.name: {"columns": part.columns, "rows": [[getattr(c, "text", c) for c in row] for row in part.rows]}
            for section in made.sections
            for part in section.parts
            if isinstance(part, Table)
        }
        print_json({"path": str(path), **made.numbers, "tables": tables, "missing": missing})
        return
    print(report_text(made))
    hint(f"\npage: {path}", quiet)
