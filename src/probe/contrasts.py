"""Pairs of sentences that differ in one thing: what a causal claim about a model is made on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from probe.metrics import logit_difference
from probe.models.transformer import Transformer

FEWEST = 8
"""Pairs that a model has to answer right, in both of their sentences, before its circuit is asked for."""


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Pairs of prompts of one length, and the answer of each; what makes them differ has a name."""

    name: str
    clean: Int[Tensor, "pair pos"]
    other: Int[Tensor, "pair pos"]
    answer: Int[Tensor, " pair"]
    """Of the clean prompt."""
    other_answer: Int[Tensor, " pair"]
    groups: Sequence[str]
    """What is resampled together for intervals."""
    roles: Mapping[int, str]
    """Position -> what stands there; the last position is where the answer is named."""

    def __len__(self) -> int:
        """Number of pairs."""
        return len(self.groups)


def difference(logits: Float[Tensor, "... pair d_vocab"], contrast: Contrast) -> Float[Tensor, "... pair"]:
    """Logit of the clean answer minus logit of the other one."""
    return logit_difference(logits, contrast.answer, contrast.other_answer)


def only(contrast: Contrast, rows: Sequence[int]) -> Contrast:
    """Some of the pairs."""
    chosen = list(rows)
    return replace(
        contrast,
        clean=contrast.clean[chosen],
        other=contrast.other[chosen],
        answer=contrast.answer[chosen],
        other_answer=contrast.other_answer[chosen],
        groups=tuple(contrast.groups[i] for i in chosen),
    )


@torch.no_grad()
def answered(model: Transformer, contrast: Contrast) -> Contrast:
    """The pairs that a model answers right in both of their sentences: a circuit of what it gets wrong means nothing."""
    clean, other = (model.next_word_logits(tokens) for tokens in (contrast.clean, contrast.other))
    right = (difference(clean, contrast) > 0) & (difference(other, contrast) < 0)
    return only(contrast, right.nonzero().flatten().tolist())
