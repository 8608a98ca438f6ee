"""Pairs of sentences that differ in one thing: what a causal claim about a model is made on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from probe.activations import Site, sweep
from probe.intervals import cluster_interval
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

    @property
    def changed(self) -> tuple[int, ...]:
        """The positions at which the two prompts of any pair differ."""
        return tuple((self.clean != self.other).any(0).nonzero().flatten().tolist())

    @property
    def both_ways(self) -> bool:
        """Whether every pair stands in both directions: then denoising gains what noising loses, by definition."""
        pairs = {(tuple(a), tuple(b)) for a, b in zip(self.clean.tolist(), self.other.tolist(), strict=True)}
        return pairs == {(b, a) for a, b in pairs}


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


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The distance between two runs on which an effect is a share (Zhang & Nanda 2024, section 2.2).

    The share is taken per pair and then averaged; the ratio of the means is another number, named apart.

    >>> contrast = Contrast(name="", clean=torch.zeros(2, 1).int(), other=torch.zeros(2, 1).int(), groups=["a", "b"],
    ...     answer=torch.tensor([0, 0]), other_answer=torch.tensor([1, 1]), roles={})
    >>> scale = Scale(contrast=contrast, clean=torch.tensor([3.0, 1.0]), other=torch.tensor([-1.0, -1.0]))
    >>> logits = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> scale.lost(logits).tolist(), scale.gained(logits).tolist()
    ([0.5, 1.0], [0.5, 0.0])
    """

    contrast: Contrast
    clean: Float[Tensor, " pair"]
    """Logit difference of the clean run."""
    other: Float[Tensor, " pair"]

    @classmethod
    def of(
        cls, contrast: Contrast, clean: Float[Tensor, "pair d_vocab"], other: Float[Tensor, "pair d_vocab"]
    ) -> Scale:
        """From both runs' next-word logits."""
        return cls(contrast=contrast, clean=difference(clean, contrast), other=difference(other, contrast))

    def lost(self, logits: Float[Tensor, "... pair d_vocab"]) -> Float[Tensor, "... pair"]:
        """Noising: what the clean run loses. 0: nothing; 1: the answer is that of the other sentence."""
        return (self.clean - difference(logits, self.contrast)) / (self.clean - self.other)

    def gained(self, logits: Float[Tensor, "... pair d_vocab"]) -> Float[Tensor, "... pair"]:
        """Denoising: what the other run gains. 0: nothing; 1: the answer is that of the clean sentence."""
        return (difference(logits, self.contrast) - self.other) / (self.clean - self.other)

    def summary(self, shares: Float[Tensor, " pair"]) -> dict[str, float]:
        """Mean over pairs, its interval over groups, and the ratio of the means."""
        low, high = cluster_interval(shares.tolist(), self.contrast.groups)
        distance = self.clean - self.other
        ratio = float((shares * distance).mean() / distance.mean())
        return {"value": float(shares.mean()), "low": low, "high": high, "ratio_of_means": ratio}


@torch.no_grad()
def answered(model: Transformer, contrast: Contrast) -> Contrast:
    """The pairs answered right in both sentences: a circuit of what a model gets wrong means nothing."""
    clean, other = (model.next_word_logits(tokens) for tokens in (contrast.clean, contrast.other))
    right = (difference(clean, contrast) > 0) & (difference(other, contrast) < 0)
    return only(contrast, right.nonzero().flatten().tolist())


def patched(
    model: Transformer,
    scale: Scale,
    sites: Sequence[Site],
    from_clean: Mapping[str, Tensor],
    from_other: Mapping[str, Tensor],
) -> dict[str, Float[Tensor, "site pair"]]:
    """Shares lost (`noising`) and, where that is another number, gained (`denoising`) when sites see the other run."""
    contrast = scale.contrast
    effects = {"noising": scale.lost(sweep(model, contrast.clean, sites, from_other))}
    if not contrast.both_ways:
        effects["denoising"] = scale.gained(sweep(model, contrast.other, sites, from_clean))
    return effects
