"""How far out-of-fold accuracy wanders when there is nothing to find: permutations that learn again each time.

Permuting answers against *given* predictions forgets that questions share a learner: what it mistook for a rule in one
fold, it repeats on every question with the same words, and the accuracies of groups move together. With few groups that
matters (60 groups of Winogender: a nominal 5 % test rejects 8 %). So the truth is exchanged cluster by cluster and the
learner trained anew. Labels are dealt among clusters of equal size instead: exchanged they would be half and half, and
every guess of the larger class above chance. Logistic regression is stood in for by ridge regression on the same rows,
whose predictions are linear in the answers: 999 refits are one matrix product. As a permutation test it is valid in
itself, being compared with its own null.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probe.audit.choice import Rows
from probe.audit.groups import Fold, Indices
from probe.audit.statistics import Array, Clusters

REFITS = 999
TIE32 = 1e-5
"""What single precision can't tell from 0."""
RIDGE = 4.0
"""Logistic regression with C = 1 has curvature 1/4 at 0, so (K/4 + I) y/2 = 2 (K + 4 I)⁻¹ y: the same ridge."""


@dataclass(frozen=True, kw_only=True)
class RefitNull:
    """The permutation null of a conditional logit's accuracy."""

    observed: float
    """Accuracy of the ridge stand-in with the answers as they are."""
    p_above: float
    p_below: float
    inflation: float
    """Standard deviation under refits ÷ that under sign flips of given answers, 1 or more: what intervals lack."""


def refit_null(
    rows: Sequence[Rows],
    folds: Sequence[Fold],
    clusters: Clusters,
    *,
    asked: NDArray[np.bool_] | None = None,
    labels: NDArray[np.int64] | None = None,
    refits: int = REFITS,
) -> RefitNull | None:
    """Exchange the truth of whole clusters at random, learn again, score again.

    None where labels can't be dealt: half of the texts or more are in a cluster of a size of its own.

    Args:
        rows: for each fold the right-minus-wrong feature rows; exchanging a question's truth negates its row.
        folds: train and test indices.
        clusters: exchanged whole.
        asked: the questions whose accuracy it is, unless all: the others are learned from like any.
        labels: of labelled texts the class of each, 0 or 1; their shares are kept.
        refits: how many permutations.
    """
    n = rows[0].shape[0]
    generator = np.random.default_rng(clusters.seed + 2)
    asked = np.ones(n, dtype=bool) if asked is None else asked
    if labels is None:
        drawn = (generator.integers(0, 2, size=(clusters.count, refits)).astype(float) * 2 - 1)[clusters.index]
    else:
        drawn = _dealt(np.where(labels, 1.0, -1.0), asked, clusters, generator, refits)
        if (drawn < 0).any(axis=1).mean() < 0.5:
            return None
    truth = np.concatenate([np.ones((n, 1)), drawn], axis=1).astype(np.float32)
    gain = np.zeros((n, refits + 1))
    kernel, made_of = np.zeros((0, 0)), None
    for own, (train, test) in zip(rows, folds, strict=True):
        if own is not made_of:
            kernel, made_of = np.asarray((own @ own.T).todense(), dtype=float), own
        inside = kernel[np.ix_(train, train)] + RIDGE * np.eye(len(train))
        weights = np.linalg.solve(inside, kernel[np.ix_(train, test)]).T.astype(np.float32)
        margin = (weights @ truth[train]) * truth[test]
        gain[test] = 0.5 * ((margin > TIE32).astype(np.float32) - (margin < -TIE32).astype(np.float32))
    gain, index = gain[asked], clusters.index[asked]
    means = gain.mean(axis=0)
    observed, null = means[0], means[1:]
    flips = _flip_deviation(gain[:, 1:] - (null if labels is not None else 0.0), Clusters(index=index))
    return RefitNull(
        observed=0.5 + float(observed),
        p_above=float((1 + (null >= observed - 1e-9).sum()) / (1 + refits)),
        p_below=float((1 + (null <= observed + 1e-9).sum()) / (1 + refits)),
        inflation=max(1.0, float(null.std() / flips)) if flips > 1e-9 else 1.0,
    )


def _dealt(
    sides: Array, asked: NDArray[np.bool_], clusters: Clusters, generator: np.random.Generator, refits: int
) -> Array:
    """−1 where a text changes its class when clusters of one size deal their labels anew, 1 where it keeps it."""
    alike: dict[tuple[bool, ...], list[Indices]] = defaultdict(list)
    order = np.argsort(clusters.index, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(clusters.index[order])) + 1):
        alike[tuple(asked[own].tolist())].append(own)
    changed = np.ones((len(sides), refits))
    for clusters_of_a_size in alike.values():
        at = np.stack(clusters_of_a_size)
        dealt = at[np.argsort(generator.random((refits, len(at))), axis=1)]
        changed[at] = np.moveaxis(sides[dealt] * sides[at], 0, -1)
    return changed


def _flip_deviation(gain: Array, clusters: Clusters) -> float:
    """Mean standard deviation of the mean gain when each cluster's sum keeps its size and takes a random sign."""
    sums = np.zeros((clusters.count, gain.shape[1]))
    np.add.at(sums, clusters.index, gain)
    return float(np.sqrt((sums**2).sum(axis=0)).mean() / len(gain))
