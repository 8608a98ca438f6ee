"""Pictures of reproductions: bars beside the chapter's figures, lines over a length or over steps. No torch."""

from __future__ import annotations

import io
from typing import Any

from probe.reproductions.claims import Figure

COLOURS = ("#0969da", "#d1495b", "#57606a", "#9a6700", "#1a7f37", "#8250df")


def draw(figure: Figure, form: str) -> bytes:
    """A picture as bytes of an image file, `form` as matplotlib names it: svg or png."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    bars = any(isinstance(x, str) for points in figure.series.values() for x, _ in points)
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": figure.name, "font.size": 9, "text.parse_math": False}
    with matplotlib.rc_context(settings):
        canvas = Canvas(figsize=(7.2, 4.2), dpi=150)
        FigureCanvasAgg(canvas)
        axes = canvas.add_subplot()
        (_bars if bars else _lines)(axes, figure)
        axes.set_title(figure.title, fontsize=10, loc="left")
        axes.spines[["top", "right"]].set_visible(False)
        canvas.tight_layout()
        out = io.BytesIO()
        canvas.savefig(out, format=form, metadata={"Date": None} if form == "svg" else None)
    return out.getvalue()


def _lines(axes: Any, figure: Figure) -> None:
    for number, (name, points) in enumerate(figure.series.items()):
        xs, ys = [x for x, _ in points], [y for _, y in points]
        axes.plot(xs, ys, color=COLOURS[number % len(COLOURS)], label=name, linewidth=1.4, marker="." * (len(xs) < 20))
    for name, value in (figure.reference or {}).items():
        axes.axhline(value, color="#8c959f", linewidth=0.8, linestyle="--", label=name)
    if figure.log_x:
        axes.set_xscale("log")
        places = sorted({x for points in figure.series.values() for x, _ in points})
        axes.set_xticks(places, [f"{place:,}" for place in places])
        axes.set_xticks([], minor=True)
    if figure.log_y:
        _log(axes.yaxis, axes.set_yscale)
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label)
    _legend(axes)


def _legend(axes: Any) -> None:
    """Below the axes, where it covers nothing."""
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3)


def _log(axis: Any, set_scale: Any) -> None:
    """A logarithmic axis with plain numbers at 1, 2 and 5."""
    from matplotlib.ticker import LogLocator, NullFormatter

    set_scale("log")
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:,g}")
    axis.set_minor_formatter(NullFormatter())


def _bars(axes: Any, figure: Figure) -> None:
    """A bar at the mean over seeds, a dot for each seed, a tick for the chapter's figure.

    On a logarithmic axis, which has no 0 for a bar to begin at, a large dot.
    """
    reference = figure.reference or {}
    labels = list(dict.fromkeys([x for points in figure.series.values() for x, _ in points] + list(reference)))[::-1]
    height = 0.7 / max(1, len(figure.series))
    for number, (name, points) in enumerate(figure.series.items()):
        for place, label in enumerate(labels):
            values = [y for x, y in points if x == label]
            at = place + (len(figure.series) / 2 - number - 0.5) * height
            if values:
                colour = COLOURS[number % len(COLOURS)]
                known = name if label == next(x for x, _ in points) else None
                mean = sum(values) / len(values)
                if figure.log_y:
                    axes.axhline(at, color="#d0d7de", linewidth=0.8, zorder=0)
                    axes.plot([mean], [at], "o", color=colour, markersize=8, alpha=0.85, label=known)
                else:
                    axes.barh(at, mean, height, color=colour, alpha=0.75, label=known)
                if len(values) > 1:
                    axes.plot(values, [at] * len(values), ".", color="black", markersize=3)
    for label, value in reference.items():
        at = labels.index(label)
        axes.plot([value, value], [at - 0.42, at + 0.42], color="black", linewidth=2)
    if reference:
        axes.plot([], [], color="black", linewidth=2, label="the chapter")
    axes.set_yticks(range(len(labels)), labels)
    if figure.log_y:
        _log(axes.xaxis, axes.set_xscale)
    axes.set_xlabel(figure.y_label)
    _legend(axes)
