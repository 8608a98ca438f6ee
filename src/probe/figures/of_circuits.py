"""Figures of what causes the answer: circuits, effects by place, sweeps, attribution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probe.figures.bars import Bar, Bars
from probe.figures.circuit import Circuit, CircuitEdge, CircuitNode
from probe.figures.figure import Figure, Part
from probe.figures.findings import (
    Findings,
    beside,
    caption,
    estimate,
    grid,
    head_of,
    measured,
    place_of,
    split,
)


def trace(found: Findings) -> Figure:
    """The circuit of every contrast."""
    parts: list[Part] = []
    strategies, said = [], ""
    for contrast, result in found.under("trace-edges-"):
        nodes = found.results[f"trace-nodes-{contrast}"]
        roles = {int(position): str(role) for position, role in nodes.details["roles"].items()}
        name = str(nodes.details.get("contrast", contrast))
        said = said or measured(result)
        if "strategy" in result.details:
            strategies.append(f"{name[:1].upper()}{name[1:]}: {result.details['strategy']}")
        parts.append(
            Circuit(
                title=f"What carries the {name} ({nodes.details['pairs']} pairs)",
                words=tuple(roles.get(i, "") for i in range(max(roles) + 1)),
                changed=tuple(nodes.details["changed"]),
                nodes=tuple(
                    CircuitNode(name=row["node"], position=row["position"], **estimate(row))
                    for row in found.rows(f"trace-nodes-{contrast}")
                    if row["metric"] == "noising"
                ),
                edges=tuple(
                    CircuitEdge(sender=row["sender"], receiver=row["receiver"], port=row["port"], **estimate(row))
                    for row in found.rows(f"trace-edges-{contrast}")
                ),
            )
        )
    return Figure(
        name="trace",
        title=f"What causes the answer in {found.about}",
        caption=caption(*strategies, said),
        parts=tuple(parts),
    )


def nodes(found: Findings) -> Figure:
    """Part × position, in both directions."""
    parts = [
        grid(
            part,
            lambda row: row["node"],
            place_of,
            title=f"{result.details.get('contrast', contrast)}: {metric}",
            unit=result.unit,
            rows_are="part",
            columns_are="position",
            signed=True,
        )
        for contrast, result in found.under("trace-nodes-")
        for (metric,), part in split(found.rows(f"trace-nodes-{contrast}"), "metric").items()
    ]
    said = (
        "Noising: lost when the part's output there is taken from the other sentence. Denoising: gained by the other, "
        "where that is another number"
    )
    _, first = found.under("trace-nodes-")[0]
    return Figure(
        name="nodes",
        title=f"What each part does, and where, in {found.about}",
        caption=caption(said, measured(first)),
        parts=tuple(parts),
    )


def sweeps(found: Findings) -> Figure:
    """Every kind of activation by layer, over positions and over heads, in both directions."""
    parts: list[Part] = []
    for contrast, result in found.under("sweeps-"):
        for (metric,), part in split(found.rows(f"sweeps-{contrast}"), "metric").items():
            for placed in (True, False):
                chosen = [row for row in part if (row.get("position") is not None and row["position"] >= 0) == placed]
                if chosen:
                    parts.append(
                        grid(
                            chosen,
                            _activation if placed else _layer,
                            place_of if placed else lambda row: f"H{row['head']:.0f}",
                            title=f"{result.details.get('contrast', contrast)}: {metric}" + ", by head" * (not placed),
                            unit=result.unit,
                            rows_are="activation",
                            columns_are="position" if placed else "head",
                            signed=True,
                        )
                    )
    said = (
        "Each activation by itself, taken from the other sentence (noising) or given to it (denoising, where that is "
        "another number)"
    )
    _, first = found.under("sweeps-")[0]
    return Figure(
        name="sweeps",
        title=f"Where the answer can be changed in {found.about}",
        caption=caption(said, measured(first)),
        parts=tuple(parts),
    )


def _activation(row: Mapping[str, Any]) -> str:
    return f"{row['kind']} {head_of(row)}"


def _layer(row: Mapping[str, Any]) -> str:
    return f"{row['kind']} L{row['layer']}"


def attribution(found: Findings) -> Figure:
    """Direct effect of every part on the logit difference, with its total effect beside it."""
    parts: list[Part] = []
    for contrast, result in found.under("attribution-"):
        bars = []
        for (node,), part in split(found.rows(f"attribution-{contrast}"), "node").items():
            by_metric = {str(row["metric"]): row for row in part}
            ours = by_metric.pop("direct", None)
            if ours is not None:
                bars.append(Bar(label=str(node), beside=beside(by_metric), **estimate(ours)))
        title = f"{contrast.replace('-', ' ')}: direct effect, and in grey what else it does"
        parts.append(Bars(title=title, bars=tuple(bars), unit=result.unit))
    said = (
        "Direct: what the part itself writes towards the answer. Total: what is lost without it, later parts included"
    )
    _, first = found.under("attribution-")[0]
    return Figure(
        name="attribution",
        title=f"Who writes the answer in {found.about}",
        caption=caption(said, measured(first)),
        parts=tuple(parts),
    )
