"""A whole figure: one or more parts under a title, a caption under them, and where the numbers come from.

    Figure(parts=(HeatMap, …))  →  draw  →  Drawing  →  figure_svg | figure_print

A part alone, without caption and source, is what a page sets into its own text: `part_svg`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from probe.figures.attention_svg import draw_attention
from probe.figures.bars import Bars, draw_bars
from probe.figures.circuit import Circuit, draw_circuit
from probe.figures.drawing import Drawing, in_grid, moved, paragraph, short
from probe.figures.heatmap import HeatMap, draw_heatmap
from probe.figures.lines import Lines, draw_lines
from probe.figures.press import to_print
from probe.figures.svg import Style, to_svg
from probe.figures.view import AttentionView

Part = HeatMap | Lines | Bars | Circuit | AttentionView

WIDEST = 1250.0
"""Parts stand side by side as far as they fit into so many px."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """What one picture shows."""

    name: str
    """As the command line calls it."""
    title: str
    caption: str
    """What is seen, and what it is measured against; sentences."""
    parts: tuple[Part, ...]
    run: str = ""
    """The run whose numbers these are."""
    digest: str = ""
    """Of its manifest: what was asked for, in which versions."""

    def _repr_svg_(self) -> str:
        """How a notebook shows it; without the digest, which every commit changes: the cells say what was run."""
        return figure_svg(replace(self, digest=""), "paper")


def draw_part(part: Part) -> Drawing:
    """Lay out one part."""
    if isinstance(part, HeatMap):
        return draw_heatmap(part)
    if isinstance(part, Lines):
        return draw_lines(part)
    if isinstance(part, AttentionView):
        return draw_attention(part)
    return draw_bars(part) if isinstance(part, Bars) else draw_circuit(part)


def draw(figure: Figure) -> Drawing:
    """Lay out a figure: title, parts, caption, source."""
    parts, width, height = in_grid([draw_part(part) for part in figure.parts], WIDEST)
    width = max(width, 420.0)
    marks, y = paragraph(short(figure.title, 200), 0, 0, width, 15, ink="text", bold=True)
    y += 10
    marks += [moved(mark, 0, y) for mark in parts]
    y += height + 8
    for text, size in ((figure.caption, 11.0), (source(figure), 9.0)):
        lines, taken = paragraph(text, 0, y, width, size)
        marks += lines
        y += taken + 3
    return Drawing(title=figure.title, description=figure.caption, width=width, height=y, marks=tuple(marks))


def source(figure: Figure) -> str:
    """Where the numbers come from, in a line."""
    said = [f"run {figure.run}"] * bool(figure.run) + [f"manifest {figure.digest[:16]}"] * bool(figure.digest)
    return " · ".join(said)


def part_svg(part: Part, style: Style = "auto") -> str:
    """One part as SVG, for a page that says the rest in its own text."""
    return to_svg(draw_part(part), style)


def figure_svg(figure: Figure, style: Style = "auto") -> str:
    """A figure as SVG, with its caption in `<desc>` and its source in `<metadata>`."""
    return to_svg(draw(figure), style, _metadata(figure))


def figure_print(figure: Figure, kind: Literal["png", "pdf"] = "png", style: Style = "paper") -> bytes:
    """A figure for print, with its caption and source in the file."""
    about, origin = ("Description", "Source") if kind == "png" else ("Subject", "Keywords")
    said = ", ".join(f"{key} {value}" for key, value in _metadata(figure).items() if value)
    kept = {"Title": figure.title, about: figure.caption, origin: said}
    return to_print(draw(figure), kind, style, kept)


def _metadata(figure: Figure) -> Mapping[str, str]:
    return {"figure": figure.name, "run": figure.run, "manifest_sha256": figure.digest, "made_by": "probe figure"}
