"""Change points: none where nothing changes, and a date whose interval holds the true one about as often as it says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe.change_points import ALPHA, FEWEST, Change, Steps, candidate_steps, find_changes
from probe.errors import ProbeError

AT = np.arange(0, 825, 25)
STEPS = candidate_steps(AT.tolist())


def noise(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, len(AT)))


def dated(curves: np.ndarray) -> list[list[Change]]:
    return [find_changes(curve.tolist(), STEPS) for curve in curves]


def one(curve: Sequence[float], steps: Steps = STEPS) -> Change:
    (change,) = find_changes(curve, steps)
    return change


def test_noise_and_trends_have_no_date() -> None:
    """Nulls. `ALPHA` of the curves may have one change, and as many two."""
    assert ALPHA == 0.001
    assert sum(bool(changes) for changes in dated(noise(400, 1))) <= 4
    assert sum(bool(changes) for changes in dated(noise(100, 2) + AT / 40)) <= 1
    assert find_changes(np.zeros(len(AT)).tolist(), STEPS) == []


def test_a_walk_whose_noise_is_its_past_is_seldom_dated() -> None:
    """Autocorrelated curves look like changes; counting n down keeps most of them out."""
    curves = noise(100, 3)
    for i in range(1, len(AT)):
        curves[:, i] += 0.5 * curves[:, i - 1]
    assert sum(bool(changes) for changes in dated(curves)) <= 10


@pytest.mark.parametrize(("duration", "size"), [(0.0, 4.0), (0.0, 10.0), (90.0, 5.0), (90.0, 10.0)])
def test_the_interval_holds_the_true_date_about_as_often_as_it_says(duration: float, size: float) -> None:
    generator = np.random.default_rng(4)
    true = generator.uniform(150, 650, size=120)
    turns = np.clip((AT - true[:, None]) / max(duration / 4.4, 1e-6), -60, 60)
    found = dated(size / (1 + np.exp(-turns)) + noise(120, 5))
    inside = [any(c.low <= date <= c.high for c in cs) for cs, date in zip(found, true, strict=True) if cs]
    assert len(inside) >= 108, "changes of this size are found"
    # 95 %; between points a jump is not resolved, so its interval, the gap at least, holds it more often
    assert 0.91 <= np.mean(inside) <= 1.0


@given(st.integers(2, 30), st.floats(-5, 5), st.floats(0.1, 50), st.booleans())
def test_a_clean_jump_is_dated_to_the_gap_it_falls_in(first: int, level: float, size: float, down: bool) -> None:
    rise = -size if down else size
    found = one([level] * first + [level + rise] * (len(AT) - first))
    assert (found.low, found.high) == pytest.approx((AT[first - 1], AT[first]))
    assert found.at == pytest.approx((AT[first - 1] + AT[first]) / 2)
    assert (found.before, found.after) == pytest.approx((level, level + rise), abs=1e-6 * (1 + size))
    assert found.duration < 25


def test_a_date_does_not_depend_on_the_unit_of_the_curve() -> None:
    curve = noise(1, 6)[0] + np.where(AT < 300, 0, 8)
    first, other = one(curve.tolist()), one((1000 - 50 * curve).tolist())
    assert (first.at, first.low, first.high) == (other.at, other.low, other.high)
    assert other.after - other.before == pytest.approx(-50 * (first.after - first.before))


@pytest.mark.parametrize("size", [10.0, 30.0])
def test_of_a_staircase_both_steps_are_dated(size: float) -> None:
    """What one step leaves of it is no noise, and must not hide it."""
    generator = np.random.default_rng(8)
    early, late = generator.uniform(120, 300, size=60), generator.uniform(450, 650, size=60)
    turns = (AT - early[:, None]) / 30, (AT - late[:, None]) / 12
    first, second = (size / (1 + np.exp(-np.clip(each, -60, 60))) for each in turns)
    found = dated(first + 2 * second + noise(60, 9))
    both = [(changes, dates) for *dates, changes in zip(early, late, found, strict=True) if len(changes) == 2]
    assert len(both) >= 55
    inside = [c.low <= date <= c.high for changes, dates in both for c, date in zip(changes, dates, strict=True)]
    assert np.mean(inside) >= 0.9
    for changes, _ in both:
        assert changes[0].after == pytest.approx(changes[1].before)
        assert changes[1].after == pytest.approx(3 * size, abs=2)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_date_is_no_finer_than_the_gap_it_falls_in(share: float) -> None:
    """A point half-way up would fix a logistic's midpoint exactly; what the curve does between points nobody saw."""
    steps = candidate_steps(range(0, 800, 25))
    (found,) = find_changes([0.0] * 12 + [share] + [1.0] * 19, steps)
    assert found.high - found.low >= 25


def test_coarser_points_give_wider_dates_and_too_few_none() -> None:
    fine = one([0.0] * 20 + [1.0] * 13)
    coarse = one(([0.0] * 20 + [1.0] * 13)[::3], candidate_steps(AT[::3].tolist()))
    assert coarse.high - coarse.low == pytest.approx(3 * (fine.high - fine.low))
    with pytest.raises(ProbeError, match=f"{FEWEST} are needed"):
        candidate_steps(range(FEWEST - 1))


def test_hundreds_of_points_are_no_burden() -> None:
    """A run with a checkpoint at every step or so."""
    steps = candidate_steps(range(400), simulated=50)
    assert len(steps.midpoints) < 1000
    change = one([0.0] * 150 + [1.0] * 250, steps)
    assert (change.low, change.high) == pytest.approx((149, 150), abs=0.51)
