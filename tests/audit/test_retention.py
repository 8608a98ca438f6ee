"""Models made by hand: one that reads order, one that does not, one that guesses."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from probe.audit import audit
from probe.audit.material import material, raw
from probe.audit.retention import shuffle_retention, shuffled
from probe.audit.statistics import Clusters
from probe.tasks.readers import read

CROSSERS = {"tired", "scared", "slow", "weak"}


@pytest.fixture(scope="module")
def hard():
    found = material(read("winograd-hard"), "raw", raw).subset(np.arange(1920) % 8 < 8)
    return found, Clusters(index=np.arange(len(found)) // 16)


def nouns(prompt):
    words = [w for w in prompt if w in NOUNS]
    return words[0], words[-1]


NOUNS = {option for q in read("winograd-hard").questions for option in q.options}


def solver(prompts, options):
    """Knows the rule: the crosser adjective speaks of the first noun."""
    return [nouns(p)[0] if CROSSERS & set(p) else nouns(p)[1] for p in prompts]


def order_blind(prompts, options):
    """Takes the alphabetically first noun, whatever the order."""
    return [min(nouns(p)) for p in prompts]


def scores(prompts, options):
    """Gives both candidates the same score."""
    return [(0.0, 0.0) for _ in prompts]


def test_a_reader_of_order_loses_all_and_is_refused(hard):
    retention, certificate = shuffle_retention(hard[0], solver, hard[1])
    assert retention.intact.mean == 1.0
    assert retention.shuffled.mean == pytest.approx(0.5, abs=0.03)
    assert retention.retention < 0.1 and retention.high < 0.2
    assert not certificate.holds and certificate.invariant < 0.5


def test_an_order_blind_model_gets_the_certificate(hard):
    retention, certificate = shuffle_retention(hard[0], order_blind, hard[1])
    assert retention.intact.mean == 0.5 and math.isnan(retention.retention)  # nothing above chance to keep
    assert certificate.holds and certificate.changed_at_most == pytest.approx(3 / 120)  # groups, not questions


def test_ties_are_half(hard):
    retention, certificate = shuffle_retention(hard[0], scores, hard[1])
    assert retention.intact.mean == retention.shuffled.mean == 0.5 and certificate.holds


def test_what_the_words_alone_answer_is_kept():
    found = material(read("winograd-easy"), "raw", raw)
    animals = {"animal", "dog", "cat", "horse", "child", "man", "bird", "cow"}

    def bag(prompts, options):
        known = {option for q in found.questions for option in q.options}
        return [next(w for w in p if w in known and (w in animals) == bool(CROSSERS & set(p))) for p in prompts]

    retention, certificate = shuffle_retention(found, bag, Clusters(index=np.arange(len(found)) // 8))
    assert (retention.retention, certificate.holds) == (1.0, True)


def test_shuffles_move_every_word_and_keep_the_last():
    rng = random.Random(0)
    for _ in range(200):
        mixed = shuffled(list("abcdefgh"), rng)
        assert sorted(mixed) == list("abcdefgh") and mixed[-1] == "h"
        assert all(a != b for a, b in zip(mixed[:-1], "abcdefg", strict=True))
    assert shuffled(["a", "a", "a", "z"], rng) is None
    heavy = shuffled(["a", "a", "a", "b", "z"], rng)
    assert heavy is not None and heavy[:4] != ["a", "a", "a", "b"]


def test_audit_takes_a_model():
    result = audit(
        read("winograd-collocation"), model=lambda prompts, options: [nouns(p)[0] for p in prompts], shuffles=2
    )
    assert result.retention is not None and result.retention.intact.mean == 0.5
    assert result.as_dict()["certificate"]["shuffles"] == 2
