"""Attention in a report: sentences under their maps, the answer's row in numbers, and the values behind both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from probe.figures.attention_map import AttentionMap, attention_map_svg
from probe.figures.view import AttentionView, SentenceView
from probe.report.document import Figure, Maps, Panel, Sentences, Table
from probe.report.sentences import as_the_chapter, looks_said, moved, percent


def token_lines(view: AttentionView) -> Sentences:
    """The sentences, each with what the model says after it."""
    return Sentences(
        tokens=tuple(sentence.tokens for sentence in view.sentences),
        changed=view.changed,
        after=tuple(_said(sentence) for sentence in view.sentences),
    )


def maps_of_view(view: AttentionView) -> Maps:
    """The numbers behind the maps, for hover."""
    values: dict[str, np.ndarray] = {}
    sentences: dict[str, int] = {}
    for number, sentence in enumerate(view.sentences):
        for key, of_key in keyed(view, sentence.block_means, sentence.weights).items():
            values[f"s{number}.{key}"] = of_key
            sentences[f"s{number}.{key}"] = number
    return Maps(tokens=tuple(sentence.tokens for sentence in view.sentences), values=values, sentence=sentences)


def map_panel(
    sentence: SentenceView,
    values: Float[np.ndarray, "query key"],
    title: str,
    key: str,
    *,
    words: bool,
    changed: Sequence[int] = (),
    signed: bool = False,
) -> str:
    """One map, keyed for a page."""
    return attention_map_svg(
        AttentionMap(
            title=title,
            tokens=sentence.tokens,
            values=values,
            key=key,
            query=sentence.query,
            changed=tuple(changed),
            signed=signed,
            words=words,
        )
    )


def keyed(view: AttentionView, means: np.ndarray, weights: np.ndarray) -> dict[str, np.ndarray]:
    """The maps of one sentence by the name that a page knows them by: `L0.mean`, `L0H1`."""
    found = {f"L{layer}.mean": means[i] for i, layer in enumerate(view.layers)}
    heads = [(i, layer, j, head) for i, layer in enumerate(view.layers) for j, head in enumerate(view.heads)]
    return found | {f"L{layer}H{head}": weights[i, j] for i, layer, j, head in heads}


def _said(sentence: SentenceView) -> str:
    said = ", ".join(f"{word} {percent(share)}" for word, share in sentence.predictions[:2] if share >= 0.005)
    right = ""
    if sentence.answer is not None:
        right = " (right)" if sentence.predictions[0][0] == sentence.answer else f" (wrong: it is {sentence.answer})"
    return f"→ {said}{right}"


def maps_figure(view: AttentionView, *, means: bool) -> Figure:
    """The maps of the block means, or of all heads; of a pair side by side, with the difference."""
    panels: list[Panel] = []
    pair = bool(view.changed)
    names = [
        sentence.tokens[view.changed[0]] if pair else f"sentence {n + 1}" for n, sentence in enumerate(view.sentences)
    ]
    if len(view.sentences) == 1:
        names = [""]
    for i, layer in enumerate(view.layers):
        columns = (
            [("mean", f"mean of block {layer + 1}", f"L{layer}.mean", None)]
            if means
            else [(f"L{layer}H{head}", f"L{layer}H{head}", f"L{layer}H{head}", j) for j, head in enumerate(view.heads)]
        )
        for _, group, key, head in columns:
            values = [s.block_means[i] if head is None else s.weights[i, head] for s in view.sentences]
            for number, (sentence, of_sentence) in enumerate(zip(view.sentences, values, strict=True)):
                title = f"{group}: {names[number]}" if names[number] else group
                panels.append(
                    Panel(
                        svg=map_panel(
                            sentence, of_sentence, title, f"s{number}.{key}", words=means, changed=view.changed
                        ),
                        group=group,
                    )
                )
            if pair:
                panels.append(
                    Panel(
                        svg=map_panel(
                            view.sentences[0],
                            values[1] - values[0],
                            f"{group}: difference",
                            f"d.{key}",
                            words=means,
                            changed=view.changed,
                            signed=True,
                        ),
                        group=group,
                    )
                )
    first = view.sentences[0]
    said = [
        looks_said(f"block {layer + 1}", first.tokens, first.block_means[i, first.query, : first.query + 1].tolist())
        for i, layer in enumerate(view.layers)
    ]
    if pair:
        second = view.sentences[-1]
        words = (names[0], names[1])
        change = second.block_means[:, first.query] - first.block_means[:, first.query]
        turned = [
            moved(f"block {layer + 1}", first.tokens, change[i].tolist(), words) for i, layer in enumerate(view.layers)
        ]
    else:
        turned = []
    floor = f"uniform attention: {1 / (first.query + 1):.3f} on each of the {first.query + 1} words"
    names = "is the one read out" if first.answer is None else "names the answer"
    scale = "One scale, 0 to 1, on every map" + ("; difference: blue more, orange less." if pair else ".")
    if means:
        turns = "; ".join(turned)
        says = f"At {_place(first)}, {'; '.join(said)}. " + (f"{turns[:1].upper()}{turns[1:]}." if turns else "")
        title = "The mean of each block's heads"
    else:
        says = _spread(view)
        title = "Every head"
    return Figure(
        name="means" if means else "all-heads",
        title=title,
        says=says.strip(),
        panels=tuple(panels),
        note=f"From (query) downwards, to (key) across; the framed row {names}. {scale} Floor in that row, {floor}.",
        role="maps",
    )


def _place(sentence: SentenceView) -> str:
    """Where the row that is read out stands."""
    asked = f"position {sentence.query} ({sentence.tokens[sentence.query]})"
    return asked if sentence.answer is None else "the answer's place"


def _spread(view: AttentionView) -> str:
    """How alike the heads of a block are in the answer's row."""
    sentence = view.sentences[0]
    said = []
    for i, layer in enumerate(view.layers):
        tops = [int(row.argmax()) for row in sentence.weights[i, :, sentence.query]]
        common = max(set(tops), key=tops.count)
        count = tops.count(common)
        said.append(f"{count} of {len(tops)} heads of block {layer + 1} look most at {sentence.tokens[common]}")
    return f"At {_place(sentence)} {', '.join(said)}."


def row_table(view: AttentionView) -> Table:
    """The answer's row of every block and head in words, as the chapter prints it."""
    rows = []
    for sentence in view.sentences:
        end = sentence.tokens[view.changed[0]] if view.changed else " ".join(sentence.tokens[-3:])
        for i, layer in enumerate(view.layers):
            rows.append(
                (
                    end,
                    f"block {layer + 1}, mean",
                    as_the_chapter(sentence.tokens, sentence.block_means[i, sentence.query]),
                )
            )
            for j, head in enumerate(view.heads):
                rows.append(
                    (end, f"L{layer}H{head}", as_the_chapter(sentence.tokens, sentence.weights[i, j, sentence.query]))
                )
    return Table(
        name="answer-row",
        title="The answer's row in numbers" if view.sentences[0].answer is not None else "The row in numbers",
        says=f"Shares of attention of 0.05 and more, from {_place(view.sentences[0])}.",
        columns=("sentence", "who", "looks at"),
        rows=tuple(rows),
        folded=len(rows) > 24,
    )
