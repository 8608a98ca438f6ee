"""Figures of what causes the answer: circuits, effects by place, sweeps, attribution, and how faithful a circuit is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probe.figures.bars import Bar, Bars
from probe.figures.circuit import Circuit, CircuitEdge, CircuitNode
from probe.figures.figure import Figure, Part
from probe.figures.findings import Findings, Row, by_position, caption, grid, head_of, measured, place_of, split
from probe.figures.lines import Lines, Series


def trace(found: Findings) -> Figure:
    """The circuit of every contrast."""
    parts: list[Part] = []
    said = ""
    for contrast, result in found.under("trace-edges-"):
        nodes = found.results[f"trace-nodes-{contrast}"]
        roles = {int(position): str(role) for position, role in nodes.details["roles"].items()}
        name = str(nodes.details.get("contrast", contrast))
        said = said or measured(result)
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
        name="trace", title=f"What causes the answer in {found.about}", caption=caption(said), parts=tuple(parts)
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
    """Layer × position, layer × head or head × position, for every kind of activation and both directions."""
    parts: list[Part] = []
    for contrast, result in found.under("sweeps-"):
        for (kind, metric), part in split(found.rows(f"sweeps-{contrast}"), "kind", "metric").items():
            everywhere = all(row.get("position") is None or row["position"] < 0 for row in part)
            parts.append(
                grid(
                    part if everywhere else by_position(part),
                    _layer if everywhere else head_of,
                    _number_of_head if everywhere else place_of,
                    title=f"{contrast.replace('-', ' ')}: {kind}, {metric}",
                    unit=result.unit,
                    rows_are="layer" if everywhere else "",
                    columns_are="head" if everywhere else "position",
                    signed=True,
                )
            )
    said = "Each activation by itself, taken from the other sentence"
    _, first = found.under("sweeps-")[0]
    return Figure(
        name="sweeps",
        title=f"Where the answer can be changed in {found.about}",
        caption=caption(said, measured(first)),
        parts=tuple(parts),
    )


def _layer(row: Mapping[str, Any]) -> str:
    return f"L{row['layer']}"


def _number_of_head(row: Mapping[str, Any]) -> str:
    head = row.get("head")
    return "all heads" if head is None or head < 0 else f"H{head:.0f}"


def attribution(found: Findings) -> Figure:
    """Direct effect of every part on the logit difference, with its total effect beside it."""
    parts: list[Part] = []
    for contrast, result in found.under("attribution-"):
        bars = []
        for (node,), part in split(found.rows(f"attribution-{contrast}"), "node").items():
            by_metric = {row["metric"]: row for row in part}
            if "direct" in by_metric:
                total = by_metric.get("total")
                beside = (("total", float(total["value"])),) if total else ()
                bars.append(Bar(label=str(node), beside=beside, **_estimate(by_metric["direct"])))
        title = f"{contrast.replace('-', ' ')}: direct effect, and total effect in grey"
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
                if ours is not None:
                    beside = tuple((name, float(row["value"])) for name, row in by_circuit.items())
                    group = ", ".join(str(x) for x in (f"{level}s" if level else None, places) if x)
                    bars.append(Bar(label=str(ablation), group=group, beside=beside, **_estimate(ours)))
            title = f"{contrast.replace('-', ' ')}: {metric}"
            parts.append(Bars(title=title, bars=_grouped(bars), unit=result.unit))
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
                    title=f"{contrast.replace('-', ' ')}: faithfulness by size",
                    series=tuple(series),
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


def _estimate(row: Row) -> dict[str, Any]:
    """Value and interval of a row."""
    return {"value": float(row["value"]), "low": row.get("low"), "high": row.get("high")}
