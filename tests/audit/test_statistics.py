"""The numbers behind a verdict: coverage, exact oracles, corrections."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from probe.audit.statistics import (
    Clusters,
    Interval,
    cluster_bootstrap,
    holm,
    permutation_p,
    smallest_gap,
)
from probe.audit.verdict import judge
from probe.intervals import wilson


@pytest.mark.parametrize("size", [1, 4])
def test_the_interval_covers_the_truth(size):
    """Clusters share one coin: questions are not independent, the interval must know."""
    rng = np.random.default_rng(size)
    clusters = Clusters(index=np.repeat(np.arange(60), size))
    covered = 0
    for _ in range(300):
        share = np.clip(rng.normal(0.6, 0.2, 60), 0, 1) if size > 1 else np.full(60, 0.6)
        values = (rng.random(60 * size) < np.repeat(share, size)).astype(float)
        interval = cluster_bootstrap(values, clusters, resamples=400)
        covered += interval.low <= 0.6 <= interval.high
    assert 0.92 <= covered / 300 <= 0.99


def test_twins_that_cancel_leave_no_doubt_and_identical_answers_do():
    pairs = Clusters(index=np.arange(200) // 2)
    certain = Interval(mean=0.5, low=0.5, high=0.5, standard_error=0.0)
    assert cluster_bootstrap(np.tile([1.0, 0.0], 100), pairs) == certain
    right = cluster_bootstrap(np.ones(200), pairs)
    assert (right.low, right.high) == pytest.approx(wilson(1.0, 100))


def test_ties_keep_their_mean_and_widen_the_interval():
    clusters = Clusters(index=np.arange(100))
    ties, coins = np.full(100, 0.5), np.tile([1.0, 0.0, 0.0, 1.0], 25)
    interval = cluster_bootstrap(ties, clusters, coins=coins)
    assert interval.mean == 0.5
    assert interval.low < 0.42 and interval.high > 0.58


def test_untested_questions_do_not_count():
    values = np.array([1.0, np.nan, 0.0, np.nan] * 30)
    assert cluster_bootstrap(values, Clusters(index=np.arange(120))).mean == 0.5
    assert np.isnan(cluster_bootstrap(np.full(4, np.nan), Clusters(index=np.arange(4))).mean)


def test_permutation_p_is_the_sign_test_on_independent_questions():
    """With independent ±1/2 gains the permutation null is the binomial: compare with its exact tail."""
    gains = np.r_[np.full(60, 0.5), np.full(40, -0.5)]
    [(above, below)] = permutation_p([gains], Clusters(index=np.arange(100)))
    assert above == pytest.approx(stats.binom.sf(59, 100, 0.5), abs=0.006)
    assert below == pytest.approx(stats.binom.cdf(60, 100, 0.5), abs=0.006)


def test_permutation_p_is_uniform_under_the_null():
    rng = np.random.default_rng(3)
    clusters = Clusters(index=np.repeat(np.arange(40), 3))
    gains = [np.repeat(rng.choice([-0.5, 0.5], 40), 3) for _ in range(400)]
    values = np.array([above for above, _ in permutation_p(gains, clusters, permutations=999)])
    assert (values <= 0.05).mean() <= 0.08
    assert abs((values <= 0.5).mean() - 0.5) < 0.1


def test_twins_are_one_piece_of_evidence():
    once = permutation_p([np.full(8, 0.5)], Clusters(index=np.arange(8)))[0][0]
    hundredfold = permutation_p([np.full(800, 0.5)], Clusters(index=np.arange(800) % 8))[0][0]
    assert once == pytest.approx(hundredfold, abs=0.003)


@settings(max_examples=60, deadline=None)
@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm(p):
    adjusted = holm(p)
    assert all(a >= b or a == 1.0 for a, b in zip(adjusted, p, strict=True))
    assert max(adjusted) <= 1
    order = sorted(range(len(p)), key=p.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)
    assert adjusted[order[0]] == pytest.approx(min(1.0, len(p) * p[order[0]]))


def verdict_of(mean, low, high, *, above=0.5, below=0.5, clusters=500, **more):
    interval = Interval(mean=mean, low=low, high=high, standard_error=(high - low) / 4)
    return judge(
        interval, chance=0.5, margin=0.05, p_above=above, p_below=below, clusters=clusters, comparisons=10, **more
    ).verdict


def test_verdicts():
    assert verdict_of(0.50, 0.47, 0.53) == "clean"
    assert verdict_of(0.52, 0.505, 0.535, above=0.01) == "clean"  # real, and shown to be within the margin
    assert verdict_of(0.60, 0.56, 0.64, above=0.001) == "cheatable"
    assert verdict_of(0.60, 0.40, 0.80, above=0.3) == "underpowered"
    assert verdict_of(0.50, 0.47, 0.53, clusters=10) == "underpowered"
    assert verdict_of(0.30, 0.25, 0.35, below=0.001) == "leaked"  # never clean, never flipped
    assert verdict_of(0.30, 0.25, 0.35, below=0.001, below_is_leak=False) == "clean"


def test_smallest_gap_shrinks_with_the_error():
    assert smallest_gap(0.01, 10) < smallest_gap(0.02, 10)
    assert smallest_gap(0.01, 10) > smallest_gap(0.01, 1)
