"""Splits of tasks of any size: every sentence on one side, no side empty, and the promise of each method kept."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe.errors import ProbeError
from probe.tasks.dataset import make_dataset
from probe.tasks.spec import parse_task


def small(nouns: int, method: str, validation: float, held_out: float, **more: object):
    content = {
        "title": "Small",
        "template": "{x} met {y} , {adjective} {answer}",
        "contrast": "adjective",
        "lexicon": {"noun": [f"n{i}" for i in range(nouns)], "one": ["glad", "calm"], "two": ["wide"]},
        "slots": {"x": ["noun"], "y": ["noun"], "adjective": ["one", "two"]},
        "answer": {"by": "adjective", "one": "x", "two": "y"},
        "split": {"method": method, "validation": validation, "held_out": held_out},
        **more,
    }
    return parse_task(content, name="small", where="small.toml")


shares = st.floats(0.01, 0.99)


@given(
    st.integers(2, 8), st.sampled_from(["reversed-pair", "held-out-pair", "random-rows"]), shares, shares,
    st.integers(0, 2**31 - 1),
)  # fmt: skip
def test_a_split_keeps_its_promise_or_says_why_not(nouns, method, validation, held_out, seed):
    try:
        data = make_dataset(small(nouns, method, validation, held_out), seed)
    except ProbeError as error:
        assert "empty" in str(error) or "more than all pairs" in str(error)
        return
    sides = data.sides
    assert all(sides.values())
    texts = [example.text for example in data.examples]
    assert len(texts) == len(set(texts)) == nouns * (nouns - 1) * 3
    if method == "reversed-pair":
        trained = {example.candidates for example in data.train}
        for side in (data.validation, data.held_out):
            assert all(e.candidates[::-1] in trained and e.candidates not in trained for e in side)
        assert not {e.group for e in data.validation} & {e.group for e in data.held_out}
    elif method == "held-out-pair":
        for one, other in itertools.combinations(sides.values(), 2):
            assert not {e.group for e in one} & {e.group for e in other}


@pytest.mark.parametrize("nouns", [3, 6, 7])
def test_two_halves_of_an_odd_number_of_pairs_are_no_more_than_all(nouns):
    """Python rounds 1.5 to 2, and so two halves of three pairs would be four."""
    data = make_dataset(small(nouns, "reversed-pair", 0.5, 0.5), 0)
    evaluated = {e.group for e in data.validation} | {e.group for e in data.held_out}
    assert len({e.group for e in data.train} - evaluated) <= 1


def test_a_pair_without_its_reverse_stays_in_train():
    lists = {"a": ["n0", "n1", "n2"], "b": ["n3", "n4"], "one": ["glad"], "two": ["wide"]}
    slots = {"x": ["a"], "y": ["a", "b"], "adjective": ["one", "two"]}
    data = make_dataset(small(0, "reversed-pair", 0.4, 0.4, lexicon=lists, slots=slots), 0)
    for example in data.validation + data.held_out:
        assert set(example.candidates) <= set(lists["a"])


@given(st.integers(3, 6), st.floats(0.5, 0.97), st.integers(0, 5))
def test_a_prior_is_as_near_its_share_as_counts_allow(nouns, share, seed):
    names = [f"n{i}" for i in range(nouns)]
    lists = {
        "liked": names[: nouns // 2],
        "plain": names[nouns // 2 :],
        "one": ["glad", "calm"],
        "two": ["wide", "wet"],
    }
    slots = {"x": ["liked", "plain"], "y": ["liked", "plain"], "adjective": ["one", "two"]}
    prior = {"prior": {"lexicon": "liked", "share": share}}
    try:
        data = make_dataset(small(0, "random-rows", 0.3, 0.3, lexicon=lists, slots=slots, pairs=prior), seed)
    except ProbeError as error:
        assert "empty" in str(error)
        return
    for word in lists["liked"]:
        answers = [example.answer == word for example in data.examples if word in example.candidates]
        wins, losses = sum(answers), len(answers) - sum(answers)
        assert wins == len(lists["plain"]) * 4
        assert abs(losses - wins * (1 - share) / share) <= 0.5
