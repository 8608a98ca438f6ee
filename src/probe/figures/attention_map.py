"""One attention map, small: a page lays out many of them, lights up cells in all at once, and moves them through time.

Cells of like strength share one path, so that thirty maps of 18 × 18 weigh a fraction of a rectangle a cell; above 48
words they are the pixels of one picture. The script of a page finds a map by `data-map` (the caller's key), and cell
(0, 0) and the size of a cell in the drawing's own units by `data-x data-y data-width data-height`.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from probe.figures.drawing import Drawing, Ink, Label, Mark, box, shown, width_of
from probe.figures.svg import text, to_svg

LEVELS = 16
"""Strengths are drawn in so many steps."""
SMALLEST = 0.01
CELLS: frozenset[Ink] = frozenset(("more", "less", "line"))
"""Inks of the cells and their ground, which are written here and not by `figures/svg.py`."""
LESS = ' class="l-less"'
VECTOR = 48
"""Up to so many words cells are shapes; of more, pixels."""


@dataclass(frozen=True, kw_only=True)
class AttentionMap:
    """One head, a mean of heads, or the difference of two maps."""

    title: str
    tokens: tuple[str, ...]
    values: Float[np.ndarray, "query key"]
    """Shares of attention; 0 above the diagonal."""
    key: str
    """What a page calls it."""
    query: int
    """The row that is framed."""
    changed: tuple[int, ...] = ()
    """Positions whose word is marked."""
    signed: bool = False
    """A difference, -1 to 1."""
    words: bool = True
    """Whether words stand at its sides; a small multiple goes without."""


def attention_map_svg(one: AttentionMap) -> str:
    """A map as an SVG of its own."""
    n = len(one.tokens)
    cell = _cell(n, one.words)
    labelled = one.words and n <= VECTOR
    words = [shown(token, 11) for token in one.tokens]
    room = max(width_of(word, 9) for word in words) + 6 if labelled else 1.0
    x, y = room, 20.0
    side = n * cell
    marks: list[Mark] = [Label(x=x, y=13, text=shown(one.title, 40), size=11, bold=True, prose=True)]
    frame: list[Mark] = [box(x, y + one.query * cell, (one.query + 1) * cell, cell, stroke="text", line=1.1)]
    if labelled:
        frame.append(Label(x=x + side, y=y + 8, text="from ↓ to →", size=9, ink="quiet", anchor="end", prose=True))
    drawing = Drawing(
        title=f"Attention, {one.title}",
        width=max(x + side + 2, x + width_of(shown(one.title, 40)) * 0.95),
        height=y + side + (room + 4 if labelled else 2),
        marks=(*marks, Label(x=0, y=0, text=_HERE), *frame),
        description=_strongest(one),
    )
    place, empty, rest = to_svg(drawing, inks=CELLS).partition(f'<text class="f-text" x="0" y="0">{_HERE}</text>')
    assert empty
    about = (
        f'data-map="{text(one.key)}" data-rows="{n}" data-columns="{n}" data-query="{one.query}" data-x="{x:g}" '
        f'data-y="{y:g}" data-width="{cell:g}" data-height="{cell:g}"'
    )
    sides = _words(one, words, x, y, cell, side) if labelled else ""
    ground = f'<path class="f-line" opacity=".15" d="M{x:g} {y:g}{_stairs(cell, n)}z"/>'
    cells = _paths(one, x, y, cell, about) if n <= VECTOR else _picture(one, x, y, side, about)
    return place + ground + cells + sides + rest


_HERE = "cells"


def _cell(n: int, words: bool) -> float:
    """Side of a cell in px; two maps without words stand side by side on a telephone."""
    return min(11.0, max(0.6, 288.0 / n)) if words or n > VECTOR else min(8.0, 128.0 / n)


def _stairs(cell: float, n: int) -> str:
    """The outline of the cells up to the diagonal, from its upper corner on."""
    if n > VECTOR:
        return f"l{n * cell:g} {n * cell:g}h-{n * cell:g}"
    return f"h{cell:g}v{cell:g}" * n + f"h-{n * cell:g}"


def _words(one: AttentionMap, words: list[str], x: float, y: float, cell: float, side: float) -> str:
    """Words at the left of their rows and, turned, below their columns; one element a side."""

    def of_side(place: Callable[[float], str]) -> str:
        spans = []
        for i, word in enumerate(words):
            marked = ' class="f-less b"' if i in one.changed else ' class="b"' if i == one.query else ""
            spans.append(f"<tspan{marked} {place((i + 0.5) * cell + 3)}>{text(word)}</tspan>")
        return "".join(spans)

    kind = 'class="f-text e" style="font-size:9px"'
    left = of_side(lambda middle: f'x="{x - 4:g}" y="{y + middle:g}"')
    below = of_side(lambda middle: f'x="-{y + side + 5:g}" y="{x + middle:g}"')
    return f'<text {kind}>{left}</text><text {kind} transform="rotate(-90)">{below}</text>'


def _paths(one: AttentionMap, x: float, y: float, cell: float, about: str) -> str:
    """Cells of one sign and level as one path of strokes as thick as a cell, in units of cells: the shortest way."""
    signs = np.where(np.abs(one.values) < SMALLEST, 0, np.sign(one.values))
    levels = (signs * np.ceil(np.clip(np.abs(one.values), 0, 1) * LEVELS)).astype(int)
    drawn: dict[int, list[str]] = {}
    for query, row in enumerate(levels):
        ends = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), len(row)]
        for start, end in zip(ends, ends[1:], strict=False):  # neighbours of one level are one stroke
            if row[start]:
                drawn.setdefault(int(row[start]), []).append(f"M{start} {query}h{end - start}")
    paths = "".join(
        f'<path{LESS if level < 0 else ""} opacity="{abs(level) / LEVELS:.2g}" d="{"".join(strokes)}"/>'
        for level, strokes in sorted(drawn.items())
    )
    return f'<g class="l-more" {about} transform="translate({x:g} {y + cell / 2:g}) scale({cell:g})">{paths}</g>'


def _picture(one: AttentionMap, x: float, y: float, side: float, about: str) -> str:
    pixels = base64.b64encode(_png(np.clip(one.values, -1, 1))).decode()
    return (
        f'<image {about} x="{x:g}" y="{y:g}" width="{side:g}" height="{side:g}" style="image-rendering:pixelated" '
        f'preserveAspectRatio="none" href="data:image/png;base64,{pixels}"/>'
    )


def _png(values: Float[np.ndarray, "query key"]) -> bytes:
    """A byte a cell: 0 … 127 in the hue of `more`, 128 … 255 in that of `less`, as opaque as the value is large.

    A palette, because four channels a cell take four times as long to pack.
    """
    steps = np.rint(np.abs(values) * 127).astype(np.uint8)
    pixels = np.where(values < 0, steps + 128, steps).astype(np.uint8)
    hues = bytes((0x2F, 0x81, 0xF7)) * 128 + bytes((0xDB, 0x6D, 0x28)) * 128
    opaque = bytes(round(255 * i / 127) for i in range(128)) * 2

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + checksum

    rows, columns = pixels.shape
    lines = zlib.compress(b"".join(b"\x00" + row.tobytes() for row in pixels), 6)
    header = struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", header), (b"PLTE", hues), (b"tRNS", opaque), (b"IDAT", lines), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, content) for kind, content in parts)


def _strongest(one: AttentionMap) -> str:
    """The framed row in words, for those who cannot see it."""
    row = one.values[one.query]
    order = np.argsort(-np.abs(row), kind="stable")[:3]
    said = ", ".join(f"{shown(one.tokens[i])} ({i}) {row[i]:.2f}" for i in order)
    return f"from {shown(one.tokens[one.query])} ({one.query}) most to {said}"
