"""What a row of right and wrong answers is worth: intervals, p-values, and how small a gap the data could show.

Questions that share words are no independent evidence, so everything here counts in *clusters* (twins, lexical groups):
they are resampled and flipped whole.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from probe.intervals import wilson

Array = NDArray[np.float64]
RESAMPLES = 2000
PERMUTATIONS = 9999


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """Which cluster each question belongs to, with the resamples and sign flips that all auditors share.

    Shared draws make auditors comparable, and cost one matrix product for all of them.
    """

    index: NDArray[np.int64]
    """Question -> cluster, 0 … count − 1."""
    seed: int = 0

    @property
    def count(self) -> int:
        """How many clusters."""
        return int(self.index.max()) + 1 if len(self.index) else 0

    def sums(self, values: Array) -> Array:
        """Sum of a value over each cluster. NaN (not scored) adds nothing."""
        return np.bincount(self.index, weights=np.nan_to_num(values), minlength=self.count).astype(float)


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float
    standard_error: float

    def widened(self, factor: float) -> Interval:
        """The interval with its width multiplied."""
        return Interval(
            mean=self.mean,
            low=max(0.0, self.mean - factor * (self.mean - self.low)),
            high=min(1.0, self.mean + factor * (self.high - self.mean)),
            standard_error=self.standard_error * factor,
        )


def cluster_bootstrap(
    values: Array, clusters: Clusters, *, coins: Array | None = None, resamples: int = RESAMPLES
) -> Interval:
    """Mean and 95 % interval of one row of values; see `cluster_bootstraps`.

    >>> values = np.array([1.0, 0.0] * 50)
    >>> interval = cluster_bootstrap(values, Clusters(index=np.arange(100)))
    >>> interval.mean, round(interval.low, 1), round(interval.high, 1)
    (0.5, 0.4, 0.6)
    >>> twins = cluster_bootstrap(values, Clusters(index=np.arange(100) // 2))  # one right, one wrong in each: certain
    >>> twins.low, twins.high
    (0.5, 0.5)
    """
    return cluster_bootstraps([values], clusters, coins=[values if coins is None else coins], resamples=resamples)[0]


def cluster_bootstraps(
    values: Sequence[Array], clusters: Clusters, *, coins: Sequence[Array], resamples: int = RESAMPLES
) -> list[Interval]:
    """Means and 95 % intervals, clusters drawn with replacement (ratio of sums, so unequal clusters are weighed right).

    Percentile intervals, widened by t/z and √(G/(G−1)) for few clusters G (Cameron, Gelbach and Miller 2008 show
    how far plain resampling undercovers there). Where every answer is right (or wrong), Wilson's interval for G trials
    stands in, because a resample of identical values knows no doubt.

    `coins` are the same values with each tie broken by a coin. The mean is that of the values, where a tie earns 1/k;
    the width is that of the coins: an auditor that can only guess has shown nothing, however steady its 1/k.
    """
    there = _scored_clusters(values, clusters)
    groups = int(there.sum())
    if groups == 0:
        return [Interval(mean=math.nan, low=math.nan, high=math.nan, standard_error=math.nan) for _ in values]
    drawn = cluster_bootstrap_values(coins, clusters, resamples=resamples)
    few = math.sqrt(groups / (groups - 1)) if groups > 1 else 1.0
    widen = few * float(stats.t.ppf(0.975, max(1, groups - 1)) / stats.norm.ppf(0.975))
    return [
        _interval(float(np.nanmean(value)), drawn[:, j], float(np.nanmean(coins[j])), widen, groups)
        if not np.isnan(value).all()
        else Interval(mean=math.nan, low=math.nan, high=math.nan, standard_error=math.nan)
        for j, value in enumerate(values)
    ]


def _scored_clusters(values: Sequence[Array], clusters: Clusters) -> NDArray[np.bool_]:
    there = np.zeros(clusters.count, dtype=bool)
    for value in values:
        there[clusters.index[~np.isnan(value)]] = True
    return there


def cluster_bootstrap_values(values: Sequence[Array], clusters: Clusters, *, resamples: int = RESAMPLES) -> Array:
    """The mean of each row of values in each resample of clusters: Float[resample, row]."""
    there = _scored_clusters(values, clusters)
    groups = int(there.sum())
    sums = np.stack([clusters.sums(value)[there] for value in values], axis=1)
    sizes = np.stack([clusters.sums((~np.isnan(value)).astype(float))[there] for value in values], axis=1)
    generator = np.random.default_rng(clusters.seed)
    means = []
    chunk = max(1, min(resamples, 2_000_000 // groups))
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        picks = generator.integers(0, groups, size=(size, groups)) + np.arange(size)[:, None] * groups
        drawn = np.bincount(picks.ravel(), minlength=size * groups).reshape(size, groups).astype(float)
        means.append((drawn @ sums) / np.maximum(drawn @ sizes, 1e-12))
    return np.concatenate(means)


def _interval(mean: float, drawn: Array, centre: float, widen: float, groups: int) -> Interval:
    if groups == 1:
        return Interval(mean=mean, low=0.0, high=1.0, standard_error=math.nan)
    if mean in (0.0, 1.0):
        low, high = wilson(mean, groups)
        return Interval(mean=mean, low=low, high=high, standard_error=0.0)
    low, high = np.quantile(drawn, (0.025, 0.975)) - centre
    return Interval(
        mean=mean,
        low=float(max(0.0, mean + widen * min(low, 0.0))),
        high=float(min(1.0, mean + widen * max(high, 0.0))),
        standard_error=float(drawn.std()) * widen,
    )


def permutation_p(
    gains: Sequence[Array], clusters: Clusters, *, permutations: int = PERMUTATIONS
) -> list[tuple[float, float]]:
    """For each auditor p (above chance) and p (below chance), by permuting answers against the answers given.

    `gains` are credit − chance for each question. Under the null an auditor's answer says nothing about the truth; with
    two options, exchanging the truth of all questions of a cluster at once turns its gain into its negative, whatever
    ties the cluster's questions to each other. The p-value is (1 + draws as extreme) / (1 + draws), so never 0
    (Phipson and Smyth 2010).

    >>> clusters = Clusters(index=np.arange(40))
    >>> [(up, down)] = permutation_p([np.full(40, 0.5)], clusters, permutations=999)
    >>> up, down
    (0.001, 1.0)
    """
    if not gains:
        return []
    sums = np.stack([clusters.sums(gain) for gain in gains], axis=1)
    observed = sums.sum(axis=0)
    generator = np.random.default_rng(clusters.seed + 1)
    above, below = np.zeros(len(gains)), np.zeros(len(gains))
    done = 0
    chunk = max(1, min(permutations, 4_000_000 // max(1, clusters.count)))
    while done < permutations:
        size = min(chunk, permutations - done)
        signs = generator.integers(0, 2, size=(size, clusters.count), dtype=np.int8).astype(np.float32) * 2 - 1
        drawn = signs @ sums.astype(np.float32)
        above += (drawn >= observed - 1e-3).sum(axis=0)
        below += (drawn <= observed + 1e-3).sum(axis=0)
        done += size
    return [(float((1 + a) / (1 + done)), float((1 + b) / (1 + done))) for a, b in zip(above, below, strict=True)]


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction (Holm 1979): adjusted p-values, in the order given.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [1.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def smallest_gap(standard_error: float, comparisons: int) -> float:
    """The smallest gap above chance that would be seen four times in five at 5 %, Holm's first step over `comparisons`.

    >>> round(smallest_gap(0.5 / 1000 ** 0.5, 1), 3)
    0.044
    """
    return float((stats.norm.ppf(1 - 0.025 / max(1, comparisons)) + stats.norm.ppf(0.8)) * standard_error)
