"""With a training set given apart, every number is of the questions that are audited."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from probe.audit import audit, trial
from probe.tasks.dataset import make_dataset, save_dataset
from probe.tasks.examples import alone
from probe.tasks.readers import Question, read
from probe.tasks.readers.own import of_dataset, of_examples
from probe.tasks.readers.questions import Ledger
from probe.tasks.spec import load_task

WORDS = [f"w{i}" for i in range(40)]
REST = [f"w{i}" for i in range(40, 80)]


def labelled(n, rng, positive, tell):
    """Texts of which `positive` have class 1, told by a word in a share `tell` of them."""
    questions = []
    for _ in range(n):
        y = int(rng.random() < positive)
        hint = ("no", "yes")[y if rng.random() < tell else 1 - y]
        questions.append(Question(prompt=" ".join([*rng.choices(WORDS, k=6), hint]), options=(), answer=y))
    return questions


def swapped(n, rng, words=WORDS):
    """Pairs of one bag: nothing order-blind tells them apart; each stands twice."""
    questions = []
    for _ in range(n // 2):
        drawn = rng.sample(words, 6)
        questions += [Question(options=(" ".join(drawn), " ".join(reversed(drawn))), answer=0)] * 2
    return questions


def told(n, rng):
    """Pairs that one word tells."""
    return [
        Question(
            options=(" ".join([*rng.choices(REST, k=5), "yes"]), " ".join([*rng.choices(REST, k=5), "no"])), answer=0
        )
        for _ in range(n)
    ]


def test_chance_is_that_of_the_audited_questions(reading_of):
    """The most frequent label of an unbalanced training set is no floor for a balanced test set."""
    rng = random.Random(0)
    test, train = (
        reading_of("label", labelled(n, rng, positive, 0.8), ("no", "yes")) for n, positive in ((300, 0.5), (900, 0.9))
    )
    result = audit(test, against=train)
    share = np.mean([q.answer for q in test.questions])
    assert result.chance == max(share, 1 - share) < 0.6
    assert result.finding("bag-of-words").accuracy < np.mean([q.answer for q in train.questions])
    assert result.cheatable
    assert result.finding("single-token").weights[0] == (result.tokens[0].feature, result.tokens[0].z)


def test_what_is_only_trained_on_is_in_no_number(reading_of):
    """Training pairs that a word tells, audited pairs that no bag can: at chance, exactly, in every respect."""
    rng = random.Random(1)
    test, train = reading_of("pair", swapped(200, rng)), reading_of("pair", told(300, rng), source="train.jsonl")
    result = audit(test, against=train)
    bag = result.finding("bag-of-words")
    assert (bag.n, bag.accuracy, bag.ungrouped, bag.pair_accuracy) == (200, 0.5, 0.5, 0.0)
    assert result.ceiling.accuracy == 0.5 and result.ceiling.rows == 200 and result.ceiling_verdict[0] == "clean"
    assert "yes" not in {token.feature for token in result.tokens} and result.verdict == "clean"
    assert result.order.bag == pytest.approx(1.0)
    assert result.clusters == 100 and result.groups.startswith("200 questions in 100 groups")
    assert result.groups.endswith("300 more, of train.jsonl, are only trained on")


def test_a_pair_counts_as_right_out_of_the_audited_ones(reading_of):
    rng = random.Random(2)
    result = audit(reading_of("pair", told(100, rng)), against=reading_of("pair", told(300, rng)))
    assert result.finding("bag-of-words").pair_accuracy == 1.0


def test_a_model_is_asked_the_audited_questions_alone(reading_of):
    def clozes(side, n):
        names = [(f"{side}{i}", f"{side}{i + 1}") for i in range(n)]
        return [Question(prompt=f"{a} saw {b} who was {side} then", options=(a, b), answer=0) for a, b in names]

    seen = []

    def model(prompts, options):
        seen.extend(prompts)
        return [prompt[0] for prompt in prompts]

    test, train = reading_of("cloze", clozes("x", 40)), reading_of("cloze", clozes("y", 90))
    result = audit(test, against=train, model=model, shuffles=1)
    assert result.retention.n == result.certificate.n == 40 and result.retention.chance == 0.5
    assert len(seen) == 80 and all("x" in prompt for prompt in seen)


def test_a_declared_split_is_that_of_another_division(reading_of):
    """Reversed twins in a training set given apart are a leak: the task's own sides have been pooled."""
    dataset = make_dataset(load_task("winograd-hard"))
    train, test = (reading_of("cloze", of_examples(side)) for side in (dataset.train, dataset.held_out))
    assert audit(replace(test, declared_split="reversed-pair"), against=train).leaked


@pytest.mark.parametrize("task", ["induction", "previous-token"])
def test_two_draws_of_a_sequence_task_share_no_pairs(task, tmp_path):
    """A sequence has no partner: its number is another's in another draw, as a task and as a file."""
    spec = load_task(task, {"split.train": 60, "split.held_out": 60, "split.validation": 60})
    drawn = [make_dataset(spec, seed) for seed in (0, 1)]
    test, train = (of_dataset(dataset, task, Ledger(task)) for dataset in drawn)
    result = audit(test, against=train)
    assert not result.leaked and not any(leak.relation == "pair ids" for leak in result.leaks)
    save_dataset(drawn[0], tmp_path / "set")
    for question in (*test.questions, *read(tmp_path / "set" / "train.jsonl").questions):
        assert not question.pair_id and not alone(question.group)


@pytest.mark.parametrize("kind", ["pair", "cloze"])
def test_pair_ids_that_start_anew_in_each_file_are_no_leak(kind, reading_of):
    """A name alone joins nothing across files. With a bag or candidates in common it is the pair's other half."""

    def made(side, flip=False):
        names = [(f"{side}{i}", f"{side}{i} x") for i in range(60)]
        if kind == "pair":
            return [Question(options=(a, b), answer=0, pair_id=f"p{i}") for i, (a, b) in enumerate(names)]
        verbs = ("met", "saw")[flip], "helped"
        return [
            Question(prompt=f"{a} {verbs[i % 2]} {b} {i}{side}", options=(a, b), answer=i % 2, pair_id=f"p{i}")
            for i, (a, b) in enumerate(names)
        ]

    def torn(test, train):
        leaks = audit(reading_of(kind, test), against=reading_of(kind, train)).leaks
        return next(leak.leaked for leak in leaks if leak.relation == "pair ids")

    assert not torn(made("a"), made("b"))
    assert torn(made("a"), made("a", flip=True))


def test_learners_are_refitted_against_a_training_set_too(reading_of, monkeypatch):
    """Few audited groups: the interval is widened by what refits show, whatever is only trained on."""
    asked = []
    refit = trial.refit_null
    monkeypatch.setattr(trial, "refit_null", lambda *a, **k: asked.append(k["asked"].sum()) or refit(*a, **k))
    rng = random.Random(3)
    pairs = [
        [Question(options=(" ".join(rng.choices(w, k=6)), " ".join(rng.choices(w, k=6))), answer=0) for _ in range(n)]
        for n, w in ((60, WORDS), (120, WORDS))
    ]
    result = audit(reading_of("pair", pairs[0]), against=reading_of("pair", pairs[1]))
    assert asked and set(asked) == {60} and result.verdict == "underpowered"
