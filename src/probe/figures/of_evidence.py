"""Figures of what stands behind a circuit: how faithful it is, what it lacks, what is idle in it, its size."""

from __future__ import annotations

from dataclasses import replace

from probe.figures.bars import Bar, Bars
from probe.figures.figure import Figure, Part
from probe.figures.findings import Findings, beside, caption, estimate, measured, split
from probe.figures.lines import Lines, Series
from probe.result import AnalysisResult


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
                    bars.append(Bar(label=str(ablation), group=group, beside=beside(by_circuit), **estimate(ours)))
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
            bars = tuple(Bar(label=str(row["subset"]), **estimate(row)) for row in part if row["value"] is not None)
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
