"""An attention picture as SVG. Hand-made, because pages must open from disk with no network.

The string stands on its own: no page CSS, no script, no web font; every word is escaped. Cells are keyed by position,
never by word; one hue, opacity = weight, 0 to 1 on every map.
"""

from __future__ import annotations

from html import escape

import numpy as np

from probe.figures.layout import BAR, Bars, Layout, Map, lay_out
from probe.figures.view import AttentionView

CELL = 10
"""Side of a cell in px."""
SMALLEST = 0.005
"""Weights below this are not drawn."""
FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"

_STYLE = f"""<style>
text{{font:9px {FONT};fill:#24292f}} .t{{font-size:11px;font-weight:700}} .h{{font-weight:700}} .s{{fill:#57606a}}
.m{{fill:#b3303f;font-weight:700}} .e{{text-anchor:end}} .f{{fill:none;stroke:#8c959f;stroke-width:.6}}
.r{{fill:none;stroke:#9a6700}} .p{{fill:#fff}} .w{{fill:#0969da}} .d{{fill:#d1495b}} .g{{fill:#8c959f;fill-opacity:.13}}
@media (prefers-color-scheme:dark){{text{{fill:#e6edf3}} .s{{fill:#9198a1}} .m{{fill:#ff8a98}} .p{{fill:#0d1117}}
.w{{fill:#58a6ff}} .d{{fill:#ff7b72}} .f{{stroke:#6e7681}} .r{{stroke:#d29922}}}}
</style>"""


def attention_svg(view: AttentionView) -> str:
    """Draw a sentence under every head, or a minimal pair side by side with the difference of its attention."""
    layout = lay_out(view)
    width, height = layout.width * CELL, layout.height * CELL
    title = escape(f"Attention: {layout.title}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img"><title>{title}</title>{_STYLE}'
        f'<rect class="p" width="100%" height="100%"/><text class="t" x="8" y="17">{title}</text>'
    ]
    parts += [f'<text x="{c.x * CELL:.0f}" y="{c.y * CELL:.0f}">{escape(c.text)}</text>' for c in layout.captions]
    parts += [_map(one, layout.changed) for one in layout.maps]
    parts += [_bars(one, layout.changed) for one in layout.bars]
    parts.append(_legend(layout, any(one.signed for one in layout.maps)))
    return "".join(parts) + "</svg>\n"


def _map(one: Map, changed: tuple[int, ...]) -> str:
    n, tokens = len(one.values), one.sentence.tokens
    stairs = "".join(f"M0 {q * CELL}h{(q + 1) * CELL}v{CELL}h-{(q + 1) * CELL}z" for q in range(n))
    parts = [
        f'<g transform="translate({one.x * CELL:.0f} {one.y * CELL:.0f})">'
        f'<text class="h" y="-4">{escape(one.title)}</text><path class="g" d="{stairs}"/>'
    ]
    for query, key in zip(*np.nonzero(np.abs(one.values) >= SMALLEST), strict=True):
        value = float(one.values[query, key])
        number = f"{value:+.2f}" if one.signed else f"{value:.2f}"
        words = escape(f"{tokens[query]} ({query}) → {tokens[key]} ({key}) {number}")
        parts.append(
            f'<rect class="{"d" if value < 0 else "w"}" x="{key * CELL}" y="{query * CELL}" width="{CELL}" '
            f'height="{CELL}" fill-opacity="{min(1.0, abs(value)):.2f}"><title>{words}</title></rect>'
        )
    row = one.sentence.query
    parts.append(f'<rect class="f" width="{n * CELL}" height="{n * CELL}"/>')
    parts.append(f'<rect class="r" y="{row * CELL}" width="{(row + 1) * CELL}" height="{CELL}"/>')
    for i, token in enumerate(tokens):
        mark = "m e" if i in changed else "e"
        if one.words_left:
            parts.append(f'<text class="{mark}" x="-3" y="{(i + 0.8) * CELL:.0f}">{_short(token)}</text>')
        if one.words_below:
            place = f"translate({(i + 0.8) * CELL:.0f} {n * CELL + 4}) rotate(-90)"
            parts.append(f'<text class="{mark}" transform="{place}">{_short(token)}</text>')
    if one.words_left and one.words_below:
        parts.append(f'<text class="s e" x="-3" y="{(n + 1.6) * CELL:.0f}">from ↑ to →</text>')
    return "".join(parts) + "</g>"


def _bars(one: Bars, changed: tuple[int, ...]) -> str:
    place = f"translate({one.x * CELL:.0f} {one.y * CELL:.0f})"
    parts = [f'<g transform="{place}"><text class="h" y="-4">{escape(one.title)}</text>']
    for key in range(one.sentence.query + 1):
        weight, top = float(one.values[key]), key * CELL + 1
        mark = ' class="m"' if key in changed else ""
        words = f"{weight:.2f} {_short(one.sentence.tokens[key])}"
        parts.append(
            f'<rect class="g" y="{top}" width="{BAR * CELL}" height="{CELL - 2}"/>'
            f'<rect class="w" y="{top}" width="{BAR * CELL * weight:.1f}" height="{CELL - 2}"/>'
            f'<text{mark} x="{BAR * CELL + 4}" y="{(key + 0.8) * CELL:.0f}">{words}</text>'
        )
    return "".join(parts) + "</g>"


def _legend(layout: Layout, signed: bool) -> str:
    y = (layout.height - 1.8) * CELL
    steps = "".join(
        f'<rect class="w" x="{20 + 14 * i}" y="{y:.0f}" width="14" height="9" fill-opacity="{i / 10}"/>'
        for i in range(11)
    )
    more = "; difference: blue more, red less" if signed else ""
    return (
        f'<text class="s" x="8" y="{y + 8:.0f}">0</text>{steps}'
        f'<rect class="f" x="20" y="{y:.0f}" width="154" height="9"/>'
        f'<text class="s" x="180" y="{y + 8:.0f}">1 share of attention, same scale on every map{more}</text>'
    )


def _short(token: str) -> str:
    return escape(token if len(token) <= 11 else token[:10] + "…")
