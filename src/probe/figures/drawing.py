"""A picture as a short list of marks, in px: every figure is laid out once, and written as SVG or printed from that.

A figure module turns its numbers into a `Drawing`; `figures/svg.py` and `figures/press.py` know how marks look in their
medium and nothing of what they mean. Colours are named by what they say (`more`, `less`, `quiet`), so that a picture
has the same meaning in light and dark.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

Ink = Literal["text", "quiet", "line", "paper", "more", "less", "s0", "s1", "s2", "s3", "s4", "s5", "s6"]
"""What a colour says: `more` and `less` are the two signs, `line` is what controls are drawn in, `s0` … are series."""
Number = float | int
N_SERIES = 7
DASH = 6.0
"""Length of the stroke that stands where there is no value, in px."""
MARGIN = 8.0
"""Paper left free around every drawing."""
ADVANCE = 0.602
"""Width of a character by its size, in the fixed-width fonts that are asked for."""


@dataclass(frozen=True, kw_only=True)
class Label:
    """A line of text on its base line."""

    x: Number
    y: Number
    text: str
    size: Number = 11.0
    ink: Ink = "text"
    anchor: Literal["start", "middle", "end"] = "start"
    angle: Number = 0.0
    """Degrees, clockwise, about (x, y)."""
    bold: bool = False
    prose: bool = False
    """Sentences; words of a model and numbers are set in a fixed width."""
    halo: bool = False
    """A rim of paper around the letters, where lines pass behind them."""
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A line, a polygon or (with `curved`) a chain of cubic Bézier curves through every third point."""

    points: tuple[tuple[Number, Number], ...]
    fill: Ink | None = None
    stroke: Ink | None = None
    width: Number = 1.0
    opacity: Number = 1.0
    closed: bool = False
    curved: bool = False
    dashed: bool = False
    title: str = ""
    """What hovering says."""
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A disc."""

    x: Number
    y: Number
    radius: Number
    fill: Ink | None = None
    stroke: Ink | None = None
    width: Number = 1.0
    opacity: Number = 1.0
    title: str = ""
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Cells:
    """A grid of values: one hue, as opaque as the value is large; the other hue where a signed value is negative."""

    x: Number
    y: Number
    cell: tuple[Number, Number]
    """Width and height of a cell."""
    values: Float[np.ndarray, "row column"]
    """NaN where there is none."""
    low: Number
    high: Number
    diverging: bool = False
    """Signed values: 0 is blank, `high` is full in either direction."""
    titles: tuple[tuple[str, ...], ...] = ()
    numbers: bool = False
    """Whether the values are written into the cells."""
    gaps: bool = True
    """Whether a stroke stands where there is no value; else there is nothing, nor in a cell too pale to be seen."""

    def strengths(self) -> Float[np.ndarray, "row column"]:
        """Opacity of every cell with its sign, -1 to 1; NaN where there is no value."""
        span = self.high - (0.0 if self.diverging else self.low)
        shifted = self.values if self.diverging else self.values - self.low
        scaled = shifted / span if span else np.zeros_like(shifted)
        return np.clip(scaled, -1.0 if self.diverging else 0.0, 1.0)


Mark = Label | Shape | Dot | Cells


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """Marks on a sheet of paper; later marks lie above earlier ones."""

    title: str
    width: Number
    height: Number
    marks: tuple[Mark, ...]
    description: str = ""
    """For those who cannot see it."""


def box(
    x: Number,
    y: Number,
    width: Number,
    height: Number,
    fill: Ink | None = None,
    stroke: Ink | None = None,
    opacity: Number = 1.0,
    line: Number = 1.0,
    title: str = "",
    data: Mapping[str, str] | None = None,
) -> Shape:
    """A rectangle."""
    corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
    return Shape(
        points=corners, fill=fill, stroke=stroke, width=line, opacity=opacity, closed=True, title=title, data=data or {}
    )


def moved(mark: Mark, x: Number, y: Number) -> Mark:
    """The mark, so far to the right and down."""
    if isinstance(mark, Shape):
        return replace(mark, points=tuple((a + x, b + y) for a, b in mark.points))
    return replace(mark, x=mark.x + x, y=mark.y + y)


def columns_of(text: str) -> int:
    """How many columns of a fixed-width font a text takes: wide letters two, combining marks none.

    >>> columns_of("abc"), columns_of("日本"), columns_of("e\u0301")
    (3, 4, 1)
    """
    wide = {"W": 2, "F": 2}
    return sum(
        0 if unicodedata.combining(letter) else wide.get(unicodedata.east_asian_width(letter), 1) for letter in text
    )


def width_of(text: str, size: Number = 11.0) -> Number:
    """Room that a line of text needs, in px; prose needs a little less."""
    return columns_of(text) * ADVANCE * size


def short(text: str, longest: int = 14) -> str:
    """The text, cut where it is wider than so many columns.

    >>> short("a very long word", 8), short("brief", 8)
    ('a very …', 'brief')
    """
    if columns_of(text) <= longest:
        return text
    kept = ""
    for letter in text:
        if columns_of(kept + letter) > longest - 1:
            break
        kept += letter
    return kept + "…"


def shown(word: str, longest: int = 14) -> str:
    r"""A word of a model as a label: cut, line breaks and the blanks at its ends made visible.

    >>> shown(" the"), shown("\n")
    ('␣the', '⏎')
    """
    word = word.replace("\n", "⏎").replace("\t", "⇥")
    core = word.strip(" ")
    before, after = len(word) - len(word.lstrip(" ")), len(word) - len(word.rstrip(" "))
    return short("␣" * before + core + "␣" * (after if core else 0), longest)


def paragraph(
    text: str, x: Number, y: Number, width: Number, size: Number = 11.0, ink: Ink = "quiet", bold: bool = False
) -> tuple[list[Mark], Number]:
    """Sentences broken into lines; returns the labels and the height that they take."""
    columns = max(20, int(width / (ADVANCE * size)))
    lines = textwrap.wrap(text, columns) if text else []
    step = size * 1.4
    labels: list[Mark] = [
        Label(x=x, y=y + size + i * step, text=line, size=size, ink=ink, bold=bold, prose=True)
        for i, line in enumerate(lines)
    ]
    return labels, len(lines) * step


def number(value: Number, signed: bool = False) -> str:
    """A value as people read it: three digits and no more, with its sign where signs matter.

    >>> number(0.123), number(-0.001, signed=True), number(22.13), number(1234.5)
    ('0.12', '0.00', '22.1', '1,234')
    """
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    text = f"{value:+,.{digits}f}" if signed else f"{value:,.{digits}f}"
    return "0.00" if text in ("-0.00", "+0.00") else text


def written(value: Number, strength: Number, signed: bool) -> tuple[Ink, str]:
    """How a value stands in its cell: in the colour of paper where the cell is strong, and a nought is no noise.

    >>> written(0.9, 0.9, False), written(0.001, 0.001, True)
    (('paper', '0.90'), ('quiet', '0'))
    """
    said = number(value, signed)
    if said == "0.00":
        return "quiet", "0"
    return "paper" if abs(strength) > 0.75 else "text", said


def interval(value: Number, low: Number | None, high: Number | None, signed: bool = False) -> str:
    """A value with its interval, where it has one: `0.50 [0.40, 0.60]`."""
    said = number(value, signed)
    if low is None or high is None or np.isnan(low) or np.isnan(high):
        return said
    return f"{said} [{number(low, signed)}, {number(high, signed)}]"


def in_grid(drawings: Sequence[Drawing], room: Number, gap: Number = 24.0) -> tuple[tuple[Mark, ...], Number, Number]:
    """Drawings side by side as far as there is room, in lines of the same number; their marks, width and height."""
    widest = max((drawing.width for drawing in drawings), default=0.0)
    fitting = max(1, int((room + gap) / (widest + gap)))
    lines = -(-len(drawings) // fitting)
    columns = -(-len(drawings) // max(1, lines))
    marks: list[Mark] = []
    width = y = 0.0
    for first in range(0, len(drawings), max(1, columns)):
        line = drawings[first : first + columns]
        for column, drawing in enumerate(line):
            x = column * (widest + gap)
            marks += [moved(mark, x, y) for mark in drawing.marks]
            width = max(width, x + drawing.width)
        y += max(drawing.height for drawing in line) + gap
    return tuple(marks), width, max(0.0, y - gap)
