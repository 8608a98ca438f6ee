"""Figures of a run: its scores beside what they have to beat, its curves, the formation of its heads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from probe.figures.bars import Bar, Bars
from probe.figures.figure import Figure
from probe.figures.findings import Findings, Row, caption, head_of, measured, split
from probe.figures.lines import Change, Lines, Series

RATES = {"referent_accuracy": "right word", "pair_accuracy": "right of the pair", "distractor_rate": "wrong noun"}
"""The names of rates, in words."""
LEADING = 5
"""Curves of one metric that are drawn; of more heads, those that change most."""


def scores(found: Findings) -> Figure:
    """Rates on both splits with their intervals, the untrained model's in grey."""
    result = found.results["accuracy"]
    parts = []
    for (side,), rows in split(found.rows("accuracy"), "split").items():
        bars = []
        for (metric,), of_metric in split(rows, "metric").items():
            by_condition = {str(row["condition"]): row for row in of_metric}
            ours = by_condition.pop("trained")
            bars.append(
                Bar(
                    label=str(metric),
                    value=ours["value"],
                    low=ours["low"],
                    high=ours["high"],
                    beside=tuple((name, row["value"], row["low"], row["high"]) for name, row in by_condition.items()),
                    floor=0.5 if metric == "pair accuracy" else None,
                    maximum=1.0,
                )
            )
        title = f"{str(side).replace('_', '-')}, n = {rows[0]['n']}"
        parts.append(Bars(title=title, bars=tuple(bars), unit=result.unit))
    return Figure(
        name="scores", title=f"What {found.about} reached", caption=caption(measured(result)), parts=tuple(parts[::-1])
    )


def training(found: Findings) -> Figure:
    """Loss, rates and, where they were scored, the strongest head of each kind; all over the same steps."""
    rates = tuple(
        Series(
            name=name,
            points=tuple((float(row["step"]), float(row["held_out"][rate])) for row in found.metrics),
            control=rate == "distractor_rate",
        )
        for rate, name in RATES.items()
    )
    losses = tuple((float(row["step"]), float(row["loss"])) for row in found.metrics)
    top = max([loss for _, loss in losses], default=1.0)
    changes = found.rows("formation-changes")
    parts = [
        Lines(
            title="Loss", series=(Series(name="training", points=losses),), x_is="step", unit="nats a word", high=top
        ),
        Lines(
            title="Held-out sentences",
            series=rates,
            x_is="step",
            unit="share of sentences",
            levels=(("chance of a pair", 0.5),),
            changes=_changes(row for row in changes if head_of(row) == "model" and "accuracy" in str(row["metric"])),
        ),
    ]
    curves = split([row for row in found.rows("formation") if head_of(row) != "model"], "metric")
    shares = {metric: part for (metric,), part in curves.items() if max(row["value"] or 0.0 for row in part) <= 1}
    if shares:
        best = tuple(_leader(part, metric) for metric, part in shares.items())
        end = max((point[0] for point in losses), default=None)
        title = "Strongest head of each kind"
        parts.append(Lines(title=title, series=best, x_is="step", unit="head score", x_to=end))
    said = "Evaluations along the way. A last step can sit on a spike; the seed is the unit of evidence for a claim"
    return Figure(name="training", title=f"How {found.about} came to be", caption=caption(said), parts=tuple(parts))


def formation(found: Findings) -> Figure:
    """Every score over the checkpoints, with its dated change."""
    result = found.results["formation"]
    dates = found.rows("formation-changes")
    parts = []
    for (metric,), part in split(found.rows("formation"), "metric").items():
        curves = split(sorted(part, key=lambda row: row["step"]), "layer", "head")
        leading = sorted(curves.values(), key=_change_of)[::-1][:LEADING]
        names = [head_of(curve[0]) for curve in leading]
        values = [row["value"] for curve in leading for row in curve if row["value"] is not None]
        dated = [row for row in dates if row["metric"] == metric and head_of(row) in names]
        more = f" ({LEADING} of {len(curves)} heads: those that change most)" if len(curves) > LEADING else ""
        parts.append(
            Lines(
                title=f"{metric}{more}",
                series=tuple(
                    Series(name=name, points=_points(curve)) for name, curve in zip(names, leading, strict=True)
                ),
                x_is="step",
                unit="",
                changes=_changes(dated),
                high=1.0 if max(values, default=0.0) <= 1 else max(values),
            )
        )
    said = "A change is fitted, not read off by eye: line and 95 % band; none is drawn where a curve shows none"
    return Figure(
        name="formation",
        title=f"How the heads of {found.about} formed",
        caption=caption(said, measured(result)),
        parts=tuple(parts),
    )


def _points(curve: Sequence[Row]) -> tuple[tuple[float, float], ...]:
    return tuple((float(row["step"]), float(row["value"])) for row in curve if row["value"] is not None)


def _change_of(curve: Sequence[Row]) -> float:
    """How far a curve moves between its ends."""
    values = [value for _, value in _points(curve)]
    return abs(values[-1] - values[0]) if values else 0.0


def _leader(curves: Sequence[Row], metric: object) -> Series:
    """The curve of the head that is strongest at the end."""
    by_head = split(sorted(curves, key=lambda row: row["step"]), "layer", "head")
    best = max(by_head.values(), key=lambda curve: curve[-1]["value"] or 0.0)
    return Series(name=f"{metric}, {head_of(best[0])}", points=_points(best))


def _changes(rows: Iterable[Row]) -> tuple[Change, ...]:
    """Those that were found, by their head, or by what changed in the whole model."""
    found = [row for row in rows if row.get("step") is not None]
    names = [str(row["metric"]) if head_of(row) == "model" else head_of(row) for row in found]
    return tuple(
        Change(name=name, x=row["step"], low=row["low"], high=row["high"])
        for name, row in zip(names, found, strict=True)
    )
