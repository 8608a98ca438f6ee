"""A heat map: any value over two things, as layer × position, layer × head, head × head, word × word.

    HeatMap(...)  →  draw_heatmap  →  Drawing  →  heatmap_svg, or printed by figures/press.py

One hue and its opacity for values that have one end, two hues for signed effects, a colour bar with the floor on it, a
stroke where there is no value. The values are written into the cells where there is room. Every cell carries
`data-row`, `data-column` and `data-value`, and a title that says it in words (see `figures/svg.py`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from probe.figures.drawing import Cells, Drawing, Label, Mark, Number, Shape, box, columns_of, number, short, width_of
from probe.figures.svg import VECTOR, Style, to_svg

NUMBERED = 400
"""Up to so many cells have their value written into them."""
LONGEST, LONGEST_ROW = 18, 54
"""Letters of a column's name, and of a row's; more are cut."""
BAR = 154.0
"""Length of the colour bar."""


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """Values by row and column."""

    title: str
    rows: tuple[str, ...]
    """Names, from the top down; they may repeat, as words do."""
    columns: tuple[str, ...]
    values: tuple[tuple[Number | None, ...], ...]
    """By row, then column; None where there is none."""
    low: Number = 0.0
    """Blank; with `diverging`, 0 is blank and `high` is full in either direction."""
    high: Number = 1.0
    unit: str
    """What a value is, in words: `share of attention`, `logits`."""
    diverging: bool = False
    floor: Number | None = None
    """What a model that knows nothing would show; marked on the colour bar."""
    rows_are: str = ""
    """What the rows are, as `layer`."""
    columns_are: str = ""


def heatmap_svg(heatmap: HeatMap, style: Style = "auto") -> str:
    """A heat map as an SVG of its own."""
    return to_svg(draw_heatmap(heatmap), style)


def draw_heatmap(heatmap: HeatMap) -> Drawing:
    """Lay out a heat map: title, rows' names, cells, columns' names, colour bar.

    Raises:
        ValueError: the values do not have a row for each row's name and a value for each column's.
    """
    n_rows, n_columns = len(heatmap.rows), len(heatmap.columns)
    if len(heatmap.values) != n_rows or any(len(row) != n_columns for row in heatmap.values):
        raise ValueError(
            f"{heatmap.title}: {n_rows} rows and {n_columns} columns are named; the values do not fit them"
        )
    values = np.array([[math.nan if v is None else v for v in row] for row in heatmap.values], dtype=float)
    values = values.reshape(n_rows, n_columns)
    numbered = n_rows * n_columns <= NUMBERED
    width = _cell_width(values, heatmap.diverging) if numbered else max(2.0, min(16.0, 768 / max(1, n_columns)))
    height = 20.0 if numbered else max(2.0, min(14.0, 768 / max(1, n_rows)))
    rows = [short(name, LONGEST_ROW) for name in heatmap.rows]
    columns = [short(name, LONGEST) for name in heatmap.columns]
    slanted = any(width_of(name) > width - 4 for name in columns)
    lean = max((width_of(name) for name in columns), default=0.0) * math.sqrt(0.5) if slanted else 0.0
    left = max(
        [width_of(name) + 8 for name in rows]
        + [width_of(short(heatmap.rows_are, LONGEST_ROW)) + 24, lean - width / 2 + 6]
    )
    top = 40.0
    right, bottom = left + n_columns * width, top + n_rows * height
    marks: list[Mark] = [
        Label(x=0, y=13, text=short(heatmap.title, 110), size=12, bold=True, prose=True),
        Cells(
            x=left,
            y=top,
            cell=(width, height),
            values=values,
            low=heatmap.low,
            high=heatmap.high,
            diverging=heatmap.diverging,
            titles=_titles(heatmap) if n_rows * n_columns <= VECTOR else (),
            numbers=numbered,
        ),
        box(left, top, n_columns * width, n_rows * height, stroke="line", line=0.6),
    ]
    axes: list[tuple[str, float, Literal["start", "end"]]] = []
    if heatmap.rows_are:
        axes.append((f"{short(heatmap.rows_are, LONGEST_ROW)} ↓", left - 6, "end"))
    if heatmap.columns_are:
        axes.append((f"{short(heatmap.columns_are, 40)} →", left, "start"))
    marks += [Label(x=x, y=top - 7, text=said, ink="quiet", anchor=side, prose=True) for said, x, side in axes]
    for row in _thinned(n_rows, height / 11):
        y = top + (row + 0.5) * height + 4
        marks.append(Label(x=left - 6, y=y, text=rows[row], anchor="end", data={"row-name": str(row)}))
    for column in _thinned(n_columns, width / (15.6 if slanted else 11)):
        x = left + (column + 0.5) * width
        data = {"column-name": str(column)}
        if slanted:
            name = Label(x=x + 4, y=bottom + 12, text=columns[column], anchor="end", angle=-45, data=data)
        else:
            name = Label(x=x, y=bottom + 14, text=columns[column], anchor="middle", data=data)
        marks.append(name)
    below = bottom + (lean + 10 if slanted else 20)
    bar, reach = _colour_bar(heatmap, left, below + 10)
    reach = max(
        reach, right + 2, left + width_of(short(heatmap.columns_are, 40)) + 16, width_of(short(heatmap.title, 110), 12)
    )
    return Drawing(
        title=heatmap.title,
        width=reach,
        height=below + 10 + 32,
        marks=(*marks, *bar),
        description=f"{n_rows} by {n_columns} values, {heatmap.unit}",
    )


def _cell_width(values: np.ndarray, signed: bool) -> Number:
    """Room for the longest number."""
    known = values[~np.isnan(values)].tolist()
    return max([32.0, *(width_of(number(value, signed), 10) + 7 for value in known)])


def _titles(heatmap: HeatMap) -> tuple[tuple[str, ...], ...]:
    """Each cell in words."""
    row_kind, column_kind = (f"{kind} " if kind else "" for kind in (heatmap.rows_are, heatmap.columns_are))
    return tuple(
        tuple(
            f"{row_kind}{row}, {column_kind}{column}: "
            + ("no value" if value is None or math.isnan(value) else number(value, heatmap.diverging))
            for column, value in zip(heatmap.columns, values, strict=True)
        )
        for row, values in zip(heatmap.rows, heatmap.values, strict=True)
    )


def _thinned(n: int, size: Number) -> range:
    """The names that are written where a cell is `size` lines of text high: every one, every second, and so on."""
    return range(0, n, max(1, math.ceil(1 / size)))


def _colour_bar(heatmap: HeatMap, x: Number, y: Number) -> tuple[list[Mark], Number]:
    """The scale, with the floor on it; returns its marks and how far right they reach."""
    low = -heatmap.high if heatmap.diverging else heatmap.low
    steps = np.linspace(low, heatmap.high, 11)[None]
    said = [number(low, heatmap.diverging), number(heatmap.high, heatmap.diverging)]
    start = x + columns_of(said[0]) * 7.0 + 4
    marks: list[Mark] = [
        Label(x=start - 5, y=y + 10, text=said[0], ink="quiet", anchor="end"),
        Cells(x=start, y=y, cell=(BAR / 11, 12), values=steps, low=low, high=heatmap.high, diverging=heatmap.diverging),
        box(start, y, BAR, 12, stroke="line", line=0.6),
    ]
    marks.append(Label(x=start + BAR + 5, y=y + 10, text=said[1], ink="quiet"))
    unit = short(heatmap.unit, 70)
    if heatmap.floor is not None and heatmap.high > low:
        unit += f"; ▾ floor {number(heatmap.floor, heatmap.diverging)}"
        at = start + BAR * min(1.0, max(0.0, (heatmap.floor - low) / (heatmap.high - low)))
        marks.append(Shape(points=((at - 3.5, y - 6), (at + 3.5, y - 6), (at, y)), fill="text", closed=True))
    marks.append(Label(x=start, y=y + 27, text=unit, ink="quiet", prose=True))
    return marks, start + max(BAR + 5 + width_of(said[1]), width_of(unit))
