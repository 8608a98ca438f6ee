"""A drawing for print, by matplotlib: PNG and PDF, as a page's SVG shows it.

Fonts are embedded as TrueType, nothing global is changed, and the same drawing gives the same bytes.
"""

from __future__ import annotations

import io
import unicodedata
import warnings
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from probe.figures.drawing import DASH, MARGIN, Cells, Dot, Drawing, Ink, Label, Number, Shape, written
from probe.figures.svg import Style, palette_of, scale_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PX = 1 / 96
"""A px in inches; a point is 1/72."""
FALLBACKS = ("Noto Sans Mono CJK SC", "Noto Sans Hebrew", "Noto Sans Arabic", "Noto Emoji")
"""For letters that DejaVu lacks, where they are installed."""


def to_print(
    drawing: Drawing,
    kind: Literal["png", "pdf"] = "png",
    style: Style = "paper",
    metadata: Mapping[str, str] | None = None,
    dpi: int = 200,
) -> bytes:
    """Print a drawing.

    Args:
        drawing: what to print.
        kind: pixels, or vectors with their fonts.
        style: colours and size.
        metadata: `Title` and `Subject` or `Description`, kept in the file.
        dpi: dots an inch, of pixels.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    inks, scale = palette_of(style), scale_of(style)
    width, height = drawing.width + 2 * MARGIN, drawing.height + 2 * MARGIN
    kept = dict(metadata or {}) | ({"Software": None} if kind == "png" else {"CreationDate": None})
    stream = io.BytesIO()
    # warnings: a box stands for a letter that no font has; the SVG has it
    with matplotlib.rc_context({"pdf.fonttype": 42, "pdf.compression": 6}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(figsize=(width * PX * scale, height * PX * scale), facecolor=inks["paper"])
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.axis("off")
        for order, mark in enumerate(drawing.marks, start=1):
            if isinstance(mark, Label):
                _print_label(axes, mark, inks, scale, order)
            elif isinstance(mark, Cells):
                _print_cells(axes, mark, inks, scale, order)
            else:
                _print_outline(axes, mark, inks, scale, order)
        axes.set(xlim=(-MARGIN, width - MARGIN), ylim=(height - MARGIN, -MARGIN))
        figure.savefig(stream, dpi=dpi, format=kind, facecolor=inks["paper"], metadata=kept)
    return stream.getvalue()


def _print_label(axes: Axes, label: Label, inks: Mapping[Ink, str], scale: Number, order: int) -> None:
    from matplotlib import patheffects

    size = label.size * 72 * PX * scale
    text = axes.text(
        label.x,
        label.y,
        _left_to_right(label.text),
        fontsize=size,
        color=inks[label.ink],
        ha={"start": "left", "middle": "center", "end": "right"}[label.anchor],
        va="baseline",
        rotation=-label.angle,
        rotation_mode="anchor",
        fontweight="bold" if label.bold else "normal",
        family=_families(label.prose),
        parse_math=False,  # words are no mathematics, whatever dollar signs they hold
        zorder=order,
    )
    if label.halo:
        text.set_path_effects([patheffects.withStroke(linewidth=2.2 * scale, foreground=inks["paper"])])


def _print_cells(axes: Axes, cells: Cells, inks: Mapping[Ink, str], scale: Number, order: int) -> None:
    from matplotlib.colors import to_rgb

    rows, columns = cells.values.shape
    strengths = cells.strengths()
    right, bottom = cells.x + columns * cells.cell[0], cells.y + rows * cells.cell[1]
    paper, line, more, less = (np.array(to_rgb(inks[ink])) for ink in ("paper", "line", "more", "less"))
    weights = np.abs(np.nan_to_num(strengths))[..., None]
    blank = np.isnan(strengths)[..., None] & (not cells.gaps)
    ground = np.where(blank, paper, 0.87 * paper + 0.13 * line)
    pixels = weights * np.where(np.nan_to_num(strengths)[..., None] < 0, less, more) + (1 - weights) * ground
    extent = (cells.x, right, bottom, cells.y)
    axes.imshow(pixels, extent=extent, interpolation="nearest", aspect="auto", zorder=order)
    width, height = cells.cell
    for row, column in zip(*np.nonzero(np.isnan(strengths) & cells.gaps), strict=True):
        x, y = cells.x + (column + 0.5) * width, cells.y + (row + 0.5) * height
        axes.plot((x - DASH / 2, x + DASH / 2), (y, y), color=inks["line"], linewidth=72 * PX * scale, zorder=order)
    if cells.numbers:
        for (row, column), value in np.ndenumerate(cells.values):
            if not np.isnan(value):
                x, y = cells.x + (column + 0.5) * width, cells.y + (row + 0.5) * height + 3.5
                ink, said = written(float(value), float(strengths[row, column]), cells.diverging)
                _print_label(axes, Label(x=x, y=y, text=said, size=10, ink=ink, anchor="middle"), inks, scale, order)


def _print_outline(axes: Axes, mark: Shape | Dot, inks: Mapping[Ink, str], scale: Number, order: int) -> None:
    from matplotlib.patches import Circle, PathPatch
    from matplotlib.path import Path

    look: dict[str, Any] = {
        "facecolor": inks[mark.fill] if mark.fill else "none",
        "edgecolor": inks[mark.stroke] if mark.stroke else "none",
        "linewidth": mark.width * 72 * PX * scale if mark.stroke else 0,
        "alpha": mark.opacity,
        "zorder": order,
    }
    if isinstance(mark, Dot):
        axes.add_patch(Circle((mark.x, mark.y), mark.radius, **look))
        return
    points, step = list(mark.points), Path.CURVE4 if mark.curved else Path.LINETO
    codes = [Path.MOVETO, *[step] * (len(points) - 1)]
    if mark.closed:
        points.append(points[0])
        codes.append(Path.CLOSEPOLY)
    # matplotlib measures dashes by the width of the line, an SVG in px
    style = (0, (4 / max(1.0, mark.width), 3 / max(1.0, mark.width))) if mark.dashed else "-"
    axes.add_patch(PathPatch(Path(points, codes), linestyle=style, capstyle="butt", joinstyle="round", **look))


@cache
def _families(prose: bool) -> list[str]:
    """Fonts to look for a letter in, one after another."""
    from matplotlib.font_manager import get_font_names

    installed = set(get_font_names())
    first = ["DejaVu Sans"] if prose else ["DejaVu Sans Mono", "DejaVu Sans"]
    return first + [name for name in FALLBACKS if name in installed]


def _left_to_right(text: str) -> str:
    """Words of scripts that run from right to left, turned around: matplotlib sets letters in the order given."""
    strong = {unicodedata.bidirectional(letter) for letter in text} & {"L", "R", "AL"}
    return text[::-1] if strong and "L" not in strong else text
