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


def of_labels(material_of, rng, tell, sizes):
    """Texts of class 1 six times in ten, whole groups of one class."""
    questions = []
    for g, size in enumerate(sizes):
        truth = int(g % 5 > 1)
        for _ in range(size):
            word = f"yes{truth}" if rng.random() < tell else rng.choice(WORDS)
            questions.append(Question(prompt=" ".join([*rng.choices(WORDS, k=4), word]), options=(), answer=truth))
    material = material_of("label", questions, ("no", "yes"))
    index = np.repeat(np.arange(len(sizes)), sizes)
    folds = grouped_folds(index, seed=rng.randrange(99))
    rows = [differences(material, bags.words).rows] * len(folds)
    clusters = Clusters(index=index, seed=rng.randrange(99))
    return refit_null(rows, folds, clusters, labels=material.answers, refits=199)


def test_the_null_of_labels_keeps_their_shares(material_of):
    """Six in ten is what a guess gets: exchanged labels would be half and half, and every guess above that."""
    p = np.array([of_labels(material_of, random.Random(seed), 0.0, [4] * 40).p_above for seed in range(40)])
    assert (p <= 0.05).mean() <= 0.13 and 0.3 < np.median(p) < 0.7
    assert of_labels(material_of, random.Random(1), 1.0, [2] * 30 + [3] * 20).p_above <= 0.01
    assert of_labels(material_of, random.Random(2), 1.0, range(1, 15)) is None, "no two groups are of one size"
