"""Figures of what causes the answer: circuits, effects by place, sweeps, attribution, and how faithful a circuit is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from probe.figures.bars import Bar, Bars, Beside
from probe.figures.circuit import Circuit, CircuitEdge, CircuitNode
from probe.figures.figure import Figure, Part
from probe.figures.findings import Findings, Row, by_position, caption, grid, head_of, measured, place_of, split
from probe.figures.lines import Lines, Series
from probe.result import AnalysisResult


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
                changed=changed_places(found.spec, name, roles),
                nodes=tuple(
                    CircuitNode(name=row["node"], position=row["position"], **_estimate(row))
                    for row in found.rows(f"trace-nodes-{contrast}")
                    if row["metric"] == "noising"
                ),
                edges=tuple(
                    CircuitEdge(sender=row["sender"], receiver=row["receiver"], port=row["port"], **_estimate(row))
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


def changed_places(spec: Mapping[str, Any], contrast: str, roles: Mapping[int, str]) -> tuple[int, ...]:
    """Positions whose words differ between the sentences of a pair: the contrast's own slot, or both candidates'.

    >>> changed_places({}, "adjective", {0: "x", 1: "adjective"})
    (1,)
    >>> changed_places({"answer": {"by": "adjective", "old": "x"}}, "order of the nouns", {0: "x", 1: "adjective"})
    (0,)
    """
    answer = spec.get("answer") or {}
    candidates = {str(slot) for key, slot in answer.items() if key != "by"} if isinstance(answer, Mapping) else set()
    wanted = {contrast} if contrast in roles.values() else candidates
    return tuple(position for position, role in sorted(roles.items()) if role in wanted)


def nodes(found: Findings) -> Figure:
    """Part × position, in both directions."""
    parts = [
        grid(
            by_position(part),
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
    said = "Noising: lost when the part's output there is taken from the other sentence. Denoising: gained by the other"
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
                            by_position(chosen) if placed else chosen,
                            _activation if placed else _layer,
                            place_of if placed else lambda row: f"H{row['head']:.0f}",
                            title=f"{result.details.get('contrast', contrast)}: {metric}" + ", by head" * (not placed),
                            unit=result.unit,
                            rows_are="activation",
                            columns_are="position" if placed else "head",
                            signed=True,
                        )
                    )
    said = "Each activation by itself, taken from the other sentence (noising) or given to it (denoising)"
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
                bars.append(Bar(label=str(node), beside=_beside(by_metric), **_estimate(ours)))
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


def evidence(found: Findings) -> Figure:
    """Faithfulness of the circuit over all ways of asking, with random and untrained circuits in grey."""
    parts: list[Part] = []
    for contrast, result in found.under("evidence-"):
        for (metric,), of_metric in split(found.rows(f"evidence-{contrast}"), "metric").items():
            bars = []
            for (level, ablation, places), part in split(of_metric, "level", "ablation", "positions").items():
                by_circuit = {str(row["circuit"]): row for row in part}
                ours = by_circuit.pop("found", None)
                if ours is not None and ours["value"] is not None:
                    group = ", ".join(str(x) for x in (f"{level}s" if level else None, places) if x)
                    bars.append(Bar(label=str(ablation), group=group, beside=_beside(by_circuit), **_estimate(ours)))
            title = f"{result.details.get('contrast', contrast)}: {metric}"
            unit = "logits" if str(metric).startswith("logits") else result.unit
            parts.append(Bars(title=title, bars=_grouped(bars), unit=unit))
    said = "One circuit, over nodes or edges, values put in place of the rest, and positions; in grey the controls"
    _, first = found.under("evidence-")[0]
    return Figure(
        name="evidence",
        title=f"How faithful the circuit of {found.about} is",
        caption=caption(said, measured(first)),
        parts=tuple(parts),
    )


def _grouped(bars: list[Bar]) -> tuple[Bar, ...]:
    """Bars of one group together, groups in the order in which they come first."""
    order = list(dict.fromkeys(bar.group for bar in bars))
    return tuple(sorted(bars, key=lambda bar: order.index(bar.group)))


def subsets(found: Findings) -> Figure:
    """What the circuit lacks when parts of both are taken away, and what each of its edges is needed for."""
    parts: list[Part] = []
    for contrast, result in found.under("subsets-"):
        for (metric,), part in split(found.rows(f"subsets-{contrast}"), "metric").items():
            bars = tuple(Bar(label=str(row["subset"]), **_estimate(row)) for row in part if row["value"] is not None)
            high = max([0.1, *(bar.value for bar in bars)])
            title = f"{result.details.get('contrast', contrast)}: {metric}"
            parts.append(Bars(title=title, bars=bars, unit=result.unit, high=high))
    said = "Completeness: how far circuit and model differ once these edges are cut from both; 0 is complete"
    more = "Minimality: the most that an edge is worth; 0 is an idle edge"
    _, first = found.under("subsets-")[0]
    return Figure(
        name="subsets",
        title=f"What the circuit of {found.about} lacks, and what is idle in it",
        caption=caption(said, more, measured(first)),
        parts=tuple(parts),
    )


def sizes(found: Findings) -> Figure:
    """Faithfulness over the number of edges, on a linear and on a logarithmic axis."""
    parts: list[Part] = []
    for contrast, result in found.under("sizes-"):
        series = []
        for (circuit,), part in split(found.rows(f"sizes-{contrast}"), "circuit").items():
            part = sorted(part, key=lambda row: row["edges"])
            banded = all(row.get("low") is not None and row.get("high") is not None for row in part)
            series.append(
                Series(
                    name=str(circuit),
                    points=tuple((float(row["edges"]), float(row["value"])) for row in part),
                    band=tuple((float(row["low"]), float(row["high"])) for row in part) if banded else (),
                    control=circuit != "found",
                )
            )
        for log_x in (False, True):
            parts.append(
                Lines(
                    title=f"{result.details.get('contrast', contrast)}: faithfulness by size" + _areas(result, log_x),
                    series=tuple(_from_one(one) for one in series) if log_x else tuple(series),
                    x_is="edges, logarithmic" if log_x else "edges",
                    unit=result.unit,
                    log_x=log_x,
                )
            )
    said = "The strongest edges first; random circuits of the same size in grey"
    _, first = found.under("sizes-")[0]
    return Figure(
        name="sizes",
        title=f"How small a circuit of {found.about} can be",
        caption=caption(said, measured(first)),
        parts=tuple(parts),
    )


def _areas(result: AnalysisResult, log_x: bool) -> str:
    """Areas under the curves, where the analysis gives them."""
    axis = "logarithmic" if log_x else "linear"
    areas = {name: result.details.get(f"area, {name}, {axis}") for name in ("found", "random")}
    said = [f"{name} {area:.2f}" for name, area in areas.items() if area is not None]
    return f"; area: {', '.join(said)}" if said else ""


def _from_one(series: Series) -> Series:
    """The curve from one edge on: nought has no place on a logarithmic axis."""
    kept = [i for i, (x, _) in enumerate(series.points) if x >= 1]
    band = tuple(series.band[i] for i in kept) if series.band else ()
    return replace(series, points=tuple(series.points[i] for i in kept), band=band)


def _beside(rows: Mapping[str, Row]) -> tuple[Beside, ...]:
    """Controls with their values, and their intervals where they have them."""
    found: list[Beside] = []
    for name, row in rows.items():
        low, high = row.get("low"), row.get("high")
        if row["value"] is not None and low is not None and high is not None:
            found.append((name, float(row["value"]), float(low), float(high)))
        elif row["value"] is not None:
            found.append((name, float(row["value"])))
    return tuple(found)


def _estimate(row: Row) -> dict[str, Any]:
    """Value and interval of a row."""
    return {"value": float(row["value"]), "low": row.get("low"), "high": row.get("high")}
