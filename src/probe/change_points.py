"""When a curve changed: a dated change point with its uncertainty, or none. NumPy.

A date that is read off by eye always exists. Here a curve has one only where a change from one level to another (a
logistic step: its midpoint is the date, its slope how long the change took) fits so much better than one level that
pure noise hardly ever would, and better than a straight line. How much noise gains by the best of all steps is
simulated, because a date that exists under one hypothesis alone follows no textbook distribution (Davies 1987). The
date's interval is that of the profile likelihood, every midpoint that fits nearly as well as the best (Venzon &
Moolgavkar 1988); it is never narrower than the gap between the two points that a jump falls between.

Residuals of a training curve follow one another: n is counted down to n (1 - r) / (1 + r) by their lag-1
autocorrelation r.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from probe.errors import ProbeError

FEWEST = 10
"""Points below which nothing is dated: a level before, a level after, a date and a slope are to be found."""
ALPHA = 0.001
"""How often a curve of pure noise may be given a date; a run has some fifty curves."""
PER_GAP = 8
"""Candidate midpoints between two points."""
TEN_TO_NINETY = 2 * float(np.log(9.0))
"""A logistic step takes so many of its scale units from 10 % to 90 %."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of level that a curve shows."""

    at: float
    """Its midpoint."""
    low: float
    high: float
    """95 % interval of the midpoint."""
    before: float
    after: float
    """The levels."""
    duration: float
    """From 10 % to 90 % of the way; below the gap between two points it is not resolved."""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Every candidate step on one set of points, and what noise gains by the best of them."""

    at: Float[np.ndarray, " point"]
    midpoints: Float[np.ndarray, " midpoint"]
    scales: Float[np.ndarray, " scale"]
    directions: Float[np.ndarray, "midpoint scale point"]
    """Each step without its mean, of length 1."""
    noise_gain: float
    """What a curve of pure noise gains with probability `ALPHA`; see `_fit`."""


def candidate_steps(at: Sequence[float], seed: int = 0, simulated: int = 4000) -> Steps:
    """Prepare all steps for curves over the same points (training steps, say), ascending.

    Raises:
        ProbeError: too few points.
    """
    points = np.asarray(at, dtype=float)
    if len(points) < FEWEST:
        raise ProbeError(f"{len(points)} points are too few to date a change; {FEWEST} are needed")
    # two points on either side: a level that one point shows is no level
    first, last, gap = points[1], points[-2], float(np.diff(points).min())
    midpoints = np.linspace(first, last, round((last - first) / gap) * PER_GAP + 1)
    slowest = (points[-1] - points[0]) / 2 / TEN_TO_NINETY  # a slower change is a trend
    scales = np.append(gap / 200, np.geomspace(gap / 8, slowest, 23))  # the first is a jump, as far as points can tell
    centred = _raised(points, midpoints[:, None, None], scales[:, None])
    centred -= centred.mean(-1, keepdims=True)
    directions = centred / np.sqrt((centred**2).sum(-1, keepdims=True))
    noise = np.random.default_rng(seed).normal(size=(simulated, len(points)))
    gains = [_fit(curve, directions)[0] for curve in noise]
    return Steps(
        at=points,
        midpoints=midpoints,
        scales=scales,
        directions=directions,
        noise_gain=float(np.quantile(gains, 1 - ALPHA)),
    )


def find_change(curve: Sequence[float], steps: Steps) -> Change | None:
    """The change that a curve shows, or None where a level or a straight line fits as well.

    >>> steps = candidate_steps(range(0, 500, 25))
    >>> found = find_change([0.1] * 8 + [0.9] * 12, steps)  # low at step 175, high at 200
    >>> found.low, found.at, found.high
    (175.0, 187.5, 200.0)
    >>> find_change([0.5] * 20, steps) is None
    True
    """
    values = np.asarray(curve, dtype=float)
    if np.ptp(values) <= 1e-9 * max(1.0, float(np.abs(values).max())):
        return None
    gain, left, n = _fit(values, steps.directions)
    line = np.polynomial.Polynomial.fit(steps.at, values, 1)
    beside_line = max(float(((values - line(steps.at)) ** 2).sum()), 1e-300)
    beats_line = n * np.log(beside_line / left.min()) > 2 * np.log(n)  # BIC: a step has two parameters more
    if gain <= steps.noise_gain or not beats_line:
        return None
    m, s = np.unravel_index(left.argmin(), left.shape)
    raised = _raised(steps.at, steps.midpoints[m], steps.scales[s])
    before, rise = np.polynomial.polynomial.polyfit(raised, values, 1)
    profile, free, spacing = left.min(axis=1), max(1.0, n - 4), steps.midpoints[1] - steps.midpoints[0]
    inside = steps.midpoints[profile <= profile.min() * (1 + _f_quantile(free) / free)]
    equal = steps.midpoints[profile <= profile.min() * (1 + 1e-9)]  # no point tells these apart: take their middle
    return Change(
        at=float(equal.mean()),
        low=float(inside.min() - spacing),
        high=float(inside.max() + spacing),
        before=float(before),
        after=float(before + rise),
        duration=float(steps.scales[s] * TEN_TO_NINETY),
    )


def _raised(at: np.ndarray, midpoint: np.ndarray | float, scale: np.ndarray | float) -> np.ndarray:
    """A logistic step from 0 to 1."""
    return 1 / (1 + np.exp(-np.clip((at - midpoint) / scale, -60, 60)))


def _fit(
    values: Float[np.ndarray, " point"], directions: Float[np.ndarray, "midpoint scale point"]
) -> tuple[float, Float[np.ndarray, "midpoint scale"], float]:
    """Gain over one level, squares that each step leaves, and the number of independent points.

    The gain is n ln(squares around the mean / squares around the best step), twice the log-likelihood ratio.
    """
    centred = values - values.mean()
    total = float(centred @ centred)
    along = directions @ centred
    left = np.maximum(total - along**2, 1e-12 * total)
    best = np.unravel_index(left.argmin(), left.shape)
    residual = centred - along[best] * directions[best]
    squares = float(residual @ residual)
    r = float(residual[1:] @ residual[:-1]) / squares if squares > 1e-9 * total else 0.0
    r = min(max(r, 0.0), 0.9)
    n = max(6.0, len(values) * (1 - r) / (1 + r))
    return n * float(np.log(total / left[best])), left, n


def _f_quantile(free: float) -> float:
    """The 95 % quantile of F with 1 and `free` degrees of freedom."""
    from scipy.special import fdtri

    return float(fdtri(1, free, 0.95))
