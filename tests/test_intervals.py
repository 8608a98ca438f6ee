"""Intervals hold their mean, shrink with data, and are the published ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe.intervals import bootstrap_interval, cluster_interval, cluster_intervals, share_interval

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


def test_many_rows_have_the_intervals_that_each_has_alone():
    rows = np.random.default_rng(0).random((5, 40))
    groups = [str(i % 7) for i in range(40)]
    low, high = cluster_intervals(rows, groups)
    assert [cluster_interval(row, groups) for row in rows] == [
        pytest.approx(ends) for ends in zip(low, high, strict=True)
    ]


def test_groups_that_are_drawn_whole_widen_the_interval_of_alike_sentences():
    """Ten groups of ten equal values are ten observations, not a hundred."""
    values = np.repeat(np.random.default_rng(1).random(10), 10)
    whole = cluster_interval(values, [str(i // 10) for i in range(100)])
    alone = cluster_interval(values, [str(i) for i in range(100)])
    assert whole[1] - whole[0] > 2.5 * (alone[1] - alone[0])
