"""Our own tasks: each cheat is caught by the auditor it was made for, and the hard ones are clean."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from probe.audit import audit
from probe.audit.conclude import conclude
from probe.audit.declared import declared, undeclared
from probe.report.audit import terminal
from probe.tasks.dataset import make_dataset, save_dataset
from probe.tasks.readers import read
from probe.tasks.readers.own import of_dataset
from probe.tasks.readers.questions import Ledger
from probe.tasks.spec import load_task, task_names

audited = cache(lambda task: audit(read(task)))

CAUGHT = {
    "winograd-easy": "bag-of-words",
    "winograd-fixed-order": "fixed-order",
    "winograd-prior": "prior",
    "winograd-collocation": "collocation",
    "winograd-es-agreement": "agreement",
    "winograd-ru-agreement": "agreement",
}


@pytest.mark.parametrize("task", CAUGHT)
def test_cheats_are_caught_and_named(task):
    result = audited(task)
    assert result.verdict == "cheatable" and not result.leaked
    assert result.by[0] == CAUGHT[task], result.headline
    assert result.finding(CAUGHT[task]).accuracy > 0.85


@pytest.mark.parametrize("task", ["winograd-hard", "winograd-es", "winograd-ru"])
def test_the_hard_ones_are_clean(task):
    result = audited(task)
    assert result.verdict == "clean" and result.margin == 0.05, result.headline
    assert result.ceiling.accuracy == 0.5 and result.ceiling_verdict[0] == "clean"
    assert all(f.accuracy == 0.5 for f in result.findings if f.counts)
    assert result.finding("mention-and-word").accuracy == 1.0  # needs order, and no more than order of mention
    assert result.order.low > 0.5


def test_the_leaky_split_is_leaked():
    result = audited("winograd-leaky-split")
    assert result.verdict == "leaked" and result.by[0] == "pair ids", result.headline


SMALLER = {"split.train": 1000, "split.held_out": 100, "split.validation": 50}


@cache
def claims_of(task):
    """The task's own claims; sequence tasks with fewer sentences, to be quick."""
    smaller = SMALLER if load_task(task).language == "none" else {}
    return audit(of_dataset(make_dataset(load_task(task, smaller)), task, Ledger(task)))


@pytest.mark.parametrize("task", task_names())
def test_every_task_is_what_it_declares(task):
    result, spec = claims_of(task), load_task(task)
    assert [one.cheat for one in result.declared] == [*spec.stops, *spec.allows]
    assert not result.misdeclared, (result.undeclared, result.declared)
    assert all(one.holds for one in result.declared if one.allowed), "what is left open on purpose is open"
    assert bool(spec.allows) == (result.verdict != "clean")


def test_a_place_that_answers_makes_no_bag_sufficient():
    """Induction: the candidate mentioned first is always right, and no trained bag is above chance."""
    result = claims_of("induction")
    assert result.finding("candidate-position").accuracy == result.ceiling.accuracy == 1.0
    assert result.ceiling_verdict[0] == "open"


def test_a_claim_can_fail():
    """Declared the other way round, or not at all, the same sentences are misdeclared."""
    easy, hard = read("winograd-easy"), read("winograd-hard")
    wrong = audit(replace(easy, stops=("bag-of-words",), allows=()))
    assert [one.holds for one in wrong.declared] == [False] and wrong.undeclared == "bag-of-words"
    silent = audit(replace(easy, stops=("leaky-split",), allows=()))
    assert silent.misdeclared and silent.undeclared == "bag-of-words", "open, and not said to be"
    shut = audit(replace(hard, allows=("fixed-order", "leaky-split", "partial-input"), stops=()))
    assert [one.holds for one in shut.declared] == [False, False, False] and not shut.undeclared
    leaky = audit(replace(read("winograd-leaky-split"), allows=()))
    assert leaky.undeclared == "leaks by pair ids"
    assert audit(replace(easy, stops=(), allows=())).misdeclared is False, "who declares nothing is held to nothing"


def claiming(result, *, stops=(), allows=()):
    """The result as if its task had declared this, judged anew."""
    result = conclude(replace(result, reading=replace(result.reading, stops=stops, allows=allows)))
    return replace(result, declared=declared(result), undeclared=undeclared(result))


def ruled(result, **verdicts):
    """The result with other verdicts of its auditors; `others` for those not named."""
    others = verdicts.pop("others", None)
    named = {name.replace("_", "-"): verdict for name, verdict in verdicts.items()}
    findings = tuple(replace(f, verdict=named.get(f.auditor, others or f.verdict)) for f in result.findings)
    return replace(result, findings=findings)


def test_an_allowed_cheat_hides_no_leak():
    easy, leaky = audited("winograd-easy"), audited("winograd-leaky-split")
    both = claiming(replace(easy, leaks=leaky.leaks), allows=("bag-of-words",))
    assert both.verdict == "cheatable" and both.undeclared == "leaks by pair ids"
    assert "NOT DECLARED: it leaks by pair ids, and the task" in terminal(both)
    assert not claiming(replace(easy, leaks=leaky.leaks), allows=("bag-of-words", "leaky-split")).undeclared
    assert "NOT DECLARED: bag-of-words answers it, and the task" in terminal(claiming(easy, stops=("prior",)))


def test_far_below_chance_is_a_leak_but_not_one_of_the_split():
    below = ruled(audited("winograd-hard"), bag_of_words="leaked")
    result = claiming(below, stops=("leaky-split",))
    assert result.verdict == "leaked" and result.undeclared == "leaks by bag-of-words"
    assert [one.holds for one in result.declared] == [True], "train and test share nothing"
    assert not claiming(below, allows=("leaky-split",)).undeclared


def test_what_stops_bags_stops_the_ways_to_it():
    prior = ruled(audited("winograd-prior"), others="clean", prior="cheatable")
    assert [one.holds for one in claiming(prior, stops=("bag-of-words",)).declared] == [False]
    assert [one.holds for one in claiming(prior, allows=("bag-of-words",)).declared] == [False], "no bag finds it"
    by_bag = ruled(audited("winograd-collocation"), others="clean", bag_of_words="cheatable", prior="cheatable")
    assert by_bag.finding("prior").accuracy < by_bag.finding("bag-of-words").accuracy - by_bag.margin
    assert not claiming(by_bag, allows=("prior",)).undeclared, "a bag finds what a prior tells"
    assert claiming(by_bag, allows=("fixed-order",)).undeclared == "bag-of-words", "not a way that is shut"


def test_the_exact_ceiling_proves_or_withholds_the_claim_to_stop_bags():
    hard = audited("winograd-hard")
    few = claiming(ruled(hard, others="underpowered"), stops=("bag-of-words", "prior"))
    assert [one.holds for one in few.declared] == [True, None], "of a bag the count is a proof, of nothing else"
    for repeated, holds in ((0.8, None), (0.2, True)):
        higher = replace(hard.ceiling, accuracy=0.8, repeated=repeated)
        result = replace(hard, ceiling=higher, ceiling_verdict=higher.verdict(0.5, 0.05, 0.5))
        assert [one.holds for one in claiming(result, stops=("bag-of-words",)).declared] == [holds]


def test_reversed_twins_are_a_leak_unless_declared():
    """The same sentences without the task's declaration: a lookup far below chance is never clean, never flipped."""
    reading = read("winograd-hard")
    declared = audited("winograd-hard")
    foreign = audit(replace(reading, declared_split=""))
    assert declared.verdict == "clean" and any("declared design" in note for note in declared.notes)
    assert foreign.verdict == "leaked"
    [bags] = [leak for leak in foreign.leaks if leak.relation == "identical bags"]
    assert bags.shared == 1.0 and bags.flipped == 1.0 and bags.lookup.mean == 0.0


def test_a_generated_folder_is_read_as_the_task(tmp_path):
    dataset = make_dataset(load_task("winograd-prior"))
    save_dataset(dataset, tmp_path / "set")
    assert read(tmp_path / "set").questions == read("winograd-prior").questions
    lines = read(tmp_path / "set" / "train.jsonl")
    assert lines.used == len(dataset.train) and lines.questions[0] == replace(
        read("winograd-prior").questions[0], record=1
    )


def test_against_finds_what_two_files_share(tmp_path):
    dataset = make_dataset(load_task("winograd-leaky-split"))
    save_dataset(dataset, tmp_path / "set")
    train, test = (read(tmp_path / "set" / f"{side}.jsonl") for side in ("train", "held_out"))
    result = audit(test, against=train)
    assert result.leaked and "pair ids" in result.by
    assert result.finding("bag-of-words").n == len(dataset.held_out)
    apart = audit(read("winograd-collocation"), against=read("winograd-es-agreement"))
    assert not any(leak.leaked or leak.shared for leak in apart.leaks)
