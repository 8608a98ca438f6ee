"""An attention picture: a sentence under every head, or a minimal pair side by side with the difference.

    AttentionView  →  lay_out  →  draw_attention  →  Drawing  →  attention_svg, attention_print

Cells are keyed by position, never by word; one hue, opacity = weight, 0 to 1 on every map; above the diagonal there is
nothing. The row that is read out is framed, the word that differs is marked. Each map's cells carry `data-row` (query),
`data-column` (key) and `data-value` (see `figures/svg.py`).
"""

from __future__ import annotations

import numpy as np

from probe.figures.drawing import Cells, Drawing, Ink, Label, Mark, Number, box, short
from probe.figures.layout import BAR, Bars, Layout, Map, lay_out
from probe.figures.svg import VECTOR, Style, to_svg
from probe.figures.view import AttentionView

CELL = 11.0
"""Side of a cell in px."""
SIZE = 9.5
"""Of words and numbers."""


def attention_svg(view: AttentionView, style: Style = "auto") -> str:
    """Draw a sentence under every head, or a minimal pair side by side with the difference of its attention."""
    return to_svg(draw_attention(view), style)


def draw_attention(view: AttentionView) -> Drawing:
    """Lay out the picture of a view."""
    layout = lay_out(view)
    title = f"Attention: {layout.title}"
    longest = int(layout.width * CELL / SIZE / 0.62)
    marks: list[Mark] = [
        Label(x=0, y=13, text=short(title, min(110, int(longest * 0.7))), size=12, bold=True, prose=True)
    ]
    marks += [_label(c.x - 0.8, c.y, short(c.text, longest)) for c in layout.captions]
    for one in layout.maps:
        marks += _map(one, layout.changed)
    for one in layout.bars:
        marks += _bars(one, layout.changed)
    marks += _legend(layout)
    return Drawing(
        title=title,
        width=layout.width * CELL,
        height=layout.height * CELL,
        marks=tuple(marks),
        description="; ".join(caption.text for caption in layout.captions),
    )


def _label(
    x: Number, y: Number, text: str, ink: Ink = "text", bold: bool = False, end: bool = False, angle: Number = 0
) -> Label:
    """Text at a place in cells."""
    anchor = "end" if end else "start"
    return Label(x=x * CELL, y=y * CELL, text=text, size=SIZE, ink=ink, bold=bold, anchor=anchor, angle=angle)


def _map(one: Map, changed: tuple[int, ...]) -> list[Mark]:
    n, tokens, row = len(one.values), one.sentence.tokens, one.sentence.query
    values = np.where(np.tri(n, dtype=bool), one.values, np.nan).astype(float)
    marks: list[Mark] = [
        _label(one.x, one.y - 0.4, one.title, bold=True),
        Cells(
            x=one.x * CELL,
            y=one.y * CELL,
            cell=(CELL, CELL),
            values=values,
            low=0.0,
            high=1.0,
            diverging=one.signed,
            titles=_titles(one) if n * n <= VECTOR else (),
            gaps=False,
        ),
        _frame(one.x, one.y, n, n, "line", 0.6),
        _frame(one.x, one.y + row, row + 1, 1, "text", 1.0),
    ]
    for i, token in enumerate(tokens):
        ink: Ink = "less" if i in changed else "text"
        bold = i in changed
        if one.words_left:
            marks.append(_label(one.x - 0.3, one.y + i + 0.8, short(token, 11), ink, bold, end=True))
        if one.words_below:
            marks.append(_label(one.x + i + 0.8, one.y + n + 0.4, short(token, 11), ink, bold, end=True, angle=-90))
    if one.words_left and one.words_below:
        marks.append(_label(one.x - 0.3, one.y + n + 1.6, "from ↑ to →", "quiet", end=True))
    return marks


def _titles(one: Map) -> tuple[tuple[str, ...], ...]:
    """Each cell in words; nothing above the diagonal."""
    tokens = one.sentence.tokens
    return tuple(
        tuple(
            f"{query} ({i}) → {key} ({j}) {value:+.2f}" if one.signed else f"{query} ({i}) → {key} ({j}) {value:.2f}"
            for j, (key, value) in enumerate(zip(tokens, one.values[i], strict=True))
        )
        for i, query in enumerate(tokens)
    )


def _frame(x: Number, y: Number, width: Number, height: Number, ink: Ink, line: Number) -> Mark:
    return box(x * CELL, y * CELL, width * CELL, height * CELL, stroke=ink, line=line)


def _bars(one: Bars, changed: tuple[int, ...]) -> list[Mark]:
    marks: list[Mark] = [_label(one.x, one.y - 0.4, short(one.title, 60), bold=True)]
    for key in range(one.sentence.query + 1):
        weight, top = float(one.values[key]), (one.y + key) * CELL + 1
        ink: Ink = "less" if key in changed else "text"
        said = f"{weight:.2f} {short(one.sentence.tokens[key], 11)}"
        marks += [
            box(one.x * CELL, top, BAR * CELL, CELL - 2, fill="line", opacity=0.13),
            box(one.x * CELL, top, BAR * CELL * weight, CELL - 2, fill="more"),
            _label(one.x + BAR + 0.4, one.y + key + 0.8, said, ink, key in changed),
        ]
    return marks


def _legend(layout: Layout) -> list[Mark]:
    y, steps = layout.height - 1.8, np.linspace(0, 1, 11)[None]
    more = "; difference: blue more, orange less" if any(one.signed for one in layout.maps) else ""
    return [
        _label(0, y + 0.8, "0", "quiet"),
        Cells(x=CELL, y=y * CELL, cell=(CELL, CELL * 0.9), values=steps, low=0.0, high=1.0),
        _frame(1, y, 11, 0.9, "line", 0.6),
        _label(12.5, y + 0.8, f"1 share of attention, same scale on every map{more}", "quiet"),
    ]
