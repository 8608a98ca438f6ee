"""The refitting null: uniform where nothing is found, small where something is, wider where groups share words."""

from __future__ import annotations

import random

import numpy as np
import pytest

from probe.audit import bags
from probe.audit.choice import choose, differences
from probe.audit.groups import grouped_folds
from probe.audit.refit import refit_null
from probe.audit.statistics import Clusters
from probe.tasks.readers import Question

WORDS = [f"w{i}" for i in range(25)]


def made(rng, groups, size, tell):
    """Groups of `size` questions with one answer each, which their words tell with probability `tell`."""
    questions = []
    for g in range(groups):
        truth = rng.randrange(2)
        for _ in range(size):
            word = f"yes{truth}" if rng.random() < tell else rng.choice(WORDS)
            words = [*rng.choices(WORDS, k=4), word, f"g{g}"]
            questions.append(Question(prompt=" ".join(words), options=("a", "b"), answer=truth, group=str(g)))
    return questions


def nulls(material_of, tell, repeats, groups=40, size=4):
    for seed in range(repeats):
        material = material_of("cloze", made(random.Random(seed), groups, size, tell))
        index = np.repeat(np.arange(groups), size)
        folds = grouped_folds(index, seed=seed)
        yield (
            material,
            folds,
            refit_null(
                [differences(material, bags.words).rows] * len(folds),
                folds,
                Clusters(index=index, seed=seed),
                refits=199,
            ),
        )


def test_the_null_is_uniform(material_of):
    p = np.array([null.p_above for _, _, null in nulls(material_of, 0.0, 60)])
    assert (p <= 0.05).mean() <= 0.12 and 0.3 < np.median(p) < 0.7


def test_a_real_effect_is_seen_and_the_stand_in_stands_in(material_of):
    for material, folds, null in nulls(material_of, 1.0, 3):
        assert null.p_above <= 0.01 and null.p_below > 0.9
        assert null.observed == pytest.approx(np.nanmean(choose(material, folds, bags.words).credit), abs=0.08)


def test_questions_on_their_own_need_no_inflation(material_of):
    for _, _, null in nulls(material_of, 0.0, 3, groups=150, size=1):
        assert 1.0 <= null.inflation < 1.5
