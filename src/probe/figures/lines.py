"""Curves: several series on one axis, with their bands, reference lines and dated change points.

Serves the training strip (accuracies and head scores over steps), the formation of heads and the circuit size curve
(`log_x`). Each curve is named at its right end, in its own colour; controls are grey. A curve carries `data-series`, a
change point `data-change`, each point `data-x` and `data-value`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

from probe.figures.bars import ticks
from probe.figures.drawing import N_SERIES, Dot, Drawing, Ink, Label, Mark, Number, Shape, box, number, short, width_of
from probe.figures.svg import Style, to_svg

WIDTH, HEIGHT = 470.0, 190.0
"""Of the axes."""
LINE, ROW = 13.0, 16.0
"""Distance of names beside the axes, and above them."""
BANDED = 2
"""Up to so many change points have their intervals drawn as bands."""
DOTTED = 40
"""Up to so many points of a curve are marked, so that each can be hovered."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """One curve."""

    name: str
    points: tuple[tuple[Number, Number], ...]
    """x and y, from left to right."""
    band: tuple[tuple[Number, Number], ...] = ()
    """Low and high of each point."""
    control: bool = False
    """Drawn in grey, dashed: what ours is compared with."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change point: where, and how sure."""

    name: str
    x: Number
    low: Number | None = None
    high: Number | None = None


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Curves on one pair of axes."""

    title: str
    series: tuple[Series, ...]
    x_is: str
    """What the axis is, as `step`."""
    unit: str
    """Of the values; nothing where the title says it."""
    changes: tuple[Change, ...] = ()
    levels: tuple[tuple[str, Number], ...] = ()
    """Names and heights of lines that hold for all x: a floor, a ceiling, what a cheat reaches."""
    low: Number = 0.0
    """Ends of the value axis; it grows where a value lies beyond them."""
    high: Number = 1.0
    log_x: bool = False
    x_to: Number | None = None
    """Where the x axis ends at the least: drawings under each other share it."""


def lines_svg(lines: Lines, style: Style = "auto") -> str:
    """Curves as an SVG of their own."""
    return to_svg(draw_lines(lines), style)


@dataclass(frozen=True, kw_only=True)
class _Axes:
    """From values to px."""

    left: Number
    top: Number
    x_from: Number
    x_to: Number
    low: Number
    high: Number
    log_x: bool

    @property
    def bottom(self) -> Number:
        return self.top + HEIGHT

    def at(self, x: Number, y: Number) -> tuple[Number, Number]:
        """Where a point stands; x beyond the axis stands at its end."""
        first, last, here = (self._along(value) for value in (self.x_from, self.x_to, x))
        share = (min(max(here, first), last) - first) / ((last - first) or 1.0)
        return self.left + WIDTH * share, self.bottom - HEIGHT * (y - self.low) / (self.high - self.low)

    def _along(self, x: Number) -> Number:
        return math.log10(max(x, 1.0)) if self.log_x else x


def draw_lines(lines: Lines) -> Drawing:
    """Lay out curves: axes, bands, change points, curves, names at their right ends."""
    axes = _axes(lines)
    right = axes.left + WIDTH
    marks: list[Mark] = [
        Label(x=0, y=13, text=short(lines.title, 110), size=12, bold=True, prose=True),
        Label(x=0, y=29, text=short(lines.unit, 90), ink="quiet", prose=True),
        *_scales(lines, axes),
    ]
    reach = max(width_of(short(lines.title, 110), 12), width_of(short(lines.unit, 90)))
    for row, change in enumerate(sorted(lines.changes, key=lambda change: -change.x)):
        marks += _change(change, axes, row, banded=len(lines.changes) <= BANDED)
        reach = max(reach, axes.at(change.x, 0)[0] + 6 + width_of(_dated(change), 10))
    ends: list[tuple[Number, str, Ink]] = []
    for name, level in lines.levels:
        y = axes.at(0, level)[1]
        marks.append(Shape(points=((axes.left, y), (right, y)), stroke="quiet", dashed=True, title=name))
        ends.append((y, f"{name} {number(level)}", "quiet"))
    colours = iter(range(len(lines.series)))
    for series in lines.series:
        ink = cast(Ink, "line" if series.control else f"s{next(colours) % N_SERIES}")
        marks += _curve(series, axes, ink)
        if series.points:
            ends.append((axes.at(*series.points[-1])[1], f"{series.name} {number(series.points[-1][1])}", ink))
    corner = ((axes.left, axes.top), (axes.left, axes.bottom), (right, axes.bottom))
    marks.append(Shape(points=corner, stroke="line"))
    names, names_reach = _names(ends, right + 8, axes.top, axes.bottom)
    return Drawing(
        title=lines.title,
        width=max(reach, names_reach),
        height=max(axes.bottom + 34, axes.top + len(ends) * LINE + 4),
        marks=(*marks, *names),
        description=f"{lines.title}: {len(lines.series)} curves over {lines.x_is}"
        + "".join(f"; {_dated(change)}" for change in lines.changes),
    )


def _axes(lines: Lines) -> _Axes:
    """Axes that hold every point, band and level."""
    xs = [x for series in lines.series for x, _ in series.points] or [0.0]
    ys = [y for series in lines.series for _, y in series.points] + [level for _, level in lines.levels]
    ys += [bound for series in lines.series for pair in series.band for bound in pair]
    low, high = min([lines.low, *ys]), max([lines.high, *ys])
    high = high if high > low else low + 1.0
    return _Axes(
        left=max(30.0, *(width_of(f"{value:g}", 10) + 8 for value in ticks(low, high))),
        top=44.0 + len(lines.changes) * ROW,
        x_from=min(xs),
        x_to=max([*xs, lines.x_to or 0.0]),
        low=low,
        high=high,
        log_x=lines.log_x,
    )


def _scales(lines: Lines, axes: _Axes) -> list[Mark]:
    """Thin lines at round values, ticks at round x, and what x is."""
    marks: list[Mark] = []
    right, bottom = axes.left + WIDTH, axes.bottom
    for value in ticks(axes.low, axes.high):
        y = axes.at(0, value)[1]
        marks.append(Shape(points=((axes.left, y), (right, y)), stroke="line", width=0.5, opacity=0.5))
        marks.append(Label(x=axes.left - 5, y=y + 3.5, text=f"{value:g}", size=10, ink="quiet", anchor="end"))
    for value in _x_ticks(axes):
        x = axes.at(value, 0)[0]
        said = f"{value:,.0f}" if value >= 1000 else f"{value:g}"
        marks.append(Shape(points=((x, bottom), (x, bottom + 4)), stroke="line"))
        marks.append(Label(x=x, y=bottom + 15, text=said, size=10, ink="quiet", anchor="middle"))
    middle = axes.left + WIDTH / 2
    marks.append(Label(x=middle, y=bottom + 30, text=short(lines.x_is, 60), ink="quiet", anchor="middle", prose=True))
    return marks


def _x_ticks(axes: _Axes) -> list[Number]:
    """Round values of x: 1, 2, 5, 10, … on a logarithmic axis."""
    low, high = axes.x_from, axes.x_to
    if not axes.log_x:
        return ticks(low, high) if high > low else [low]
    values = [10.0**power * m for power in range(12) for m in (1, 2, 5) if low <= 10.0**power * m <= high]
    return values if len(values) <= 10 else [value for value in values if math.log10(value).is_integer()]


def _dated(change: Change) -> str:
    """A change point in words."""
    said = f"{change.name}: {change.x:g}"
    return said if change.low is None or change.high is None else f"{said} [{change.low:g}, {change.high:g}]"


def _change(change: Change, axes: _Axes, row: int, banded: bool) -> list[Mark]:
    """A vertical line, named above the axes, the leftmost highest; its interval is a band, or a bar under the name."""
    x, bottom = axes.at(change.x, axes.low)
    said, data = _dated(change), {"change": change.name, "x": f"{change.x:g}"}
    marks: list[Mark] = []
    y = axes.top - 8 - ROW * row
    if change.low is not None and change.high is not None:
        start, end = axes.at(change.low, 0)[0], axes.at(change.high, 0)[0]
        top, height = (axes.top, bottom - axes.top) if banded else (y + 2, 2.0)
        opacity = 0.2 if banded else 1.0
        marks.append(box(start, top, end - start, height, fill="line", opacity=opacity, title=said, data=data))
    marks.append(Shape(points=((x, y - 8), (x, bottom)), stroke="text", title=said, data=data))
    marks.append(Label(x=x + 4, y=y, text=short(said, 60), size=10))
    return marks


def _curve(series: Series, axes: _Axes, ink: Ink) -> list[Mark]:
    """Band, line and points."""
    points = tuple(axes.at(x, y) for x, y in series.points)
    marks: list[Mark] = []
    if series.band:
        pairs = list(zip(series.points, series.band, strict=True))
        highs = [axes.at(x, high) for (x, _), (_, high) in pairs]
        lows = [axes.at(x, low) for (x, _), (low, _) in pairs]
        marks.append(Shape(points=(*highs, *reversed(lows)), fill=ink, opacity=0.18, closed=True))
    if len(points) > 1:
        data = {"series": series.name}
        marks.append(Shape(points=points, stroke=ink, width=2, dashed=series.control, title=series.name, data=data))
    if len(points) <= DOTTED:
        for (across, up), (x, y) in zip(points, series.points, strict=True):
            data = {"series": series.name, "x": f"{x:g}", "value": f"{y:.4g}"}
            said = f"{series.name}, {x:g}: {number(y)}"
            marks.append(Dot(x=across, y=up, radius=2.2, fill=ink, title=said, data=data))
    return marks


def _names(ends: list[tuple[Number, str, Ink]], x: Number, top: Number, bottom: Number) -> tuple[list[Mark], Number]:
    """Names at the right ends of their curves, pushed apart where curves end close together."""
    marks: list[Mark] = []
    ordered = sorted(ends, key=lambda end: end[0])
    placed: list[Number] = []
    for y, _, _ in ordered:
        placed.append(max(y, placed[-1] + LINE) if placed else max(y, top))
    over = placed[-1] - bottom if placed else 0.0
    limit = bottom
    if over > 0:  # push up again from the bottom
        for i in reversed(range(len(placed))):
            placed[i] = max(min(placed[i], limit), top + i * LINE)
            limit = placed[i] - LINE
    reach = x
    for at, (y, name, ink) in zip(placed, ordered, strict=True):
        said = short(name, 40)
        if abs(at - y) > 2:
            marks.append(Shape(points=((x - 6, y), (x - 1, at)), stroke=ink, width=0.7))
        marks.append(Label(x=x + 1, y=at + 3.5, text=said, ink="quiet" if ink == "line" else ink))
        reach = max(reach, x + 2 + width_of(said))
    return marks, reach
