"""Attention in a terminal: maps in half-blocks where there is colour, the strongest links as a table otherwise.

Two rows of a map share a line: `▀` with the upper cell as foreground and the lower as background, so that eight maps of
18 x 18 fit 80 columns and 22 lines. Positions stand beside words, because words repeat.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text

from probe.figures.layout import map_names
from probe.figures.view import AttentionView, SentenceView

EIGHTHS = " ▏▎▍▌▋▊▉█"
_DARK, _BRIGHT, _RED = (22, 27, 34), (88, 166, 255), (255, 123, 114)
_HIDDEN = (8, 10, 13)


def print_attention(console: Console, view: AttentionView, *, ascii_only: bool = False) -> None:
    """Print a view: what the model says, the maps, and what the read-out row of each head rests on."""
    longest = max(len(sentence.tokens) for sentence in view.sentences)
    drawn = console.color_system is not None and not ascii_only and longest <= min(64, console.width)
    for number, sentence in enumerate(view.sentences):
        if number:
            console.print()
        _print_sentence(console, sentence, view, drawn)
        if drawn:
            maps = [
                (name, values)
                for index, layer in enumerate(view.layers)
                for name, values in zip(map_names(view, layer)[1:], sentence.weights[index], strict=True)
            ]
            _print_maps(console, maps)
        _print_readout(console, sentence, view, ascii_only)
    if drawn:
        console.print()
        for index, layer in enumerate(view.layers):
            means = [sentence.block_means[index] for sentence in view.sentences]
            name = map_names(view, layer)[0]
            named = [(f"{name}: {_word_of(view, n)}" if view.changed else name, mean) for n, mean in enumerate(means)]
            if view.changed:
                named.append(("difference", means[1] - means[0]))
            _print_maps(console, named)
    elif not ascii_only:
        console.print(Text("(maps are drawn on a colour terminal wide enough for them, and in the files below)", "dim"))


def _word_of(view: AttentionView, number: int) -> str:
    return view.sentences[number].tokens[view.changed[0]]


def _print_sentence(console: Console, sentence: SentenceView, view: AttentionView, drawn: bool) -> None:
    """The sentence, shaded by the last block's mean attention, and the prediction."""
    line = Text()
    row = sentence.block_means[-1, sentence.query]
    for i, token in enumerate(sentence.tokens):
        style = Style(bold=i in view.changed, underline=i == sentence.query)
        if drawn and row[i] >= 0.05:
            style += Style(color=Color.from_rgb(255, 255, 255), bgcolor=_shade(float(row[i]), False))
        line.append(token, style).append(" ")
    console.print(line)
    said = "  ".join(f"{word} {share:.1%}" for word, share in sentence.predictions[:3] if share >= 0.001)
    word = (sentence.tokens[sentence.query], "underline")
    line = Text.assemble(f"says after position {sentence.query} (", word, f"):  {said}")
    if sentence.answer is not None:
        right = sentence.predictions[0][0] == sentence.answer
        line.append("   right" if right else f"   wrong, it is {sentence.answer}", "green" if right else "red")
    console.print(line)
    if sentence.candidates:
        console.print(Text("logits:  " + "  ".join(f"{word} {logit:.2f}" for word, logit in sentence.candidates)))


def _print_maps(console: Console, maps: list[tuple[str, Float[np.ndarray, "query key"]]]) -> None:
    """Maps in a row, as many as fit, then the next row."""
    width = max((max(len(values), len(name)) for name, values in maps), default=0) + 2
    each = max(1, (console.width + 2) // width)
    for first in range(0, len(maps), each):
        part = maps[first : first + each]
        console.print(Text("".join(name.ljust(width) for name, _ in part).rstrip(), "bold"))
        for line in range(0, len(part[0][1]), 2):
            text = Text()
            for name, values in part:
                _append_line(text, values, line, signed=name == "difference")
                text.append(" " * (width - len(values)))
            text.rstrip()
            console.print(text)


def _append_line(text: Text, values: Float[np.ndarray, "query key"], line: int, signed: bool) -> None:
    for key in range(len(values)):
        upper = _cell(values, line, key, signed)
        lower = _cell(values, line + 1, key, signed) if line + 1 < len(values) else None
        text.append("▀", Style(color=upper, bgcolor=lower))


def _cell(values: Float[np.ndarray, "query key"], query: int, key: int, signed: bool) -> Color:
    return Color.from_rgb(*_HIDDEN) if key > query else _shade(float(values[query, key]), signed)


def _shade(value: float, signed: bool) -> Color:
    """Dark at 0, bright blue at 1; red for what a difference takes away."""
    end = _RED if signed and value < 0 else _BRIGHT
    share = min(1.0, abs(value)) ** 0.7  # a power below 1 keeps small weights visible on a dark ground
    return Color.from_rgb(*(a + (b - a) * share for a, b in zip(_DARK, end, strict=True)))


def _print_readout(console: Console, sentence: SentenceView, view: AttentionView, ascii_only: bool) -> None:
    """The read-out row: each block's mean, then each head's three strongest sources; by position, words repeat."""
    for index, layer in enumerate(view.layers):
        row = sentence.block_means[index, sentence.query]
        shown = [f"{sentence.tokens[i]}@{i}:{row[i]:.2f}" for i in range(sentence.query + 1) if row[i] >= 0.005]
        console.print(Text(f"block {layer + 1}  ", "bold").append(" ".join(shown), "not bold"), highlight=False)
        for name, weights in zip(map_names(view, layer)[1:], sentence.weights[index], strict=True):
            line = Text(f"  {name}  ")
            for key in np.argsort(-weights[sentence.query], kind="stable")[:3]:
                weight = float(weights[sentence.query, key])
                if weight >= 0.02:
                    line.append(f"{sentence.tokens[key]}@{key} ".rjust(13))
                    line.append(_bar(weight, ascii_only), "blue").append(f" {weight:.2f} ")
            line.rstrip()
            console.print(line, highlight=False)


def _bar(weight: float, ascii_only: bool, width: int = 5) -> str:
    """A bar of eighths.

    >>> _bar(0.5, False)
    '██▌  '
    """
    if ascii_only:
        return ("#" * round(weight * width)).ljust(width)
    eighths = round(weight * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (EIGHTHS[rest] if rest else "")).ljust(width)
