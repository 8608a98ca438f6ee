"""Intervals of a mean. NumPy only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
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
    low, high = cluster_intervals([values], groups, level=level, resamples=resamples, seed=seed)
    return float(low[0]), float(high[0])


def cluster_intervals(
    rows: Sequence[Sequence[float]] | np.ndarray,
    groups: Sequence[str],
    *,
    level: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """`cluster_interval` of every row, with the same draws: lower and upper ends. Hundreds of rows cost little more."""
    member, times = _drawn_groups(tuple(groups), resamples, seed)
    means = (np.asarray(rows, dtype=float) @ member @ times) / (member.sum(0) @ times)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=1)
    return low, high


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
    member, times = _drawn_groups(tuple(groups), resamples, seed)
    above, below = (np.asarray(side, dtype=float) @ member @ times for side in (numerators, denominators))
    defined = below != 0
    low, high = np.quantile(above[defined] / below[defined], [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


@lru_cache(maxsize=8)
def _drawn_groups(groups: tuple[str, ...], resamples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Which value belongs to which group [value, group], and how often each group was drawn [group, resample].

    The same for every row of a table, and so kept.
    """
    names, index = np.unique(np.asarray(groups), return_inverse=True)
    n = len(names)
    drawn = np.random.default_rng(seed).integers(n, size=(resamples, n))
    times = np.bincount((drawn + n * np.arange(resamples)[:, None]).ravel(), minlength=n * resamples)
    return index[:, None] == np.arange(n), times.reshape(resamples, n).T
