"""`probe report [RUN …]`: one page that opens from disk, or Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from probe.cli.options import AsJson, Quiet, RunsDir, check_suffix, hint, print_json
from probe.errors import ProbeError
from probe.processes import available_cores

FORMATS = ("html", "md")


def report(
    run: Annotated[
        list[str] | None, typer.Argument(help="Runs; the latest one where none is named.", metavar="[RUN]...")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The file to write; report.html in the run's folder by default.", metavar="FILE")
    ] = None,
    format: Annotated[str | None, typer.Option(help="html, or md with its pictures beside it.")] = None,
    runs: RunsDir = Path("runs"),
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write what is known of a run, or of several beside each other, as one page that needs no network.

    What is missing is computed first, and kept in the run's folder.
    """
    from probe import lab, store
    from probe.errors import nearest

    if format is not None and format not in FORMATS:
        raise ProbeError(f"--format {format}: {nearest(format, FORMATS)}")
    opened = [store.open_run(runs, name) for name in run] if run else [store.open_run(runs)]
    kind = format or ("md" if out is not None and out.suffix in (".md", ".markdown") else "html")
    if out is not None and out.is_dir():
        raise ProbeError(f"--out {out} is a folder; name a file in it")
    check_suffix(out, kind, *(("htm",) if kind == "html" else ("markdown",)))
    made, missing = lab.report_on(opened, lambda doing: hint(doing, quiet or json), available_cores())
    path = out or lab.report_path(opened, kind)
    files = lab.write_report(made, path, kind)
    if json:
        print_json(
            {"path": str(path), "files": [str(file) for file in files], "missing": missing, "numbers": made.numbers}
        )
        return
    for name, reason in missing.items():
        hint(f"without {name}: {reason}", quiet)
    print(path)
