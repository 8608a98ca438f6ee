"""From numbers to a word: clean, cheatable, leaked, underpowered. The margin is declared before anything is counted."""

from __future__ import annotations

from dataclasses import dataclass

from probe.audit.groups import MIN_GROUPS
from probe.audit.statistics import Interval, smallest_gap

CLEAN, CHEATABLE, LEAKED, UNDERPOWERED = "clean", "cheatable", "leaked", "underpowered"
ALPHA = 0.05


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A verdict and the sentence that goes with it."""

    verdict: str
    reason: str


def judge(
    interval: Interval,
    *,
    chance: float,
    margin: float,
    p_above: float,
    p_below: float,
    clusters: int,
    comparisons: int,
    below_is_leak: bool = True,
) -> Judgement:
    """One auditor's verdict; p-values are Holm-corrected already.

    *clean*: the interval's upper bound is below chance + margin (an equivalence test), on 20 clusters or more.
    *leaked*: the upper bound is below chance − margin: train told the opposite of test.
    *cheatable*: better than chance after correction, and not shown to be within the margin.
    *underpowered*: neither; with the smallest gap these data could show.

    >>> at_chance = Interval(mean=0.5, low=0.47, high=0.53, standard_error=0.015)
    >>> common = dict(chance=0.5, margin=0.05, p_above=0.5, p_below=0.5, clusters=1000, comparisons=10)
    >>> judge(at_chance, **common).verdict
    'clean'
    >>> judge(Interval(mean=0.3, low=0.27, high=0.33, standard_error=0.015), **common | dict(p_below=0.001)).verdict
    'leaked'
    """
    if below_is_leak and interval.high < chance - margin and p_below < ALPHA:
        return Judgement(
            verdict=LEAKED,
            reason="far below chance: what it learned in one fold is the opposite of another's truth; never flipped",
        )
    if interval.high < chance + margin and clusters >= MIN_GROUPS:
        return Judgement(verdict=CLEAN, reason=f"upper bound {interval.high:.3f} is below {chance + margin:.3f}")
    if p_above < ALPHA and interval.low > chance:
        return Judgement(
            verdict=CHEATABLE, reason=f"{interval.mean - chance:+.3f} above chance, p = {p_above:.2g} after Holm"
        )
    if interval.high < chance + margin:
        return Judgement(
            verdict=UNDERPOWERED, reason=f"{clusters} groups; {MIN_GROUPS} or more are needed to call it clean"
        )
    gap = smallest_gap(interval.standard_error, comparisons)
    return Judgement(
        verdict=UNDERPOWERED,
        reason=f"{clusters} groups; a gap under {gap:.3f} would not be seen (power .8), the margin is {margin:g}",
    )
