"""Each auditor finds the cheat it was made for, and nothing where there is nothing."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe.audit import audit, bags, company, fluency, partial, single
from probe.audit.ceiling import ceiling
from probe.audit.choice import choose, differences, fit_two
from probe.audit.groups import find_groups, grouped_folds, random_folds
from probe.audit.material import material, normalised
from probe.audit.order_bits import order_bits
from probe.audit.table import AUDITORS
from probe.tasks.readers import Question, Reading

WORDS = [f"w{i}" for i in range(40)]
NAMES = [f"n{i}" for i in range(12)]


def sentences(n, rng, tell=0.0):
    questions = []
    for i in range(n):
        good, bad = rng.choices(WORDS, k=7), rng.choices(WORDS, k=7)
        if rng.random() < tell:
            good.append("yes")
            bad.append("no")
        questions.append(Question(options=(" ".join(good), " ".join(bad)), answer=0, pair_id=str(i)))
    return questions


def clozes(n, rng, decide):
    """Two names around a verb and a last word; `decide(a, b, word)` is the answer."""
    questions = []
    for _ in range(n):
        a, b = rng.sample(NAMES, 2)
        word = rng.choice(WORDS[:8])
        prompt = f"{a} saw {b} because {word}"
        questions.append(Question(prompt=prompt, options=(a, b), answer=(a, b).index(decide(a, b, word))))
    return questions


PLANTED = {
    "candidate-position": lambda a, b, w, r: b,
    "prior": lambda a, b, w, r: min(a, b, key=lambda name: NAMES.index(name) % 2 + r.random() * 0.01),
    "bag-of": lambda a, b, w, r: min(a, b, key=lambda name: ((NAMES.index(name) + WORDS.index(w)) % 2, name)),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_clozes_are_named(name, reading_of):
    rng = random.Random(name)
    questions = clozes(500, rng, lambda a, b, w: PLANTED[name](a, b, w, rng))
    result = audit(reading_of("cloze", questions))
    assert result.verdict == "cheatable" and result.by[0].startswith(name), result.headline


def test_counting_collocation_and_fluency(reading_of):
    rng = random.Random(1)
    ioi, company_kept = [], []
    for _ in range(300):
        a, b = rng.sample(NAMES, 2)
        first, second = rng.sample([a, b], 2)
        names = tuple(sorted((a, b)))
        prompt = f"{first} and {second} went out and {a} gave it to"
        ioi.append(Question(prompt=prompt, options=names, answer=names.index(b)))
        c, d = rng.sample(range(12), 2)
        word = f"own{c % 4}"
        if c % 4 != d % 4:
            pair = rng.sample([c, d], 2)
            options = tuple(NAMES[k] for k in pair)
            prompt = f"{options[0]} saw {options[1]} because {word}"
            company_kept.append(Question(prompt=prompt, options=options, answer=pair.index(c)))
    assert audit(reading_of("cloze", ioi)).by[0] == "counting"
    result = audit(reading_of("cloze", company_kept))
    assert result.finding("collocation").accuracy > 0.9 and result.by[0] == "collocation"


def test_a_planted_token_is_found_with_its_strength(reading_of):
    result = audit(reading_of("pair", sentences(600, random.Random(0), tell=0.4)))
    assert result.verdict == "cheatable"
    found = result.finding("single-token")
    assert found.accuracy == pytest.approx(0.7, abs=0.05)
    assert {token.feature for token in result.tokens[:2]} == {"yes", "no"}
    assert len(found.examples) == 5 and all("yes" in example for example in found.examples)


def test_nothing_planted_is_not_cheatable(reading_of):
    result = audit(reading_of("pair", sentences(600, random.Random(5))))
    assert result.verdict in ("clean", "underpowered")


def test_permuted_labels_are_at_chance(reading_of):
    """Keep the texts, exchange right and wrong at random: whatever told the answer is gone."""
    rng = random.Random(2)
    flipped = [
        Question(options=q.options if rng.random() < 0.5 else q.options[::-1], answer=0)
        for q in sentences(800, rng, tell=1.0)
    ]
    result = audit(reading_of("pair", flipped))
    assert all(abs(f.accuracy - 0.5) < 0.06 for f in result.findings)
    assert result.verdict in ("clean", "underpowered")


def test_labels(reading_of):
    rng = random.Random(4)
    questions = []
    for _ in range(400):
        y = int(rng.random() < 0.7)
        text = rng.choices(WORDS, k=8) + (["yes"] if y and rng.random() < 0.8 else [])
        questions.append(Question(prompt=" ".join(text), options=(), answer=y))
    result = audit(reading_of("label", questions, ("no", "yes")))
    assert result.chance == pytest.approx(np.mean([q.answer for q in questions]))
    assert result.verdict == "cheatable"
    coin = [Question(prompt=q.prompt, options=(), answer=int(rng.random() < 0.7)) for q in questions]
    assert audit(reading_of("label", coin, ("no", "yes"))).verdict in ("clean", "underpowered")


def test_a_token_of_labelled_texts_is_tested_against_their_share(material_of):
    """Labels dealt 60 to 40 at random: no token tells. One that does is seen, and its absence is no guess of 1/2."""
    rng = random.Random(12)
    texts = [" ".join(rng.sample(WORDS, 8)) for _ in range(600)]
    coin = [Question(prompt=text, options=(), answer=int(i % 5 > 1)) for i, text in enumerate(texts)]
    found = material_of("label", coin, ("no", "yes"))
    assert min(token.p for token in single.z_scores(found)) > 0.2
    folds = grouped_folds(np.arange(600))
    assert np.mean(single.best_token(bags.words)(found, folds).credit) == pytest.approx(0.6, abs=0.03)
    told = [replace(q, prompt=f"{q.prompt} not") if not q.answer and i % 2 else q for i, q in enumerate(coin)]
    found = material_of("label", told, ("no", "yes"))
    first = single.z_scores(found)[0]
    assert (first.feature, first.right, first.n) == ("not", 0, 120)
    assert first.z == pytest.approx(-120 * 0.6 / np.sqrt(120 * 0.6 * 0.4))
    assert np.mean(single.best_token(bags.words)(found, folds).credit) == pytest.approx(0.8)


def test_many_options_and_ties(reading_of):
    rng = random.Random(6)
    questions = []
    for _ in range(150):
        options = rng.sample(NAMES, 4)
        good = rng.randrange(4)
        prompt = f"who is {options[good]} friend" if rng.random() < 0.9 else "who"
        questions.append(Question(prompt=prompt, options=tuple(options), answer=good))
    result = audit(reading_of("cloze", questions))
    assert result.chance == 0.25
    assert result.finding("counting").accuracy > 0.85
    nothing = [Question(prompt=f"x{i}", options=q.options, answer=q.answer) for i, q in enumerate(questions)]
    flat = audit(reading_of("cloze", nothing)).finding("counting")
    assert flat.accuracy == pytest.approx(0.25)  # a tie earns 1/k


def test_one_group_is_never_clean(reading_of):
    same = [Question(prompt="x", options=("a", "b"), answer=i % 2) for i in range(50)]
    result = audit(reading_of("cloze", same))
    assert result.verdict == "underpowered" and not result.findings


SEE_ORDER = ("candidate-position", "fixed-order", "agreement")  # a place; and two that learn from places in training
ORDER_BLIND = [a.name for a in AUDITORS if a.counts and a.name not in SEE_ORDER]


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(["pair", "cloze"]))
def test_order_blind_auditors_do_not_move_when_words_are_shuffled(seed, kind):
    """The defining property: the same words in any order, the same answers."""
    rng = random.Random(seed)
    if kind == "pair":
        questions = sentences(60, rng, tell=0.3)
        mixed = [replace(q, options=tuple(shuffle(o, rng) for o in q.options)) for q in questions]
    else:
        questions = clozes(60, rng, lambda a, b, w: min(a, b))
        mixed = [Question(prompt=shuffle(q.prompt, rng), options=q.options, answer=q.answer) for q in questions]
    counts = {"records": 60, "used": 60, "malformed": 0, "unlabelled": 0, "sampled_out": 0}
    one, two = (
        material(Reading(source="", format="", kind=kind, questions=tuple(q), **counts), "normalised", normalised)
        for q in (questions, mixed)
    )
    folds = grouped_folds(np.arange(60))
    for auditor in AUDITORS:
        if auditor.name in ORDER_BLIND and kind in auditor.kinds and auditor.name != "option-index":
            if kind == "cloze" and one.index_is_order != two.index_is_order:
                continue
            before, after = (auditor.answer(m, folds).credit for m in (one, two))
            np.testing.assert_array_equal(before, after, err_msg=auditor.name)


def shuffle(text, rng):
    words = text.split()
    rng.shuffle(words)
    return " ".join(words)


def test_the_hash_of_words_is_in_no_answer():
    """Python hashes strings anew in each process: features in the order of a set would be learned in another order."""
    code = (
        "from dataclasses import asdict; from probe.audit import audit; from probe.tasks.readers import read;"
        "result = audit(read('winograd-fixed-order', max_questions=60));"
        "print([asdict(f) for f in result.findings], result.order)"
    )
    env = {"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "OMP_NUM_THREADS": "1"}
    found = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, env=env | {"PYTHONHASHSEED": seed}
        ).stdout
        for seed in "12"
    }
    assert len(found) == 1


def test_equal_bags_are_exactly_at_chance(reading_of):
    rng = random.Random(7)
    questions = []
    for _ in range(200):
        words = rng.sample(WORDS, 6)
        questions.append(Question(options=(" ".join(words), " ".join(reversed(words))), answer=0))
    result = audit(reading_of("pair", questions))
    assert result.verdict == "clean" and result.ceiling.accuracy == 0.5 and result.ceiling.equal_bags == 1.0
    assert all(f.accuracy == 0.5 and f.low == f.high == 0.5 for f in result.findings if f.counts)


def test_ceiling_oracles(material_of):
    pair = [Question(options=("a b", "b a"), answer=0), Question(options=("c d", "c e"), answer=0)]
    assert ceiling(material_of("pair", pair)).accuracy == 0.75
    assert ceiling(material_of("pair", pair)).with_last == 1.0
    cloze = [
        Question(prompt="a saw b", options=("a", "b"), answer=0),
        Question(prompt="b saw a", options=("b", "a"), answer=0),
        Question(prompt="b saw a", options=("b", "a"), answer=0),
    ]
    assert ceiling(material_of("cloze", cloze)).accuracy == pytest.approx(2 / 3)


def test_no_choice_between_two_bags_beats_the_ceiling(material_of):
    """Which of two is right may depend on both: the shorter of two, or a > b > c > a, is no table of sentences."""
    longer = [Question(options=("very " * k + "good", "very " * (k + 1) + "good"), answer=0) for k in range(60)]
    assert ceiling(material_of("pair", longer)).accuracy == 1.0
    circle = [Question(options=options, answer=0) for options in (("a", "b"), ("b", "c"), ("c", "a"))]
    assert ceiling(material_of("pair", circle * 2)).accuracy == 1.0
    both_ways = [Question(options=options, answer=0) for options in (("a b", "c"), ("c", "b a"), ("a b", "c"))]
    found = ceiling(material_of("pair", both_ways))
    assert (found.accuracy, found.with_last, found.repeated) == (pytest.approx(2 / 3), 1.0, 1.0)


def test_the_learner_is_logistic_regression_on_differences(material_of):
    """One feature, right in 30 of 40 rows: the weight is where the regularised likelihood's slope is 0."""
    questions = [Question(options=("good", "x"), answer=0)] * 30 + [Question(options=("x", "good"), answer=0)] * 10
    found = material_of("pair", questions)
    design = differences(found, lambda m, i: [{"good": float("good" in o)} for o in m.options[i]])
    [w] = fit_two(design.rows)
    slope = 30 / (1 + np.exp(w)) - 10 / (1 + np.exp(-w)) - w
    assert abs(slope) < 0.02


def test_agreement_needs_endings_that_carry_over(reading_of, material_of):
    rng = random.Random(8)
    questions = []
    stems = ["cansad", "lent", "enferm", "asustad", "mojad", "anch"]
    nouns = [("perro", "vaca"), ("gato", "oveja"), ("toro", "cabra"), ("burro", "mula")]
    for masculine, feminine in nouns:
        for options in ((masculine, feminine), (feminine, masculine)):
            for stem in stems:
                for ending, meant in (("o", masculine), ("a", feminine)):
                    prompt = f"su {options[0]} vio su {options[1]} y estaba {stem}{ending}"
                    questions.append(Question(prompt=prompt, options=options, answer=options.index(meant)))
    rng.shuffle(questions)
    found = material_of("cloze", questions)
    folds = grouped_folds(find_groups(found).index)
    answers = company.agreement(found, folds)
    assert np.nanmean(answers.credit) > 0.95
    scrambled = {f"{s}{e}": f"z{k}q{k}" for k, (s, e) in enumerate((s, e) for s in stems for e in "oa")}
    parts = [q.prompt.rsplit(" ", 1) for q in questions]
    unrelated = [
        replace(q, prompt=f"{head} {scrambled[last]}") for q, (head, last) in zip(questions, parts, strict=True)
    ]
    none = material_of("cloze", unrelated)
    assert np.nanmean(company.agreement(none, folds).credit) == pytest.approx(0.5, abs=0.02)
    assert np.nanmean(choose(none, random_folds(len(none)), bags.words).credit) > 0.7


def test_fixed_order_needs_a_ranking(material_of):
    rng = random.Random(9)
    ranked = []
    for _ in range(300):
        i, j = sorted(rng.sample(range(12), 2))
        word = rng.choice(["x", "y"])
        options = (NAMES[i], NAMES[j])
        ranked.append(
            Question(prompt=f"{options[0]} saw {options[1]} {word}", options=options, answer=int(word == "y"))
        )
    found = material_of("cloze", ranked)
    folds = grouped_folds(find_groups(found).index)
    assert np.nanmean(company.fixed_order(found, folds).credit) > 0.8
    category = []
    for q in ranked:
        a, p = f"a{q.options[0]}", f"p{q.options[1]}"
        category.append(replace(q, prompt=f"{a} saw {p} {q.prompt[-1]}", options=(a, p)))
    assert np.nanmean(company.fixed_order(material_of("cloze", category), folds).credit) == 0.5


def test_fluency_sees_no_label_and_copying_sees_the_class(material_of):
    rng = random.Random(10)
    common = []
    for _ in range(200):
        options = tuple(" ".join(rng.choices(words, k=5)) for words in (WORDS[:5], WORDS[5:]))
        common.append(Question(options=options, answer=0))
    found = material_of("pair", common)
    assert np.nanmean(fluency.unigram(found, grouped_folds(np.arange(200))).credit) > 0.95
    years = [f"{c}{y:02d}" for c in range(11, 18) for y in range(2, 40)]
    classes = tuple(f"{y:02d}" for y in range(2, 40))
    questions = [
        Question(prompt=f"from the year {year} to", options=(), answer=classes.index(year[2:])) for year in years
    ]
    found = material_of("label", questions, classes)
    assert np.nanmean(single.copying(found, grouped_folds(np.arange(len(years)))).credit) == 1.0


@pytest.mark.parametrize("word", ["tired", "worn-out", "don't-care", "New York"])
def test_a_slot_is_dropped_with_all_its_tokens(word, material_of):
    """However its word is cut into tokens, the bag without it is the bag of the rest."""
    question = Question(prompt=f"ann saw bo because {word} .", options=("ann", "bo"), answer=0, slots={"why": word})
    rest = Question(prompt="ann saw bo because .", options=("ann", "bo"), answer=0)
    dropped = partial.without("why")(material_of("cloze", [question]), 0)
    assert dropped == bags.words(material_of("cloze", [rest]), 0)


def test_order_in_bits(material_of):
    rng = random.Random(11)
    ordered = []
    for _ in range(400):
        words = rng.sample(WORDS, 4)
        ordered.append(Question(options=(" ".join(["start", *words]), " ".join([*words, "start"])), answer=0))
    found = material_of("pair", ordered)
    bits = order_bits(found, find_groups(found))
    assert bits.bag == pytest.approx(1.0) and bits.difference > 0.7 and bits.low > 0.5
    noise = material_of("pair", sentences(400, rng))
    assert order_bits(noise, find_groups(noise)).difference < 0.1
