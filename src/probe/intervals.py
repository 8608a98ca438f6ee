"""Intervals of a mean. NumPy only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np


def bootstrap_interval(
    values: Sequence[float], *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean (Efron 1979), over independent units such as training seeds.

    One value has no spread, and so no interval: it is returned twice.

    >>> bootstrap_interval([1.0, 1.0, 1.0])
    (1.0, 1.0)
    """
    data = np.asarray(values, dtype=float)
    generator = np.random.default_rng(seed)
    means = data[generator.integers(len(data), size=(resamples, len(data)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def share_interval(successes: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share: right also where all or none of `n` succeeded.

    >>> [round(bound, 3) for bound in share_interval(16, 16)]
    [0.806, 1.0]
    """
    return wilson(successes / n, n)


def wilson(share: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's interval for a share of n independent trials (Wilson 1927).

    >>> [round(x, 3) for x in wilson(1.0, 10)]
    [0.722, 1.0]
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (0.0 if share == 0 else max(0.0, centre - half)), (1.0 if share == 1 else min(1.0, centre + half))


def cluster_interval(
    values: Sequence[float], groups: Sequence[str], *, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> tuple[float, float]:
    """Percentile bootstrap interval of the mean where values come in groups that belong together.

    Whole groups are drawn (Davison & Hinkley 1997, section 3.8): sentences of one noun pair are no independent
    evidence.

    >>> cluster_interval([0.0, 0.0, 1.0, 1.0], ["a", "a", "b", "b"])
    (0.0, 1.0)
    """
    return ratio_interval(values, [1.0] * len(values), groups, level=level, resamples=resamples, seed=seed)


def ratio_interval(
    numerators: Sequence[float],
    denominators: Sequence[float],
    groups: Sequence[str],
    *,
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile bootstrap interval of sum(numerators) / sum(denominators), whole groups drawn.

    Draws whose denominators sum to 0 have no ratio and are left out.

    >>> ratio_interval([1.0, 1.0, 3.0, 3.0], [2.0, 2.0, 3.0, 3.0], ["a", "a", "b", "b"])
    (0.5, 1.0)
    """
    names, index = np.unique(np.asarray(groups), return_inverse=True)
    above, below = (np.bincount(index, weights=np.asarray(side, dtype=float)) for side in (numerators, denominators))
    drawn = np.random.default_rng(seed).integers(len(names), size=(resamples, len(names)))
    sums = above[drawn].sum(axis=1), below[drawn].sum(axis=1)
    defined = sums[1] != 0
    low, high = np.quantile(sums[0][defined] / sums[1][defined], [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def cluster_intervals(
    rows: Sequence[Sequence[float]] | np.ndarray,
    groups: Sequence[str],
    *,
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """`cluster_interval` of every row, with the same draws: lower and upper ends. Hundreds of rows cost little more."""
    names, index = np.unique(np.asarray(groups), return_inverse=True)
    member = index[:, None] == np.arange(len(names))
    sums, counts = np.asarray(rows, dtype=float) @ member, member.sum(0)
    drawn = np.random.default_rng(seed).integers(len(names), size=(resamples, len(names)))
    times = np.stack([np.bincount(draw, minlength=len(names)) for draw in drawn], 1)  # how often each group was drawn
    means = (sums @ times) / (counts @ times)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=1)
    return low, high
