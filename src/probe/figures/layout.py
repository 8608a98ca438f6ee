"""Where everything stands in an attention picture, in units of one cell; SVG and print draw the same layout.

A sentence alone: a line for each block, the mean of its heads first, then every head, then the read-out row as bars.
A pair: a band for each block, in which each line is one head and the columns are first, second, difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from probe.figures.view import AttentionView, SentenceView

WORDS = 8.0
"""Room for words beside and below maps."""
GAP = 1.6
LETTER = 0.55
"""Width of a letter of a title."""
BAR = 7.0
SIDE = BAR + 8.0
"""A bar with its number and word."""


@dataclass(frozen=True, kw_only=True)
class Map:
    """One head, or a mean of heads, in one sentence; or a difference, which is signed."""

    x: float
    y: float
    title: str
    values: Float[np.ndarray, "query key"]
    signed: bool
    sentence: SentenceView
    words_left: bool
    words_below: bool


@dataclass(frozen=True, kw_only=True)
class Bars:
    """The row that is read out, word by word."""

    x: float
    y: float
    title: str
    values: Float[np.ndarray, " key"]
    sentence: SentenceView


@dataclass(frozen=True, kw_only=True)
class Caption:
    """A line of text."""

    x: float
    y: float
    text: str


@dataclass(kw_only=True)
class Layout:
    """All of a picture."""

    title: str
    changed: tuple[int, ...]
    width: float = 40.0
    height: float = 0.0
    maps: list[Map] = field(default_factory=list)
    bars: list[Bars] = field(default_factory=list)
    captions: list[Caption] = field(default_factory=list)

    def reach(self, x: float, y: float) -> None:
        """Grow until (x, y) lies inside."""
        self.width, self.height = max(self.width, x), max(self.height, y)


def lay_out(view: AttentionView) -> Layout:
    """Place the parts of a sentence, or of a pair."""
    layout = Layout(title=view.title, changed=view.changed)
    y = 3.0
    for sentence in view.sentences:
        layout.captions.append(Caption(x=0.8, y=y, text=_said(sentence)))
        y += 1.4
    if len(view.sentences) == 2 and len(view.sentences[0].tokens) == len(view.sentences[1].tokens):
        _lay_out_pair(layout, view, y + 0.6)
    else:
        for sentence in view.sentences:
            _lay_out_one(layout, view, sentence, y + 0.6)
            y = layout.height + 2
    layout.height += 2.6
    return layout


def map_names(view: AttentionView, layer: int) -> list[str]:
    """Names of the maps of a layer: the block's mean first, then its heads, as `L0H2`."""
    return [f"mean of block {layer + 1}", *(f"L{layer}H{head}" for head in view.heads)]


def _said(sentence: SentenceView) -> str:
    said = ", ".join(f"{word} {share:.0%}" for word, share in sentence.predictions[:3] if share >= 0.005)
    return f"… {' '.join(sentence.tokens[max(0, sentence.query - 3) : sentence.query + 1])} → {said}"


def _short(word: str, longest: int = 14) -> str:
    return word if len(word) <= longest else word[: longest - 1] + "…"


def _stacked(sentence: SentenceView) -> Float[np.ndarray, "layer column query key"]:
    return np.concatenate([sentence.block_means[:, None], sentence.weights], axis=1)


def _pitch(n: int, titles: Sequence[str]) -> float:
    """From one map to the next beside it: its n words, or its title where that is wider."""
    return max(n, LETTER * max(map(len, titles))) + GAP


def _lay_out_one(layout: Layout, view: AttentionView, sentence: SentenceView, y: float) -> None:
    maps, n = _stacked(sentence), len(sentence.tokens)
    columns, pitch = maps.shape[1], _pitch(n, [title for layer in view.layers for title in map_names(view, layer)])
    for index, layer in enumerate(view.layers):
        top = y + 1.4 + index * (n + GAP + 1)
        for column, title in enumerate(map_names(view, layer)):
            layout.maps.append(
                Map(
                    x=WORDS + column * pitch,
                    y=top,
                    title=title,
                    values=maps[index, column],
                    signed=False,
                    sentence=sentence,
                    words_left=column == 0,
                    words_below=index == len(view.layers) - 1,
                )
            )
        x = WORDS + columns * pitch
        title = f"block {layer + 1}, row {sentence.query}"
        layout.bars.append(Bars(x=x, y=top, title=title, values=maps[index, 0, sentence.query], sentence=sentence))
        layout.reach(x + SIDE, top + n + WORDS)


def _lay_out_pair(layout: Layout, view: AttentionView, y: float) -> None:
    first, second = view.sentences
    maps, n = [_stacked(first), _stacked(second)], len(first.tokens)
    columns = [(maps[0], False, first), (maps[1], False, second), (maps[1] - maps[0], True, first)]
    lines = maps[0].shape[1]
    changed = layout.changed[0] if layout.changed else 0
    names = (_short(first.tokens[changed]), _short(second.tokens[changed]), "difference")
    titles = [f"{title}: {name}" for layer in view.layers for title in map_names(view, layer) for name in names[:2]]
    pitch = _pitch(n, titles)
    band = WORDS + 3 * pitch + 1.5
    for index, layer in enumerate(view.layers):
        left = (index % 2) * band
        top = y + 1.4 + (index // 2) * ((lines + 1) * (n + GAP + 0.6) + WORDS)
        for line, title in enumerate(map_names(view, layer)):
            for column, (values, signed, sentence) in enumerate(columns):
                layout.maps.append(
                    Map(
                        x=left + WORDS + column * pitch,
                        y=top + line * (n + GAP + 0.6),
                        title=f"{title}: {names[column]}" if column < 2 else names[2],
                        values=values[index, line],
                        signed=signed,
                        sentence=sentence,
                        words_left=column == 0,
                        words_below=line == lines - 1,
                    )
                )
        bars = top + lines * (n + GAP + 0.6) + WORDS - GAP
        for column, (values, _, sentence) in enumerate(columns[:2]):
            x = left + WORDS + column * (SIDE + 2)
            title = f"block {layer + 1}, row {sentence.query}: {names[column]}"
            layout.bars.append(
                Bars(x=x, y=bars, title=title, values=values[index, 0, sentence.query], sentence=sentence)
            )
        layout.reach(left + band, bars + n + 1)
