"""When a curve changed: dated change points with their uncertainty, or none. NumPy.

A date that is read off by eye always exists. Here a curve has one only where a change from one level to another (a
logistic step: its midpoint is the date, its slope how long the change took) fits so much better than one level that
pure noise hardly ever would, and better than a straight line; and a second one where that improves on the first as
much. How much noise gains by the best of all steps is simulated, because a date that exists under one hypothesis alone
follows no textbook distribution (Davies 1987). A date's interval is that of the profile likelihood, every midpoint that
fits nearly as well as the best (Venzon & Moolgavkar 1988), the shape of the other step held; it is never narrower than
the gap between the two points that it falls between, because what a curve does there is the logistic's guess.

Residuals of a training curve follow one another: n is counted down to n (1 - r) / (1 + r) by their lag-1
autocorrelation r.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from probe.errors import ProbeError

FEWEST = 10
"""Points below which nothing is dated: a level before, a level after, a date and a slope are to be found."""
MOST = 2
"""Changes of one curve; each needs `FEWEST` points."""
ALPHA = 0.001
"""How often a curve of pure noise may be given a date; a run has some fifty curves."""
SECOND = 5.0
"""How much more noise gains by a second step than by the first, because the first moves with it: simulated, 4 to 6 at
20, 33 and 60 points."""
PER_GAP = 5
"""Candidate midpoints between two points; fewer where there are hundreds of points."""
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
    raised: Float[np.ndarray, "midpoint scale point"]
    """From 0 to 1."""
    squares: Float[np.ndarray, "midpoint scale"]
    """Sum of each step's squares."""
    noise_gain: float = 0.0
    """What a curve of pure noise gains with probability `ALPHA`."""


class _Fit(NamedTuple):
    """The best step of a curve, beside steps that are there already."""

    chosen: tuple[int, int]
    """Of midpoints and scales."""
    left: Float[np.ndarray, "midpoint scale"]
    """Squares that remain with each step."""
    without: float
    """Squares that remain with none."""
    n: float
    """Independent points, by the residuals of the best step."""

    @property
    def least(self) -> float:
        """Squares that remain with the best step."""
        return float(self.left[self.chosen])

    @property
    def gain(self) -> float:
        """Twice the log-likelihood ratio of the best step to none."""
        return self.n * float(np.log(self.without / self.least))


def candidate_steps(at: Sequence[float], seed: int = 0, simulated: int = 2000) -> Steps:
    """Prepare all steps for curves over the same points (training steps, say), ascending.

    Raises:
        ProbeError: too few points.
    """
    points = np.asarray(at, dtype=float)
    if len(points) < FEWEST:
        raise ProbeError(f"{len(points)} points are too few to date a change; {FEWEST} are needed")
    # two points on either side: a level that one point shows is no level
    first, last, gap = points[1], points[-2], float(np.diff(points).min())
    gaps = round((last - first) / gap)
    midpoints = np.linspace(first, last, gaps * max(2, min(PER_GAP, 1000 // gaps)) + 1)
    slowest = (points[-1] - points[0]) / 2 / TEN_TO_NINETY  # a slower change is a trend
    scales = np.append(gap / 200, np.geomspace(gap / 8, slowest, 15))  # the first is a jump, as far as points can tell
    raised = 1 / (1 + np.exp(-np.clip((points - midpoints[:, None, None]) / scales[:, None], -60, 60)))
    steps = Steps(at=points, midpoints=midpoints, scales=scales, raised=raised, squares=(raised**2).sum(-1))
    noise = np.random.default_rng(seed).normal(size=(simulated, len(points)))
    gains = [_beside(curve, steps, []).gain for curve in noise]
    # the tail falls as exp(-gain / 2), as that of any likelihood ratio; so far out it is better extended than counted
    return replace(steps, noise_gain=float(np.quantile(gains, 0.99)) + 2 * float(np.log(0.01 / ALPHA)))


def find_changes(curve: Sequence[float], steps: Steps) -> list[Change]:
    """The changes that a curve shows, by date; none where a level or a straight line fits as well.

    >>> steps = candidate_steps(range(0, 500, 25))
    >>> (found,) = find_changes([0.1] * 8 + [0.9] * 12, steps)  # low at step 175, high at 200
    >>> found.low, found.at, found.high
    (175.0, 187.5, 200.0)
    >>> find_changes([0.5] * 20, steps)
    []
    """
    values = np.asarray(curve, dtype=float)
    if np.ptp(values) <= 1e-9 * max(1.0, float(np.abs(values).max())):
        return []
    line = np.polynomial.Polynomial.fit(steps.at, values, 1)
    beside_line = max(float(((values - line(steps.at)) ** 2).sum()), 1e-300)
    models = [_together(values, steps, count) for count in range(1, min(MOST, len(values) // FEWEST) + 1)]
    fewer = [models[0][1].without, *(fit.least for _, fit in models)]
    # the largest number first: what one step leaves of a staircase is no noise, and would hide it
    for (chosen, fit), before in reversed(list(zip(models, fewer, strict=False))):
        gain = fit.n * np.log(before / fit.least)
        beats_line = fit.n * np.log(beside_line / fit.least) > (3 * len(chosen) - 1) * np.log(fit.n)  # BIC
        if gain > steps.noise_gain + SECOND * (len(chosen) - 1) and beats_line:
            changes = _described(values, steps, sorted(chosen))
            # two steps that undo each other have a level between them that no point comes near
            reach, middle = 0.6 * np.ptp(values), (values.min() + values.max()) / 2
            if all(abs(level - middle) <= reach for each in changes for level in (each.before, each.after)):
                return changes
    return []


def _together(values: Float[np.ndarray, " point"], steps: Steps, count: int) -> tuple[list[tuple[int, int]], _Fit]:
    """The best `count` steps: each is added beside those before, then all move in turn until none does."""
    chosen: list[tuple[int, int]] = []
    fit = _beside(values, steps, chosen)
    for _ in range(count):
        chosen.append(_beside(values, steps, chosen).chosen)
        for _ in range(20 if len(chosen) > 1 else 0):
            stood = list(chosen)
            for index in range(len(chosen)):
                chosen[index] = _beside(values, steps, chosen[:index] + chosen[index + 1 :]).chosen
            if chosen == stood:
                break
        fit = _beside(values, steps, chosen[:-1])
    return chosen, fit


def _described(values: Float[np.ndarray, " point"], steps: Steps, chosen: Sequence[tuple[int, int]]) -> list[Change]:
    """Dates, intervals and levels of the steps found, in the order of their midpoints."""
    columns = np.stack([np.ones(len(values)), *(steps.raised[step] for step in chosen)], 1)
    sizes = np.linalg.lstsq(columns, values, rcond=None)[0]
    levels, spacing = np.cumsum(sizes), steps.midpoints[1] - steps.midpoints[0]
    changes = []
    for index, step in enumerate(chosen):
        others = [other for other in chosen if other != step]
        fit = _beside(values, steps, others)
        profile, free = fit.left.min(axis=1), max(1.0, fit.n - 1 - 3 * len(chosen))
        inside = steps.midpoints[profile <= profile.min() * (1 + _f_quantile(free) / free)]
        equal = steps.midpoints[profile <= profile.min() * (1 + 1e-9)]  # no point tells these apart: take their middle
        at = float(equal.mean())
        after = int(np.searchsorted(steps.at, at))
        half = float(steps.at[after] - steps.at[after - 1]) / 2
        changes.append(
            Change(
                at=at,
                low=min(float(inside.min() - spacing), at - half),
                high=max(float(inside.max() + spacing), at + half),
                before=float(levels[index]),
                after=float(levels[index + 1]),
                duration=float(steps.scales[step[1]] * TEN_TO_NINETY),
            )
        )
    return changes


def _beside(values: Float[np.ndarray, " point"], steps: Steps, others: Sequence[tuple[int, int]]) -> _Fit:
    """The best of all steps beside others, whose shapes are held and whose sizes are free."""
    columns = [np.ones(len(steps.at)), *(steps.raised[other] for other in others)]
    basis = np.linalg.qr(np.stack(columns, 1))[0]
    rest = values - basis @ (basis.T @ values)
    # what is left of a curve that steps fit perfectly is rounding, and says nothing
    floor = 1e-10 * float(((values - values.mean()) ** 2).sum())
    total = max(float(rest @ rest), floor)
    # a step without what the level and the others hold of it has this length; one that they hold wholly tells nothing
    length = np.sqrt(np.maximum(steps.squares - ((steps.raised @ basis) ** 2).sum(-1), 0.0))
    along = np.where(length > 1e-2, steps.raised @ rest / np.maximum(length, 1e-2), 0.0)
    left = np.maximum(total - along**2, floor)
    m, s = np.unravel_index(left.argmin(), left.shape)
    outside = steps.raised[m, s] - basis @ (basis.T @ steps.raised[m, s])
    residual = rest - along[m, s] * outside / max(float(length[m, s]), 1e-2)
    squares = float(residual @ residual)
    r = float(residual[1:] @ residual[:-1]) / squares if squares > floor else 0.0
    r += 3 * len(others) / len(rest)  # what is fitted beside pulls neighbouring residuals apart by about so much
    r = min(max(r, 0.0), 0.9)
    n = max(6.0, len(rest) * (1 - r) / (1 + r))
    return _Fit(chosen=(int(m), int(s)), left=left, without=total, n=n)


def _f_quantile(free: float) -> float:
    """The 95 % quantile of F with 1 and `free` degrees of freedom."""
    from scipy.special import fdtri

    return float(fdtri(1, free, 0.95))
