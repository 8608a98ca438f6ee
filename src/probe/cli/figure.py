"""`probe figure NAME [RUN]`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from probe.cli.options import AsJson, Quiet, RunsDir, check_suffix, hint, print_json
from probe.errors import ProbeError, nearest

KINDS = ("svg", "png", "pdf")
STYLES = ("auto", "paper", "slide", "dark")


def figure(
    name: Annotated[
        str | None, typer.Argument(help="A figure; all are listed where none is named.", metavar="[NAME]")
    ] = None,
    run: Annotated[
        str | None, typer.Argument(help="A run; the latest one where none is named.", metavar="[RUN]")
    ] = None,
    style: Annotated[
        str | None, typer.Option(help="auto (svg: light or dark as the reader's), paper, slide or dark.")
    ] = None,
    format: Annotated[str | None, typer.Option(help="svg, png or pdf; by default what --out ends in, or svg.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="The file; in the run's figures/ by default.", metavar="FILE")
    ] = None,
    part: Annotated[str | None, typer.Option(help="Only parts with this in their title.", metavar="TEXT")] = None,
    sentence: Annotated[str, typer.Option(help="For `attention`; ending in ... it is completed.")] = "...",
    listed: Annotated[bool, typer.Option("--list", help="List what the run can draw.")] = False,
    runs: RunsDir = Path("runs"),
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Draw one figure alone, camera-ready, with its caption, its run and the digest of the manifest in the file."""
    from probe import lab, store
    from probe.files import write_atomic

    if name is None or listed:
        _list(store.open_run(runs, run or name if listed else run), json)
        return
    kind = format or (out.suffix.removeprefix(".").lower() if out else "") or "svg"
    style = style or ("auto" if kind == "svg" else "paper")
    for option, given, choices in (("--format", kind, KINDS), ("--style", style, STYLES)):
        if given not in choices:
            raise ProbeError(f"{option} {given}: {nearest(given, choices)}")
    check_suffix(out, kind)
    found = store.open_run(runs, run)
    drawn = lab.figure(found, name, lambda said: hint(said, quiet or json), sentence)
    if part is not None:
        kept = tuple(one for one in drawn.parts if part.lower() in one.title.lower())
        if not kept:
            raise ProbeError(f"--part {part}: {nearest(part, [one.title for one in drawn.parts])}")
        drawn = replace(drawn, parts=kept)
    path = out or found.path / "figures" / f"{name}.{kind}"
    write_atomic(path, _made(drawn, kind, style))
    print_json({"run": found.name, "figure": name, "file": str(path), "caption": drawn.caption}) if json else print(
        path
    )


def _made(drawn: Any, kind: str, style: Any) -> str | bytes:
    from probe.figures.figure import figure_print, figure_svg

    return figure_svg(drawn, style) if kind == "svg" else figure_print(drawn, "pdf" if kind == "pdf" else "png", style)


def _list(run: Any, json: bool) -> None:
    """What can be drawn, and what it takes to draw the rest."""
    from probe import lab
    from probe.figures.catalogue import ATTENTION, FIGURES

    ready = lab.drawable(run)
    about = {ATTENTION: "where every head looks, for --sentence"} | {name: kind.about for name, kind in FIGURES.items()}
    if json:
        rows = [{"name": name, "shows": about[name], "computed_by": command} for name, command in ready.items()]
        print_json({"run": run.name, "figures": rows})
        return
    print(f"figures of {run.name}")
    for name, command in ready.items():
        print(f"  {name.ljust(14)} {about[name]}{f'   missing yet: {command}' if command else ''}")
