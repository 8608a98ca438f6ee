"""Attention made by hand: no model, every number known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from probe.figures.view import AttentionView, SentenceView

HOSTILE = (
    "</script>", "<eos>", "<b>", '"', "'quote'", "&amp;", "]]>", "$x$", "$\\q$", "\\frac", "--", "<!--", "{x}",
    "שלום", "مرحبا", "😀", "e\u0301", "日本", "w" * 200, "[red]", "[/]", ":street:", "`x`", "%s",
)  # fmt: skip
"""Words that pages, pictures and terminals have been broken by."""


def uniform(n: int, layers: int, heads: int) -> np.ndarray:
    """Every row looks at all that came before it, alike."""
    row = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    return np.broadcast_to(row, (layers, heads, n, n)).astype(np.float32)


def sentence(tokens: Sequence[str], weights: np.ndarray, query: int = -1) -> SentenceView:
    return SentenceView(
        tokens=tuple(tokens),
        weights=weights,
        block_means=weights.mean(axis=1),
        query=query % len(tokens),
        predictions=((tokens[0], 0.75), (tokens[-1], 0.25)),
        candidates=((tokens[0], 2.0), (tokens[-1], -1.0)),
        answer=tokens[0],
    )


def view_of(*sentences: Sequence[str], layers: int = 2, heads: int = 4, title: str = "") -> AttentionView:
    """A view of sentences under uniform attention."""
    return AttentionView(
        title=title or " ".join(sentences[0]),
        sentences=tuple(sentence(tokens, uniform(len(tokens), layers, heads)) for tokens in sentences),
        layers=tuple(range(layers)),
        heads=tuple(range(heads)),
    )
