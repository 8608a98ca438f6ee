"""`probe trace [RUN …]`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from probe.cli.options import AsJson, Quiet, RunsDir, hint, print_json
from probe.errors import CheckFailed, ProbeError


def trace(
    run: Annotated[
        list[str] | None, typer.Argument(help="Runs; the latest one where none is named.", metavar="[RUN]...")
    ] = None,
    pairs: Annotated[int | None, typer.Option(help="About so many held-out pairs; all by default.")] = None,
    runs: RunsDir = Path("runs"),
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Break the model on purpose: which parts cause the answer, by which way, in how many hops.

    Of several runs the strategies are counted. Exit code 1 where a null does not hold: then no number counts.
    """
    from probe import lab, store
    from probe.report.trace import strategies_text, trace_text

    if pairs is not None and pairs < 2:
        raise ProbeError(f"--pairs {pairs}: must be 2 or more")
    opened = [store.open_run(runs, name) for name in run] if run else [store.open_run(runs)]
    rows: list[dict[str, Any]] = []
    broken: list[str] = []
    for number, each in enumerate(opened, start=1):
        hint(f"tracing {each.name} ({number} of {len(opened)}) …", quiet or json)
        for done in lab.trace_run(each, pairs):
            contrast = done.nodes.details["contrast"]
            rows.append(
                {"run": each.name, "contrast": contrast, "strategy": done.strategy, "checks": dict(done.checks)}
            )
            if max(done.checks.values(), default=0.0) >= 1e-3:
                broken.append(f"{each.name}, {contrast}")
            if len(opened) == 1 and not json:
                print(trace_text(done.strategy, done.nodes, done.edges, done.ways, done.checks) + "\n")
            if json:
                tables = {"nodes": done.nodes, "edges": done.edges, "ways": done.ways}
                rows[-1] |= {name: result.table.to_dict("records") for name, result in tables.items()}
    if json:
        print_json({"traces": rows})
    elif len(opened) > 1:
        for row in rows:
            print(f"{row['run']}  {row['contrast']}: {row['strategy']}")
        print("\n" + strategies_text(rows))
    if broken:
        raise CheckFailed(f"a null does not hold ({'; '.join(broken)}): these effects are no evidence")
