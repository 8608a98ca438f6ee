"""Twins stay together, whatever the data look like."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe.audit.groups import find_groups, grouped_folds, random_folds, shipped_fold
from probe.audit.leaks import find_leaks, judge
from probe.audit.material import material, normalised, raw, unspaced
from probe.tasks.readers import Question


@settings(max_examples=80, deadline=None)
@given(index=st.lists(st.integers(0, 12), min_size=1, max_size=60), seed=st.integers(0, 3))
def test_grouped_folds_test_each_question_once_and_split_no_group(index, seed):
    numbers = {g: k for k, g in enumerate(dict.fromkeys(index))}
    groups = np.array([numbers[g] for g in index])
    folds = grouped_folds(groups, seed=seed)
    if groups.max() == 0:
        assert folds == []
        return
    tested = np.concatenate([test for _, test in folds])
    assert sorted(tested.tolist()) == list(range(len(index)))
    for train, test in folds:
        assert not set(groups[train]) & set(groups[test])
        assert len(train) + len(test) == len(index)


def test_folds_are_near_equal():
    sizes = [len(test) for _, test in grouped_folds(np.arange(103))]
    assert max(sizes) - min(sizes) <= 1
    assert sum(len(test) for _, test in random_folds(7)) == 7


def test_related_questions_share_a_group(material_of):
    questions = [
        Question(prompt="ann saw bo", options=("ann", "bo"), answer=0),
        Question(prompt="bo saw ann", options=("bo", "ann"), answer=0),  # the same bag
        Question(prompt="cy saw di", options=("cy", "di"), answer=0, pair_id="p"),
        Question(prompt="cy met di", options=("cy", "di"), answer=1, pair_id="p"),
        Question(prompt="ed saw flo", options=("ed", "flo"), answer=0),
    ]
    groups = find_groups(material_of("cloze", questions))
    assert groups.index[0] == groups.index[1] and groups.index[2] == groups.index[3]
    assert len(set(groups.index)) == 3


def test_one_template_for_all_is_no_relation(material_of):
    names = [(f"a{i}", f"b{i}") for i in range(40)]
    questions = [Question(prompt=f"{a} saw {b}", options=(a, b), answer=i % 2) for i, (a, b) in enumerate(names)]
    groups = find_groups(material_of("cloze", questions))
    assert groups.count == 40 and "templates" in groups.left_out


def test_a_training_set_of_other_templates_makes_one_template_no_relation(reading_of):
    """What joins nearly all that is asked is left out, however little it joins of what is only trained on."""
    asked = [Question(prompt=f"a{i} saw b{i}", options=(f"a{i}", f"b{i}"), answer=i % 2) for i in range(40)]
    train = [Question(prompt=f"c{i} verb{i // 2} d{i}", options=(f"c{i}", f"d{i}"), answer=i % 2) for i in range(400)]
    mask = np.arange(440) < 40
    groups = find_groups(material(reading_of("cloze", [*asked, *train]), "normalised", normalised, mask))
    assert groups.left_out == ("templates",) and groups.among(mask).count == 40


def test_templates_of_a_few_questions_each_are_a_relation(material_of):
    questions = [
        Question(prompt=f"the {a}{i} verb{i} the {b}{i}", options=(f"{a}{i}", f"{b}{i}"), answer=k)
        for i in range(30)
        for k, (a, b) in enumerate([("x", "y"), ("v", "w")])
    ]
    groups = find_groups(material_of("cloze", questions))
    assert groups.count == 30 and "templates" in groups.used


def test_shipped_fold(material_of):
    sides = ["train", "held_out", "validation", "train"]
    questions = [Question(options=(f"a {i}", f"b {i}"), answer=0, split=s) for i, s in enumerate(sides)]
    [(train, test)] = shipped_fold(material_of("pair", questions))
    assert train.tolist() == [0, 3] and test.tolist() == [1]
    assert shipped_fold(material_of("pair", [Question(options=("a", "b"), answer=0)])) == []


def test_tokenisations(reading_of):
    assert normalised("Who hugs Richard?") == normalised("who hugs richard ?")
    assert raw("Who hugs Richard?")[-1] == "Richard?"
    for word in ("हिन्दी", "שָׁלוֹם", "مُحَمَّد", "می\u200cخواهم", "don't", "e\u0323\u0302"):  # a mark ends no word
        assert len(normalised(f"{word}. {word}")) == 3
    assert normalised("cafe\u0301 İ") == normalised("CAFÉ İ")
    chinese = reading_of("pair", [Question(options=("猫坐在垫子上", "垫子坐在猫上"), answer=0)])
    english = reading_of("pair", [Question(options=("a cat", "cat a"), answer=0)])
    assert unspaced(chinese) and not unspaced(english)


def test_mentions_and_order_of_options(reading_of):
    questions = [Question(prompt="The big trophy hit the box.", options=("the box", "the big trophy"), answer=0)] * 3
    found = material(reading_of("cloze", questions), "normalised", normalised)
    assert found.mentions[0] == (4, 0)
    assert found.index_is_order  # always backwards: an index would tell the order
    forward = Question(prompt="the box hit the big trophy", options=("the box", "the big trophy"), answer=0)
    mixed = [questions[0], forward]
    assert not material(reading_of("cloze", mixed), "normalised", normalised).index_is_order


def test_coins_of_twins_cancel(material_of):
    """A guess depends on the bag alone: of two questions with one bag and opposite answers it gets one right."""
    questions = []
    for i in range(50):
        a, b = f"a{i}", f"b{i}"
        questions += [
            Question(prompt=f"{a} saw {b}", options=(a, b), answer=0, group=str(i)),
            Question(prompt=f"{b} saw {a}", options=(b, a), answer=0, group=str(i)),
        ]
    coins = material_of("cloze", questions).coins
    by_group = defaultdict(float)
    for question, coin in zip(questions, coins, strict=True):
        by_group[question.group] += coin
    assert set(by_group.values()) == {1.0}
    assert 10 < coins[::2].sum() < 40


@pytest.mark.parametrize(("shared", "leaked"), [(0, False), (1, False), (2, True), (6, True)])
def test_what_stands_on_both_sides_is_a_leak_from_a_hundredth_on(shared, leaked, material_of):
    """Whatever the margin, which is about accuracy; fewer are noted."""
    test = [Question(options=(f"good{i} x", f"bad{i} x"), answer=0, split="held_out") for i in range(200)]
    train = [replace(q, split="train") for q in test[:shared]] + [Question(options=("y", "z"), answer=0, split="train")]
    found = material_of("pair", [*test, *train])
    leaks = find_leaks(found, find_groups(found), *shipped_fold(found)[0])
    for margin in (0.01, 0.05, 0.4):
        [leak] = [
            leak
            for leak in judge(leaks, chance=0.5, margin=margin, best=1.0, declared_split="")
            if leak.relation == "word for word"
        ]
        assert leak.leaked == leaked and bool(leak.reason) == bool(shared)
