"""Bars: values with their 95 % intervals, beside what they have to be compared with.

Ours is the coloured bar; the untrained model, a cheat or a control are thinner grey bars under it; floor and maximum
are ticks across the lane. Serves accuracies, head scores, ranges of faithfulness, strategies over seeds. A bar carries
`data-bar` (its name) and `data-value`, a grey one `data-beside` too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from probe.figures.drawing import Drawing, Ink, Label, Mark, Number, Shape, box, interval, number, short, width_of
from probe.figures.svg import Style, to_svg

LENGTH = 300.0
"""Of the axis, in px."""
LANE = 13.0
"""Height of our bar."""
GREY = 9.0
LONGEST = 40
"""Columns of a name; more are cut."""


Beside = tuple[str, Number] | tuple[str, Number, Number, Number]
"""Name and value of a control, and the ends of its interval where it has one."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One value, and what stands beside it."""

    label: str
    value: Number
    low: Number | None = None
    """Ends of its 95 % interval."""
    high: Number | None = None
    beside: tuple[Beside, ...] = ()
    """Controls: untrained, cheat, shuffled."""
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


@dataclass(frozen=True, kw_only=True)
class _Axis:
    """From values to px."""

    left: Number
    low: Number
    high: Number
    signed: bool
    """Whether numbers carry their sign, because some value is negative."""

    def at(self, value: Number) -> Number:
        return self.left + LENGTH * (value - self.low) / (self.high - self.low)

    @property
    def origin(self) -> Number:
        """Where bars begin: at 0 where the axis holds it."""
        return min(max(0.0, self.low), self.high)


def draw_bars(bars: Bars) -> Drawing:
    """Lay out bars from the top down, each with its number at the right."""
    axis = _axis(bars)
    title = short(bars.title, 110)
    heading: list[Mark] = [Label(x=0, y=13, text=title, size=12, bold=True, prose=True)]
    y, group, reach, grid = 28.0, "", width_of(title, 12), 28.0
    lanes: list[Mark] = []
    for bar in bars.bars:
        if bar.group != group:
            group = bar.group
            lanes.append(Label(x=0, y=y + 14, text=short(group, 80), bold=True, prose=True))
            y += 20
        marks, height, right = _lane(bar, axis, y)
        lanes += marks
        reach = max(reach, right)
        y += height + 6
    unit = short(bars.unit, 70) + _legend(bars)
    footing = Label(x=axis.left, y=y + 30, text=unit, ink="quiet", prose=True)
    return Drawing(
        title=bars.title,
        width=max(reach, axis.left + width_of(unit)),
        height=y + 36,
        marks=(*heading, *_scale(axis, grid, y), *lanes, footing),
        description=f"{len(bars.bars)} bars, {bars.unit}",
    )


def _axis(bars: Bars) -> _Axis:
    """An axis that holds everything, beside the longest name."""
    names = [bar.label for bar in bars.bars] + [name for bar in bars.bars for name, *_ in bar.beside]
    known = [bar.value for bar in bars.bars] + [numbers[0] for bar in bars.bars for _, *numbers in bar.beside]
    values = known + [
        value
        for bar in bars.bars
        for value in (bar.low, bar.high, bar.floor, bar.maximum, *(v for _, *ends in bar.beside for v in ends))
        if value is not None
    ]
    low, high = min([bars.low, *values]), max([bars.high, *values])
    return _Axis(
        left=max((width_of(short(name, LONGEST)) for name in names), default=0) + 8,
        low=low,
        high=high if high > low else low + 1.0,
        signed=min(known, default=0.0) < -0.005,
    )


def _lane(bar: Bar, axis: _Axis, top: Number) -> tuple[list[Mark], Number, Number]:
    """One bar and what stands beside it; its marks, its height and how far right they reach."""
    height = LANE + 2 + len(bar.beside) * (GREY + 2)
    x = axis.left + LENGTH + 8
    said = interval(bar.value, bar.low, bar.high, axis.signed)
    fill: Ink = "less" if axis.signed and bar.value < 0 else "more"
    marks: list[Mark] = [
        box(axis.left, top, LENGTH, height - 2, fill="line", opacity=0.13),
        _bar(axis, bar.value, top, LANE, fill, f"{bar.label}: {said}", {"bar": bar.label}),
        Label(x=axis.left - 6, y=top + 10.5, text=short(bar.label, LONGEST), anchor="end"),
        *_whisker(axis, bar.low, bar.high, top + LANE / 2, 3.5),
        Label(x=x, y=top + 10.5, text=said),
    ]
    reach, y = x + width_of(said), top + LANE + 2
    for name, value, *ends in bar.beside:
        low, high = ends or (None, None)
        said = interval(value, low, high, axis.signed)
        data = {"bar": bar.label, "beside": name}
        marks += [
            _bar(axis, value, y, GREY, "line", f"{bar.label}, {name}: {said}", data),
            Label(x=axis.left - 6, y=y + 8, text=short(name, LONGEST), size=10, ink="quiet", anchor="end"),
            *_whisker(axis, low, high, y + GREY / 2, 2.5),
            Label(x=x, y=y + 8, text=said, size=10, ink="quiet"),
        ]
        reach, y = max(reach, x + width_of(said, 10)), y + GREY + 2
    for name, value in (("floor", bar.floor), ("maximum", bar.maximum)):
        if value is not None:
            tick = ((axis.at(value), top - 2), (axis.at(value), top + height))
            said = f"{bar.label}: {name} {number(value, axis.signed)}"
            marks.append(Shape(points=tick, stroke="text", width=1.5, dashed=name == "maximum", title=said))
    return marks, height, reach


def _bar(axis: _Axis, value: Number, y: Number, height: Number, fill: Ink, title: str, data: dict[str, str]) -> Mark:
    start, end = sorted((axis.at(axis.origin), axis.at(value)))
    return box(start, y, end - start, height, fill=fill, title=title, data=data | {"value": f"{value:.4g}"})


def _whisker(axis: _Axis, low: Number | None, high: Number | None, y: Number, half: Number) -> list[Mark]:
    """The interval, with its ends; rimmed with paper, so that it is seen inside the bar too."""
    if low is None or high is None:
        return []
    a, b = axis.at(low), axis.at(high)
    beam = ((a, y - half), (a, y + half), (a, y), (b, y), (b, y - half), (b, y + half))
    return [Shape(points=beam, stroke="paper", width=3), Shape(points=beam, stroke="text", width=1.3)]


def _scale(axis: _Axis, top: Number, bottom: Number) -> list[Mark]:
    """Thin lines at round values, with the values under them."""
    marks: list[Mark] = []
    for value in ticks(axis.low, axis.high):
        x, width = axis.at(value), 1.0 if value == 0 else 0.5
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
