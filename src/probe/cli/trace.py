"""`probe trace [RUN …]`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from probe.cli.options import AsJson, Quiet, RunsDir, as_rows, hint, print_json
from probe.errors import CheckFailed, ProbeError
from probe.processes import available_cores

if TYPE_CHECKING:
    from probe.analyses.trace import Trace
    from probe.store import Run


def trace(
    run: Annotated[
        list[str] | None, typer.Argument(help="Runs; the latest one where none is named.", metavar="[RUN]...")
    ] = None,
    pairs: Annotated[int | None, typer.Option(help="So many held-out pairs, drawn by lot; all by default.")] = None,
    evidence: Annotated[
        bool | None,
        typer.Option(
            "--evidence/--no-evidence",
            help="Of one run: put the circuit to the tests (faithfulness, random circuits, …); done by default.",
        ),
    ] = None,
    seeds: Annotated[
        bool, typer.Option("--seeds", help="All seeds of the run's sweep: strategies, stability.")
    ] = False,
    runs: RunsDir = Path("runs"),
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Break the model on purpose: which parts cause the answer, by which way, in how many hops.

    Of several runs, or with --seeds of all runs of a sweep, the strategies are counted and the circuits compared, heads
    matched by what they do. Exit code 1 where a check fails (own values put back change nothing, everything from the
    other sentence changes all): then no number counts.
    """
    from probe import store

    opened = [store.open_run(runs, name) for name in run] if run else [store.open_run(runs)]
    if seeds:
        opened = list({each.name: each for first in opened for each in store.siblings(first)}.values())
        if len(opened) < 2:
            raise ProbeError("--seeds: this run has no siblings that differ in the seed alone; train some: --seeds 0-7")
    if evidence and len(opened) > 1:
        raise ProbeError("--evidence is for one run; of several, strategies are counted and circuits compared")
    if len(opened) == 1:
        _one(opened[0], pairs, evidence is not False, json, quiet)
    else:
        _several(opened, pairs, json, quiet)


def _one(run: Run, pairs: int | None, evidence: bool, json: bool, quiet: bool) -> None:
    """The trace of one run, and what stands behind it."""
    from probe import lab
    from probe.report.evidence import attribution_text, evidence_text
    from probe.report.trace import trace_text

    hint(f"tracing {run.name} …", quiet or json)

    def show(traces: Sequence[Trace]) -> None:
        for done in traces if not json else ():
            print(trace_text(done.strategy, done.nodes, done.edges, done.ways, done.checks) + "\n", flush=True)
        if evidence and any(done.checks for done in traces):
            hint("putting the circuit to the tests (some ten seconds; --no-evidence leaves it out) …", quiet or json)

    found, effects = [], None
    if evidence:
        traces, found, effects = lab.examine(run, pairs, available_cores(), show)
        for each in found if not json else ():
            print(evidence_text(each.faithfulness, each.subsets, each.sizes) + "\n")
        if effects is not None and len(effects.table) and not json:
            print(attribution_text(effects) + "\n")
    else:
        traces = lab.trace_run(run, pairs)
        show(traces)
    if json:
        tables = [_as_dict(run, done, tables=True) for done in traces]
        rows = {"traces": tables}
        if found:
            parts = ("faithfulness", "subsets", "sizes")
            rows["evidence"] = [
                {"contrast": each.faithfulness.details["contrast"]}
                | {part: as_rows(getattr(each, part).table) for part in parts}
                for each in found
            ]
        print_json(rows | ({"attribution": as_rows(effects.table)} if effects else {}))
    _check([(run, done) for done in traces])


def _several(opened: Sequence[Run], pairs: int | None, json: bool, quiet: bool) -> None:
    """Strategies counted, circuits compared."""
    from probe import lab
    from probe.report.trace import stability_text, strategies_text

    begun = itertools.count(1)

    def tell(each: Run) -> None:
        hint(f"tracing {each.name} ({next(begun)} of {len(opened)}) …", quiet or json)

    traced = lab.trace_runs(opened, pairs, available_cores(), tell)
    rows = [_as_dict(each, done, tables=json) for each, done in traced]
    compared = lab.stability_of(traced)
    if json:
        print_json({"traces": rows} | ({"stability": as_rows(compared.table)} if compared else {}))
    else:
        for row in rows:
            print(f"{row['run']}  {row['contrast']}: {row['strategy']}")
        print("\n" + strategies_text(rows))
        if compared:
            print("\n" + stability_text(compared))
    _check(traced)


def _as_dict(run: Run, done: Trace, tables: bool) -> dict[str, Any]:
    """A trace as JSON."""
    contrast = done.nodes.details["contrast"]
    row = {"run": run.name, "contrast": contrast, "strategy": done.strategy, "checks": dict(done.checks)}
    if tables:
        row |= {part: as_rows(getattr(done, part).table) for part in ("nodes", "edges", "ways")}
    return row


def _check(traced: Sequence[tuple[Run, Trace]]) -> None:
    """A trace whose nulls do not hold is no evidence."""
    broken = [
        f"{run.name}, {done.nodes.details['contrast']}"
        for run, done in traced
        if max(done.checks.values(), default=0.0) >= 1e-3
    ]
    if broken:
        raise CheckFailed(f"a null does not hold ({'; '.join(broken)}): these effects are no evidence")
