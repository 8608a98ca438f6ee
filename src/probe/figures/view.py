"""What an attention picture shows, as arrays: the one form that terminal, SVG, PNG and JSON are drawn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from probe.result import AnalysisResult


@dataclass(frozen=True, kw_only=True)
class SentenceView:
    """One sentence under all heads."""

    tokens: tuple[str, ...]
    weights: Float[np.ndarray, "layer head query key"]
    """Share of attention; 0 above the diagonal. Only the layers and heads that the view shows."""
    block_means: Float[np.ndarray, "layer query key"]
    """Mean over all heads of each layer shown."""
    query: int
    """The position whose row is read out, and whose next word is predicted."""
    predictions: tuple[tuple[str, float], ...]
    """The most probable next words with their probabilities."""
    candidates: tuple[tuple[str, float], ...]
    """The two words in question with their logits; empty where the sentence is none of the task's."""
    answer: str | None
    """The right one of the two."""


@dataclass(frozen=True, kw_only=True)
class AttentionView:
    """One sentence, or a pair to compare."""

    title: str
    sentences: tuple[SentenceView, ...]
    layers: tuple[int, ...]
    """The layers shown, as the model numbers them."""
    heads: tuple[int, ...]
    """The heads of these layers shown beside the block's mean; none for the means alone."""

    @property
    def changed(self) -> tuple[int, ...]:
        """Positions at which the two sentences of a pair have different words; empty where lengths differ."""
        if len(self.sentences) != 2 or len(self.sentences[0].tokens) != len(self.sentences[1].tokens):
            return ()
        pairs = zip(self.sentences[0].tokens, self.sentences[1].tokens, strict=True)
        return tuple(i for i, (a, b) in enumerate(pairs) if a != b)

    def _repr_svg_(self) -> str:
        """How a notebook shows it: the picture of `attention_svg`."""
        from probe.figures.attention_svg import attention_svg  # it draws views, so it imports this file

        return attention_svg(self, "paper")


def attention_view(
    title: str,
    attention: AnalysisResult,
    prediction: AnalysisResult,
    queries: Sequence[int],
    candidates: Sequence[Sequence[str]],
    answers: Sequence[str | None],
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
) -> AttentionView:
    """Collect two results into arrays. `queries`, `candidates` and `answers` have an entry for each sentence.

    `layers` and `heads` choose what is shown; None is all of them.
    """
    n_layers, n_heads = attention.details["n_layers"], attention.details["n_heads"]
    layers = tuple(range(n_layers)) if layers is None else tuple(layers)
    heads = tuple(range(n_heads)) if heads is None else tuple(heads)
    table = attention.table[attention.table["metric"] == "weight"]
    views = []
    for number, tokens in enumerate(attention.details["sentences"]):
        rows = table[table["sentence"] == number]
        weights = np.zeros((n_layers, n_heads, len(tokens), len(tokens)), dtype=np.float32)
        weights[rows["layer"], rows["head"], rows["query"], rows["key"]] = rows["value"]
        said = prediction.table.loc[prediction.table["sentence"] == number]
        logits, top = (
            list(zip(part["word"].tolist(), part["value"].tolist(), strict=True))
            for part in (said.loc[said["metric"] == metric] for metric in ("logit", "probability"))
        )
        views.append(
            SentenceView(
                tokens=tuple(tokens),
                weights=weights[list(layers)][:, list(heads)],
                block_means=weights.mean(axis=1)[list(layers)],
                query=queries[number],
                predictions=tuple(top[:5]),
                candidates=tuple((word, dict(logits)[word]) for word in candidates[number]),
                answer=answers[number],
            )
        )
    return AttentionView(title=title, sentences=tuple(views), layers=layers, heads=heads)
