"""Change points: none where nothing changes, and a date whose interval holds the true one about as often as it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe.change_points import ALPHA, FEWEST, candidate_steps, find_change
from probe.errors import ProbeError

AT = np.arange(0, 825, 25)
STEPS = candidate_steps(AT.tolist())


def noise(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, len(AT)))


def dated(curves: np.ndarray) -> list:
    return [find_change(curve, STEPS) for curve in curves]


def test_noise_and_trends_have_no_date() -> None:
    """Nulls. `ALPHA` of the curves may have one; 600 of noise have more than 4 with probability 0.0004."""
    assert ALPHA == 0.001
    assert sum(change is not None for change in dated(noise(600, 1))) <= 4
    assert sum(change is not None for change in dated(noise(200, 2) + AT / 40)) <= 2
    assert find_change(np.zeros(len(AT)).tolist(), STEPS) is None


def test_a_walk_whose_noise_is_its_past_is_seldom_dated() -> None:
    """Autocorrelated curves look like changes; counting n down keeps most of them out."""
    curves = noise(300, 3)
    for i in range(1, len(AT)):
        curves[:, i] += 0.5 * curves[:, i - 1]
    assert sum(change is not None for change in dated(curves)) <= 9


@pytest.mark.parametrize(("duration", "size"), [(0.0, 4.0), (0.0, 10.0), (90.0, 5.0), (90.0, 10.0)])
def test_the_interval_holds_the_true_date_about_as_often_as_it_says(duration: float, size: float) -> None:
    generator = np.random.default_rng(4)
    true = generator.uniform(150, 650, size=200)
    turns = np.clip((AT - true[:, None]) / max(duration / 4.4, 1e-6), -60, 60)
    found = dated(size / (1 + np.exp(-turns)) + noise(200, 5))
    inside = [c.low <= date <= c.high for c, date in zip(found, true, strict=True) if c is not None]
    assert len(inside) >= 180, "changes of this size are found"
    # 95 %; between points a jump is not resolved, so its interval, the gap at least, holds it more often
    assert 0.91 <= np.mean(inside) <= 1.0


@given(st.integers(2, 30), st.floats(-5, 5), st.floats(0.1, 50), st.booleans())
def test_a_clean_jump_is_dated_to_the_gap_it_falls_in(first: int, level: float, size: float, down: bool) -> None:
    rise = -size if down else size
    found = find_change([level] * first + [level + rise] * (len(AT) - first), STEPS)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((AT[first - 1], AT[first]))
    assert found.at == pytest.approx((AT[first - 1] + AT[first]) / 2)
    assert (found.before, found.after) == pytest.approx((level, level + rise), abs=1e-6 * (1 + size))
    assert found.duration < 25


def test_a_date_does_not_depend_on_the_unit_of_the_curve() -> None:
    curve = noise(1, 6)[0] + np.where(AT < 300, 0, 8)
    one, other = find_change(curve, STEPS), find_change(1000 - 50 * curve, STEPS)
    assert one is not None and other is not None
    assert (one.at, one.low, one.high) == (other.at, other.low, other.high)
    assert other.after - other.before == pytest.approx(-50 * (one.after - one.before))


def test_coarser_points_give_wider_dates_and_too_few_none() -> None:
    fine = find_change([0.0] * 20 + [1.0] * 13, STEPS)
    every = candidate_steps(AT[::3].tolist(), simulated=1000)
    coarse = find_change(([0.0] * 20 + [1.0] * 13)[::3], every)
    assert fine is not None and coarse is not None
    assert coarse.high - coarse.low == pytest.approx(3 * (fine.high - fine.low))
    with pytest.raises(ProbeError, match=f"{FEWEST} are needed"):
        candidate_steps(range(FEWEST - 1))
