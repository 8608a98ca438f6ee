"""Rules and verdicts, on numbers made by hand."""

from __future__ import annotations

import math

import pytest

from probe.errors import ProbeError
from probe.reproductions.claims import (
    Claim,
    Rule,
    about,
    above,
    at_most,
    below,
    exactly,
    judge,
    within,
)

NAN = math.nan


def claim_of(rule: Rule | None) -> Claim:
    return Claim(statement="a", value=lambda m: m["row"]["number"], rule=rule)


def of(*values: float) -> dict:
    return {seed: {"row": {"number": value}} for seed, value in enumerate(values)}


@pytest.mark.parametrize(
    ("rule", "values", "verdict"),
    [
        (exactly(5), [5], "agrees"),
        (exactly(5), [5.0000001], "differs"),
        (exactly(5, 0.01), [5.01], "agrees"),
        (at_most(1e-6), [1e-6], "agrees"),
        (at_most(1e-6), [2e-6], "differs"),
        (at_most(1e-6), [NAN], "differs"),
        (about(50, 0.1), [45, 55], "agrees"),
        (about(50, 0.1), [44.9, 55.1], "differs"),
        (about(50, 0.1), [50, 60], "depends on the seed"),
        (about(-50, 0.1), [-54], "agrees"),
        (within(0, 1), [0, 1, 0.5], "agrees"),
        (above(0), [1, 2], "agrees"),
        (above(0), [0], "differs"),
        (above(0), [-1, 1], "depends on the seed"),
        (below(0), [-1], "agrees"),
        (below(0), [0], "differs"),
        (above(0, about(14, 0.5)), [10, 20], "agrees"),
        (above(0, about(14, 0.5)), [30, 40], "differs"),
        (above(0, about(14, 0.5)), [10, 40], "depends on the seed"),
        (above(0, about(14, 0.5)), [-10, 14], "depends on the seed"),
        (above(0, about(14, 0.5)), [-14, -14], "differs"),
        (above(0), [NAN], "differs"),
        (None, [3], "not judged"),
    ],
)
def test_a_verdict_counts_seeds(rule: Rule | None, values: list[float], verdict: str) -> None:
    assert judge(claim_of(rule), of(*values)).verdict == verdict


def test_the_direction_is_judged_before_the_size() -> None:
    """A size of the right magnitude and the wrong sign is told apart from one of the right sign."""
    rule = above(0, about(14, 0.5))
    assert judge(claim_of(rule), of(30)).why == "the direction holds, not the size"
    assert judge(claim_of(rule), of(-14)).why == ""


def test_what_was_not_run_is_not_judged() -> None:
    assert judge(claim_of(exactly(1)), {}).verdict == "not run"
    assert judge(claim_of(exactly(1)), {0: {"another": {"number": 1.0}}}).verdict == "not run"
    judged = judge(claim_of(exactly(1)), {0: {}, 1: {"row": {"number": 1.0}}})
    assert (judged.verdict, dict(judged.values)) == ("agrees", {1: 1.0})


def test_a_number_that_a_row_does_not_hold_is_no_job_that_was_not_run() -> None:
    """A misspelt number must not look like patience."""
    with pytest.raises(ProbeError, match="no number 'number'.*remove the row's file"):
        judge(claim_of(exactly(1)), {0: {"row": {"numbr": 1.0}}})


@pytest.mark.parametrize("seeds", [1, 3])
def test_only_an_exact_statement_can_fail(seeds: int) -> None:
    wrong = of(*[2.0] * seeds)
    assert judge(claim_of(exactly(1)), wrong).failed
    assert not judge(claim_of(exactly(2)), wrong).failed
    assert not judge(claim_of(about(1, 0.1)), wrong).failed
    assert not judge(claim_of(exactly(1)), {}).failed


def test_a_quick_look_judges_what_is_exact_alone() -> None:
    assert judge(claim_of(about(1, 0.1)), of(2.0), quick=True).verdict == "not judged"
    assert judge(claim_of(exactly(1)), of(2.0), quick=True).failed


def test_every_rule_says_its_bounds() -> None:
    assert exactly(124_439_808).says == "exact: 124,439,808"
    assert above(0, about(14, 0.5)).says == "above 0; then within 50 % of 14"
    assert within(0, 1, "a share").says == "a share"
