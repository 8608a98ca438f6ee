"""Intervals hold their mean, shrink with data, and are the published ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe.intervals import bootstrap_interval, share_interval

values = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20)


@given(values)
def test_a_bootstrap_interval_lies_within_the_data_and_is_the_same_each_time(data):
    low, high = bootstrap_interval(data, resamples=200)
    assert min(data) - 1e-9 <= low <= high <= max(data) + 1e-9
    assert bootstrap_interval(data, resamples=200) == (low, high)


def test_a_bootstrap_interval_is_that_of_the_normal_mean_for_much_data():
    data = np.random.default_rng(0).normal(size=400)
    low, high = bootstrap_interval(data.tolist())
    half = 1.96 * data.std() / 20
    assert low == pytest.approx(data.mean() - half, abs=0.01)
    assert high == pytest.approx(data.mean() + half, abs=0.01)


@given(st.integers(1, 500), st.data())
def test_wilsons_interval_holds_the_share_and_mirrors(n, data):
    successes = data.draw(st.integers(0, n))
    low, high = share_interval(successes, n)
    assert 0 <= low <= successes / n + 1e-12
    assert successes / n - 1e-12 <= high <= 1
    mirrored = share_interval(n - successes, n)
    assert (1 - high, 1 - low) == pytest.approx(mirrored)


def test_wilsons_interval_is_the_solution_of_its_equation():
    """Both ends p solve (share - p)^2 = z^2 p (1 - p) / n (Wilson 1927)."""
    for successes, n in [(14, 16), (1, 10), (5, 10)]:
        for p in share_interval(successes, n):
            assert (successes / n - p) ** 2 == pytest.approx(1.959964**2 * p * (1 - p) / n)
