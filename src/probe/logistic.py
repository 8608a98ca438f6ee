"""Linear probes as plain mathematics: multinomial logistic regression at many sites at once, and what it costs in bits.

A probe is softmax(x W + b). All sites are fitted together, so that one product of a batch does the work of hundreds of
small fits. Features are centred and divided by one number for each site, their root mean square, which leaves
directions as they are; the sum of the log losses plus `PENALTY` / 2 times the squared weights is then made small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

PENALTY = 1.0
"""Of the squared weights; scikit-learn's 1 / C."""
STEPS = 40
"""After these, accuracies move by a sentence or two."""
HALVINGS = 6
"""Blocks of the online code: 1/64 of the sentences, then up to 1/32, 1/16, … and all of them."""


@dataclass(frozen=True, kw_only=True)
class Probes:
    """One fitted probe a site, on features as they come from the model."""

    weights: Float[Tensor, "site feature label"]
    biases: Float[Tensor, "site label"]

    def log_probabilities(self, features: Float[Tensor, "site n feature"]) -> Float[Tensor, "site n label"]:
        """Natural logarithm of each label's probability."""
        return torch.baddbmm(self.biases[:, None], features, self.weights).log_softmax(-1)

    def right(self, features: Float[Tensor, "site n feature"], labels: Int[Tensor, " n"]) -> Float[Tensor, "site n"]:
        """1 where the most probable label is the right one; a tie of k labels earns 1/k."""
        scores = self.log_probabilities(features)
        best = scores == scores.max(-1, keepdim=True).values
        return best[:, torch.arange(len(labels)), labels] / best.sum(-1)

    def directions(self) -> Float[Tensor, "site feature rank"]:
        """Orthonormal directions that the probe reads: the span of the centred weights, one less than labels.

        Adding the same to all labels changes no probability, so the mean weight is no part of it.
        """
        centred = self.weights - self.weights.mean(-1, keepdim=True)
        left, _, _ = torch.linalg.svd(centred, full_matrices=False)
        return left[..., : self.weights.shape[-1] - 1]


def fitted(
    features: Float[Tensor, "site n feature"],
    labels: Int[Tensor, " n"],
    n_labels: int,
    penalty: float = PENALTY,
    steps: int = STEPS,
) -> Probes:
    """Fit a probe at every site.

    Each step solves the quadratic bound of Böhning 1992 ("Multinomial logistic regression algorithm", section 2): the
    curvature of the loss is at most ½ XᵀX for every label, so one inverse a site serves all steps. Steps are
    accelerated (Nesterov 1983), and start anew where the momentum points uphill (O'Donoghue & Candès 2015).

    One feature that is the label:

    >>> x = torch.tensor([[[1.0], [1.0], [-1.0], [-1.0]]])
    >>> probes = fitted(x, torch.tensor([0, 0, 1, 1]), n_labels=2)
    >>> probes.right(x, torch.tensor([0, 0, 1, 1])).tolist()
    [[1.0, 1.0, 1.0, 1.0]]
    """
    mean = features.mean(1, keepdim=True)
    centred = features - mean
    # what is the same in all sentences is no feature, though rounding may make it look like one
    least = 1e-5 * features.pow(2).mean((1, 2), keepdim=True).sqrt() + 1e-12
    scale = centred.pow(2).mean((1, 2), keepdim=True).sqrt().maximum(least)
    x = centred / scale
    x = torch.cat([x, torch.ones_like(x[..., :1])], -1)  # the last feature is the bias
    ridge = torch.full((x.shape[-1],), penalty, dtype=x.dtype)
    ridge[-1] = 1e-3  # the bias is hardly held back; a little keeps the inverse safe
    bound = 0.5 * x.mT @ x + torch.diag(ridge)
    inverse = torch.linalg.inv(bound)
    target = torch.nn.functional.one_hot(labels, n_labels).to(x.dtype)
    weights = ahead = x.new_zeros(len(x), x.shape[-1], n_labels)
    momentum = x.new_ones(len(x), 1, 1)
    for _ in range(steps):
        residual = (x @ ahead).softmax(-1) - target
        step = inverse @ (x.mT @ residual + ridge[:, None] * ahead)
        new = ahead - step
        uphill = (step * (new - weights)).sum((1, 2), keepdim=True) > 0
        following = torch.where(uphill, 1.0, (1 + (1 + 4 * momentum**2).sqrt()) / 2)
        ahead = new + torch.where(uphill, 0.0, (momentum - 1) / following) * (new - weights)
        weights, momentum = new, following
    slopes = weights[:, :-1] / scale
    return Probes(weights=slopes, biases=weights[:, -1] - (mean @ slopes)[:, 0])


def codelengths(
    features: Float[Tensor, "site n feature"], labels: Int[Tensor, " n"], n_labels: int, penalty: float = PENALTY
) -> Float[Tensor, "site n"]:
    """Bits that each label costs in the online code (Voita & Titov 2020, section 2.2), sent in the order given.

    The first block goes out by a uniform code, log₂ K a label; each further one by the probe fitted on all before it,
    -log₂ p. Their sum, t₁ log₂ K - Σ log₂ p, is the codelength: about n log₂ K for a representation that says nothing
    of the label (more, where the probe learns what does not hold), little where few sentences teach it.
    """
    n = len(labels)
    ends = sorted({max(1, n >> halving) for halving in range(HALVINGS + 1)})
    bits = features.new_full((len(features), n), math.log2(n_labels))
    for start, end in zip(ends, ends[1:], strict=False):
        probes = fitted(features[:, :start], labels[:start], n_labels, penalty)
        said = probes.log_probabilities(features[:, start:end])
        bits[:, start:end] = -said[:, torch.arange(end - start), labels[start:end]] / math.log(2)
    return bits
