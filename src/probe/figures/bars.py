"""Bars: values with their 95 % intervals, beside what they have to be compared with.

Ours is the coloured bar; the untrained model, a cheat or a control are thinner grey bars under it; floor and maximum
are ticks across the lane. Serves accuracies, head scores, ranges of faithfulness, strategies over seeds. A bar carries
`data-bar` (its name) and `data-value`, a grey one `data-beside` too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from probe.figures.drawing import Drawing, Label, Mark, Number, Shape, box, interval, number, short, width_of
from probe.figures.svg import Style, to_svg

LENGTH = 300.0
"""Of the axis, in px."""
LANE = 13.0
"""Height of our bar."""
GREY = 9.0
LONGEST = 34
"""Columns of a name; more are cut."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One value, and what stands beside it."""

    label: str
    value: Number
    low: Number | None = None
    """Ends of its 95 % interval."""
    high: Number | None = None
    beside: tuple[tuple[str, Number], ...] = ()
    """Names and values of controls: untrained, cheat, shuffled."""
    floor: Number | None = None
    maximum: Number | None = None
    group: str = ""
    """Bars of one group stand under its name."""


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Bars on one axis."""

    title: str
    bars: tuple[Bar, ...]
    unit: str
    low: Number = 0.0
    """Ends of the axis; it grows where a value or an interval lies beyond them."""
    high: Number = 1.0


def bars_svg(bars: Bars, style: Style = "auto") -> str:
    """Bars as an SVG of their own."""
    return to_svg(draw_bars(bars), style)


def draw_bars(bars: Bars) -> Drawing:
    """Lay out bars from the top down, each with its number at the right."""
    low, high = _ends(bars)
    signed = low < 0
    names = [short(bar.label, LONGEST) for bar in bars.bars] + [
        short(name, LONGEST) for bar in bars.bars for name, _ in bar.beside
    ]
    left = max((width_of(name) for name in names), default=0) + 8

    def at(value: Number) -> Number:
        return left + LENGTH * (value - low) / (high - low)

    marks: list[Mark] = [Label(x=0, y=13, text=short(bars.title, 110), size=12, bold=True, prose=True)]
    y, group, reach = 28.0, "", width_of(short(bars.title, 110), 12)
    grid = y
    lanes: list[Mark] = []
    for bar in bars.bars:
        if bar.group != group:
            group = bar.group
            lanes.append(Label(x=0, y=y + 14, text=short(group, 80), bold=True, prose=True))
            y += 20
        top, height = y, LANE + len(bar.beside) * (GREY + 2)
        said = interval(bar.value, bar.low, bar.high, signed)
        data = {"bar": bar.label, "value": f"{bar.value:.4g}"}
        told = f"{bar.label}: {said}"
        lanes.append(box(at(low), top, LENGTH, height, fill="line", opacity=0.13))
        lanes.append(
            box(
                min(at(0 if signed else low), at(bar.value)),
                top,
                abs(at(bar.value) - at(0 if signed else low)),
                LANE,
                fill="less" if signed and bar.value < 0 else "more",
                title=told,
                data=data,
            )
        )
        lanes.append(Label(x=left - 6, y=top + 10.5, text=short(bar.label, LONGEST), anchor="end"))
        lanes += _whisker(at, bar, top + LANE / 2)
        ends = [at(bar.value)] + [at(bound) for bound in (bar.high, bar.maximum) if bound is not None]
        x = max(left + LENGTH, *ends) + 8
        lanes.append(Label(x=x, y=top + 10.5, text=said))
        reach = max(reach, x + width_of(said))
        y += LANE + 2
        for name, value in bar.beside:
            data = {"bar": bar.label, "beside": name, "value": f"{value:.4g}"}
            start, end = sorted((at(0 if signed else low), at(value)))
            told = f"{bar.label}, {name}: {number(value, signed)}"
            lanes.append(box(start, y, end - start, GREY, fill="line", title=told, data=data))
            lanes.append(Label(x=left - 6, y=y + 8, text=short(name, LONGEST), size=10, ink="quiet", anchor="end"))
            lanes.append(Label(x=x, y=y + 8, text=number(value, signed), size=10, ink="quiet"))
            y += GREY + 2
        for name, value in (("floor", bar.floor), ("maximum", bar.maximum)):
            if value is not None:
                tick = ((at(value), top - 2), (at(value), top + height + 2))
                said = f"{bar.label}: {name} {number(value, signed)}"
                dashed = name == "maximum"
                lanes.append(Shape(points=tick, stroke="text", width=1.5, dashed=dashed, title=said))
        y += 6
    marks += _axis(at, low, high, grid, y)
    marks += lanes
    unit = short(bars.unit, 70) + _legend(bars)
    marks.append(Label(x=left, y=y + 30, text=unit, ink="quiet", prose=True))
    return Drawing(
        title=bars.title,
        width=max(reach, left + width_of(unit)),
        height=y + 36,
        marks=tuple(marks),
        description=f"{len(bars.bars)} bars, {bars.unit}",
    )


def _ends(bars: Bars) -> tuple[Number, Number]:
    """The axis, grown to hold everything."""
    values = [
        value
        for bar in bars.bars
        for value in (bar.value, bar.low, bar.high, bar.floor, bar.maximum, *(v for _, v in bar.beside))
        if value is not None
    ]
    low, high = min([bars.low, *values]), max([bars.high, *values])
    return low, high if high > low else low + 1.0


def _whisker(at: Callable[[Number], Number], bar: Bar, y: Number) -> list[Mark]:
    """The interval, with its ends; a light line inside the bar, a dark one outside."""
    if bar.low is None or bar.high is None:
        return []
    a, b = at(bar.low), at(bar.high)
    beam = ((a, y - 3.5), (a, y + 3.5), (a, y), (b, y), (b, y - 3.5), (b, y + 3.5))
    return [Shape(points=beam, stroke="paper", width=3), Shape(points=beam, stroke="text", width=1.3)]


def _axis(at: Callable[[Number], Number], low: Number, high: Number, top: Number, bottom: Number) -> list[Mark]:
    """Thin lines at round values, with the values under them."""
    marks: list[Mark] = []
    for value in ticks(low, high):
        x = at(value)
        width = 1.0 if value == 0 else 0.5
        marks.append(Shape(points=((x, top - 4), (x, bottom)), stroke="line", width=width, opacity=0.6))
        marks.append(Label(x=x, y=bottom + 13, text=f"{value:g}", size=10, ink="quiet", anchor="middle"))
    return marks


def _legend(bars: Bars) -> str:
    """What the ticks and whiskers are, as far as there are any."""
    said = []
    if any(bar.low is not None for bar in bars.bars):
        said.append("whisker: 95 %")
    if any(bar.floor is not None for bar in bars.bars):
        said.append("line: floor")
    if any(bar.maximum is not None for bar in bars.bars):
        said.append("dashed: maximum")
    return f"   ({'; '.join(said)})" if said else ""


def ticks(low: Number, high: Number, most: int = 6) -> list[Number]:
    """Round values from `low` to `high`, at most so many.

    >>> ticks(0.0, 1.0), ticks(0.0, 237.0)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 50.0, 100.0, 150.0, 200.0])
    """
    span = high - low
    power = 10.0 ** math.floor(math.log10(span / most)) if span > 0 else 1.0
    step = next(power * m for m in (1, 2, 5, 10, 20) if span / (power * m) <= most - 1 + 1e-9)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 10) for i in range(first, math.floor(high / step + 1e-9) + 1)]
