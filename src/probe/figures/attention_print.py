"""An attention picture for print: the same layout by matplotlib, as PNG or PDF.

One pair of axes holds everything, in the layout's own units: twenty heat maps of their own take ten times as long.
"""

from __future__ import annotations

import io
import warnings
from typing import Literal

import numpy as np

from probe.figures.layout import BAR, lay_out
from probe.figures.view import AttentionView

INCH = 0.105
"""Side of a cell in inches."""


def attention_print(view: AttentionView, *, kind: Literal["png", "pdf"] = "png", dpi: int = 150) -> bytes:
    """Draw a sentence under every head, or a minimal pair side by side with the difference of its attention."""
    import seaborn as sns
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    layout = lay_out(view)
    figure = Figure(figsize=(layout.width * INCH, layout.height * INCH))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, layout.width), ylim=(layout.height, 0))
    axes.axis("off")
    weight, signed = sns.color_palette("Blues", as_cmap=True), sns.color_palette("vlag_r", as_cmap=True)
    # words are no mathematics, whatever dollar signs they hold
    text = {"fontsize": 5.2, "family": "DejaVu Sans Mono", "parse_math": False}
    head = {"fontsize": 7, "fontweight": "bold", "parse_math": False}

    def word(x: float, y: float, token: str, changed: bool, **where: object) -> None:
        style = {"color": "#b3303f", "fontweight": "bold"} if changed else {}
        axes.text(x, y, _short(token, 11), **text, **style, **where)  # pyright: ignore[reportArgumentType]

    axes.text(0.8, 1.7, _short(f"Attention: {layout.title}", 200), **head)
    for caption in layout.captions:
        axes.text(caption.x, caption.y, _short(caption.text, 200), **text)
    for one in layout.maps:
        n = len(one.values)
        shown = np.ma.masked_where(np.triu(np.ones((n, n), dtype=bool), 1), one.values)
        axes.imshow(
            shown,
            extent=(one.x, one.x + n, one.y + n, one.y),
            cmap=signed if one.signed else weight,
            vmin=-1 if one.signed else 0,
            vmax=1,
            interpolation="nearest",
            aspect="auto",
        )
        axes.add_patch(Rectangle((one.x, one.y), n, n, fill=False, linewidth=0.4, edgecolor="#8c959f"))
        row = one.sentence.query
        axes.add_patch(Rectangle((one.x, one.y + row), row + 1, 1, fill=False, linewidth=0.6, edgecolor="#9a6700"))
        axes.text(one.x, one.y - 0.4, one.title, fontweight="bold", **text)
        for i, token in enumerate(one.sentence.tokens):
            if one.words_left:
                word(one.x - 0.3, one.y + i + 0.5, token, i in layout.changed, ha="right", va="center")
            if one.words_below:
                where = {"ha": "center", "va": "top", "rotation": 90}
                word(one.x + i + 0.5, one.y + n + 0.3, token, i in layout.changed, **where)
        if one.words_left and one.words_below:
            axes.text(one.x - 0.3, one.y + n + 1.6, "from ↑ to →", ha="right", color="#57606a", **text)
    for bars in layout.bars:
        axes.text(bars.x, bars.y - 0.4, _short(bars.title, 60), fontweight="bold", **text)
        keys = np.arange(bars.sentence.query + 1)
        axes.barh(bars.y + keys + 0.5, BAR, height=0.8, left=bars.x, color="#eff1f3")
        axes.barh(bars.y + keys + 0.5, BAR * bars.values[keys], height=0.8, left=bars.x, color="#0969da")
        for key in keys:
            label = f"{bars.values[key]:.2f} {bars.sentence.tokens[key]}"
            axes.text(bars.x + BAR + 0.4, bars.y + key + 0.5, _short(label, 16), va="center", **text)
    ramp = np.linspace(0, 1, 64)[None]
    bottom = layout.height - 1.8
    axes.imshow(ramp, extent=(2, 17, bottom + 0.9, bottom), cmap=weight, vmin=0, vmax=1, aspect="auto")
    axes.text(1.6, bottom + 0.5, "0", ha="right", va="center", **text)
    axes.text(17.4, bottom + 0.5, "1  share of attention (difference: blue more, red less)", va="center", **text)
    axes.set(xlim=(0, layout.width), ylim=(layout.height, 0))
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # a box stands for it; the SVG has it
        figure.savefig(
            stream, dpi=dpi, format=kind, metadata={"Software": None} if kind == "png" else {"CreationDate": None}
        )
    return stream.getvalue()


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
