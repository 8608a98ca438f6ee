"""A drawing as SVG. Hand-made, because pages must open from disk with no network.

The string stands on its own: no page CSS, no script, no web font, nothing loaded; every word is escaped. The same
string goes into a page, a file and the README. With `style="auto"` it follows the reader's light or dark setting; a
page that has a switch of its own adds `stylesheet("dark", scope='[data-theme="dark"] .probe-figure')`.

What a page's script finds in it:

    svg.probe-figure            the root; `role="img"`, named by its `<title>`, told by its `<desc>`
    g[data-cells]               the cells of one map, with `data-rows`, `data-columns`, `data-low`, `data-high`
    g[data-row]                 its rows
    [data-column]               their cells, with `data-value` where there is one; a `<title>` says it in words
    [data-row-name] [data-column-name]       the names beside and under them
    image[data-cells]           a map of more than 48 × 48 cells: pixels whose alpha is the value's share of the range
    [data-node] [data-edge]     parts of a circuit (see `figures/circuit.py`)
    [data-series] [data-bar] [data-change]   of curves and bars (see `figures/lines.py`, `figures/bars.py`)
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Mapping
from html import escape
from typing import Literal, get_args

import numpy as np
from jaxtyping import UInt8

from probe.figures.drawing import DASH, MARGIN, Cells, Dot, Drawing, Ink, Label, Mark, Number, Shape, written

Style = Literal["auto", "paper", "slide", "dark"]
"""`auto` follows the reader's light or dark; `slide` and `dark` are twice as large, for a wall."""
STYLES: tuple[str, ...] = get_args(Style)
FAINT = 0.005
"""Weaker cells are left out of pictures without gaps."""
SIZE = 11
"""Of letters, in px, where nothing else is said."""
VECTOR = 48 * 48
"""Up to so many cells are rectangles; more are the pixels of one picture."""
FIXED = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
PROSE = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"

_SERIES_LIGHT = ("#0072b2", "#c24f00", "#00805a", "#a5447f", "#8a6100", "#2874a8", "#1f2328")
_SERIES_DARK = ("#56b4e9", "#ff8c42", "#2fd6a3", "#e79cc8", "#f0c040", "#9ad4f5", "#e6edf3")
PALETTES: Mapping[str, Mapping[Ink, str]] = {
    # series after Okabe & Ito 2008, darkened or lightened to stand out from the paper
    "light": {
        "text": "#1f2328", "quiet": "#59636e", "line": "#8c959f", "paper": "#ffffff",
        "more": "#0969da", "less": "#c4500a",
        "s0": _SERIES_LIGHT[0], "s1": _SERIES_LIGHT[1], "s2": _SERIES_LIGHT[2], "s3": _SERIES_LIGHT[3],
        "s4": _SERIES_LIGHT[4], "s5": _SERIES_LIGHT[5], "s6": _SERIES_LIGHT[6],
    },
    "dark": {
        "text": "#e6edf3", "quiet": "#9198a1", "line": "#7d8590", "paper": "#0d1117",
        "more": "#58a6ff", "less": "#f0883e",
        "s0": _SERIES_DARK[0], "s1": _SERIES_DARK[1], "s2": _SERIES_DARK[2], "s3": _SERIES_DARK[3],
        "s4": _SERIES_DARK[4], "s5": _SERIES_DARK[5], "s6": _SERIES_DARK[6],
    },
}  # fmt: skip
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def scale_of(style: Style) -> Number:
    """How much larger than a page's picture a style is."""
    return 2.0 if style in ("slide", "dark") else 1.0


def palette_of(style: Style) -> Mapping[Ink, str]:
    """The colours of a style; those of light paper where the reader decides."""
    return PALETTES["dark" if style == "dark" else "light"]


def stylesheet(
    theme: Literal["light", "dark"], scope: str = ".probe-figure", inks: frozenset[Ink] | None = None
) -> str:
    """The rules that give the inks their colours, as fill (`f-`) and stroke (`l-`); all inks by default."""
    rules = []
    for ink, colour in PALETTES[theme].items():
        if inks is None or ink in inks:
            rules.append(f"{scope} .f-{ink}{{fill:{colour}}}{scope} .l-{ink}{{stroke:{colour}}}")
    return "".join(rules)


def to_svg(
    drawing: Drawing,
    style: Style = "auto",
    metadata: Mapping[str, str] | None = None,
    inks: frozenset[Ink] = frozenset(),
) -> str:
    """Write a drawing as one SVG element, followed by a line break.

    Args:
        drawing: what to write.
        style: colours and size.
        metadata: put into the file's `<metadata>` as JSON, so that a picture tells where it comes from.
        inks: inks that markup added to the drawing will use, beside those of its own marks.
    """
    used = _inks(drawing) | inks
    rules = stylesheet("dark" if style == "dark" else "light", inks=used)
    if style == "auto":
        rules += f"@media (prefers-color-scheme:dark){{{stylesheet('dark', inks=used)}}}"
    scale, width, height = scale_of(style), drawing.width + 2 * MARGIN, drawing.height + 2 * MARGIN
    frame = f"{_n(-MARGIN)} {_n(-MARGIN)} {_n(width)} {_n(height)}"
    told = f"<desc>{text(drawing.description)}</desc>" if drawing.description else ""
    if metadata:
        told += f"<metadata>{text(json.dumps(dict(metadata), ensure_ascii=False))}</metadata>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="probe-figure" role="img" width="{_n(width * scale)}" '
        f'height="{_n(height * scale)}" viewBox="{frame}"><title>{text(drawing.title)}</title>'
        f"{told}<style>.probe-figure{{font:{SIZE}px {FIXED}}}.probe-figure .p{{font-family:{PROSE}}}"
        f".probe-figure .b{{font-weight:700}}.probe-figure .e{{text-anchor:end}}.probe-figure .m{{text-anchor:middle}}"
        f".probe-figure .n{{font-size:10px;text-anchor:middle;pointer-events:none}}"
        f".probe-figure .h{{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}}{rules}</style>"
        f'<rect class="f-paper" x="{_n(-MARGIN)}" y="{_n(-MARGIN)}" width="{_n(width)}" height="{_n(height)}"/>'
        f"{''.join(_mark(mark) for mark in drawing.marks)}</svg>\n"
    )


def text(said: str) -> str:
    """Any text as XML text: escaped, and without the characters that XML does not know."""
    return escape(_ILLEGAL.sub("\ufffd", said))


def _inks(drawing: Drawing) -> frozenset[Ink]:
    """The inks that a drawing uses."""
    used: set[Ink] = {"paper"}
    for mark in drawing.marks:
        if isinstance(mark, Label):
            used.add(mark.ink)
        elif isinstance(mark, Cells):
            used |= {"more", "less", "line", "text", "quiet"}
        else:
            used |= {ink for ink in (mark.fill, mark.stroke) if ink}
    return frozenset(used)


def _mark(mark: Mark) -> str:
    if isinstance(mark, Label):
        return _label(mark)
    if isinstance(mark, Cells):
        return _cells(mark)
    if isinstance(mark, Dot):
        return _closed(f'<circle cx="{_n(mark.x)}" cy="{_n(mark.y)}" r="{_n(mark.radius)}"', "circle", mark)
    first, *rest = (f"{_n(x)} {_n(y)}" for x, y in mark.points)
    path = f"M{first}{'C' if mark.curved else 'L'}{' '.join(rest)}{'Z' if mark.closed else ''}"
    return _closed(f'<path d="{path}"', "path", mark)


def _closed(opened: str, tag: str, mark: Shape | Dot) -> str:
    classes = " ".join(f"{kind}-{ink}" for kind, ink in (("f", mark.fill), ("l", mark.stroke)) if ink)
    parts = [opened, f' class="{classes}"']
    if not mark.fill:
        parts.append(' fill="none"')
    if mark.stroke and mark.width != 1:
        parts.append(f' stroke-width="{_n(mark.width)}"')
    if isinstance(mark, Shape) and mark.dashed:
        parts.append(' stroke-dasharray="4 3"')
    if mark.opacity < 1:
        parts.append(f' opacity="{_n(mark.opacity, 2)}"')
    parts.append(_data(mark.data))
    parts.append(f"><title>{text(mark.title)}</title></{tag}>" if mark.title else "/>")
    return "".join(parts)


def _label(label: Label) -> str:
    kinds = [f"f-{label.ink}"] + ["h l-paper"] * label.halo + ["p"] * label.prose + ["b"] * label.bold
    kinds += {"start": [], "middle": ["m"], "end": ["e"]}[label.anchor]
    size = f' font-size="{_n(label.size)}"' if label.size != SIZE else ""
    place = f'x="{_n(label.x)}" y="{_n(label.y)}"'
    if label.angle:
        place = f'transform="translate({_n(label.x)} {_n(label.y)}) rotate({_n(label.angle)})"'
    return f'<text class="{" ".join(kinds)}" {place}{size}{_data(label.data)}>{text(label.text)}</text>'


def _cells(cells: Cells) -> str:
    rows, columns = cells.values.shape
    width, height = cells.cell
    about = (
        f'data-cells="" data-rows="{rows}" data-columns="{columns}" data-low="{_n(cells.low, 4)}" '
        f'data-high="{_n(cells.high, 4)}"'
    )
    strengths = cells.strengths()
    ground = f'<path class="f-line" opacity=".13" d="{_ground(cells)}"/>'
    if rows * columns > VECTOR:
        pixels = base64.b64encode(_png(_pixels(strengths))).decode()
        return (
            f'{ground}<image {about} x="{_n(cells.x)}" y="{_n(cells.y)}" width="{_n(columns * width)}" '
            f'height="{_n(rows * height)}" preserveAspectRatio="none" style="image-rendering:pixelated" '
            f'href="data:image/png;base64,{pixels}"/>'
        )
    parts = [
        f'{ground}<g {about if cells.titles else ""} class="f-more" shape-rendering="crispEdges" '
        f'transform="translate({_n(cells.x)} {_n(cells.y)})">'
    ]
    for row in range(rows):
        of_row = "".join(_cell(cells, row, column, float(strengths[row, column])) for column in range(columns))
        if of_row:
            parts.append(f'<g data-row="{row}" transform="translate(0 {_n(row * height)})">{of_row}</g>')
    return "".join(parts) + "</g>"


def _ground(cells: Cells) -> str:
    """What lies under the cells: the whole grid; or, without gaps, each row from its first to its last value."""
    (rows, columns), (width, height) = cells.values.shape, cells.cell
    if cells.gaps:
        return f"M{_n(cells.x)} {_n(cells.y)}h{_n(columns * width)}v{_n(rows * height)}H{_n(cells.x)}z"
    paths = []
    for row in range(rows):
        valued = np.flatnonzero(~np.isnan(cells.values[row]))
        if len(valued):
            x, y = cells.x + valued[0] * width, cells.y + row * height
            paths.append(f"M{_n(x)} {_n(y)}h{_n((valued[-1] - valued[0] + 1) * width)}v{_n(height)}H{_n(x)}z")
    return "".join(paths)


def _cell(cells: Cells, row: int, column: int, strength: Number) -> str:
    """One cell, inside the group of its row, from which it has its colour."""
    (width, height), value = cells.cell, float(cells.values[row, column])
    if not cells.gaps and not abs(strength) >= FAINT:
        return ""
    x = column * width
    data = f' data-column="{column}"' if cells.titles else ""
    title = f"<title>{text(cells.titles[row][column])}</title>" if cells.titles else ""
    if np.isnan(value):
        stroke = f"M{_n(x + width / 2 - DASH / 2)} {_n(height / 2)}h{_n(DASH)}"
        return f'<path class="l-line" d="{stroke}"{data}>{title}</path>'
    hue = ' class="f-less"' if strength < 0 else ""
    data += f' data-value="{value:.4g}"' if cells.titles else ""
    parts = [
        f'<rect{hue} x="{_n(x)}" width="{_n(width)}" height="{_n(height)}" fill-opacity="{_n(abs(strength), 2)}"{data}>'
        f"{title}</rect>"
    ]
    if cells.numbers:
        ink, said = written(value, strength, cells.diverging)
        parts.append(f'<text class="f-{ink} n" x="{_n(x + width / 2)}" y="{_n(height / 2 + 3.5)}">{said}</text>')
    return "".join(parts)


def _data(data: Mapping[str, str]) -> str:
    return "".join(f' data-{key}="{text(value)}"' for key, value in data.items())


def _n(value: Number, digits: int = 1) -> str:
    """A number as short as it can be written.

    >>> _n(3.0), _n(0.25, 2), _n(-0.01)
    ('3', '.25', '0')
    """
    said = f"{value:.{digits}f}".rstrip("0").rstrip(".") if digits else f"{value:.0f}"
    if said in ("-0", ""):
        return "0"
    return said.replace("0.", ".", 1) if said.startswith(("0.", "-0.")) else said


def _pixels(strengths: np.ndarray) -> UInt8[np.ndarray, "row column 4"]:
    """Hue by sign, alpha by strength; a hue between those of light and dark paper."""
    signs = np.where(strengths < 0, 1, 0)
    hues = np.array([[0x2F, 0x81, 0xF7], [0xDB, 0x6D, 0x28]], dtype=np.uint8)
    alpha = np.rint(np.abs(np.nan_to_num(strengths)) * 255).astype(np.uint8)
    return np.concatenate([hues[signs], alpha[..., None]], axis=-1)


def _png(pixels: UInt8[np.ndarray, "row column 4"]) -> bytes:
    """The smallest PNG writer there is: eight bits, RGBA, no filter."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + checksum

    rows, columns, _ = pixels.shape
    lines = b"".join(b"\x00" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", columns, rows, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
