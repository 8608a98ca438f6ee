"""An attention picture for print: the same drawing, as PNG or PDF."""

from __future__ import annotations

from typing import Literal

from probe.figures.attention_svg import draw_attention
from probe.figures.press import to_print
from probe.figures.svg import Style
from probe.figures.view import AttentionView


def attention_print(
    view: AttentionView, *, kind: Literal["png", "pdf"] = "png", style: Style = "paper", dpi: int = 150
) -> bytes:
    """Draw a sentence under every head, or a minimal pair side by side with the difference of its attention."""
    return to_print(draw_attention(view), kind, style, dpi=dpi)
