"""The two counts, against hand-made tables and against every sentence there is."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe.tasks.examples import Example
from probe.tasks.order_blind import bag, ceiling, transfer
from probe.tasks.spec import TokenSequence, load_task, parse_task

HARD = load_task("winograd-hard")


def example(prompt: str, answer: str, distractor: str) -> Example:
    tokens = tuple(prompt.split())
    first, second = sorted((answer, distractor), key=tokens.index)
    return Example(
        tokens=(*tokens, answer),
        candidates=(first, second),
        answer=answer,
        distractor=distractor,
        positions={"answer": len(tokens)},
        pair_id="",
        group="",
    )


def test_a_bag_forgets_order_and_keeps_counts():
    assert bag(example("a b a", "a", "b")) == bag(example("b a a", "b", "a")) == (("a", 2), ("b", 1))
    assert bag(example("a b b", "a", "b")) != bag(example("a b a", "a", "b"))


def test_the_ceiling_of_three_sentences_in_two_bags():
    """{a, b, w}: answers a, b, a: best is a, 2 of 3. {c, d, w}: 1 of 1."""
    sentences = [
        example("a b w", "a", "b"),
        example("b a w", "b", "a"),
        example("w a b", "a", "b"),
        example("c d w", "d", "c"),
    ]
    assert ceiling(HARD, sentences) == 3 / 4


def test_transfer_counts_hits_misses_ties_and_bags_never_seen():
    train = [
        example("a b w", "a", "b"),
        example("c d w", "c", "d"),
        example("d c w", "d", "c"),
    ]
    test = [
        example("b a w", "a", "b"),  # in the table, right: 1
        example("w b a", "b", "a"),  # in the table, wrong: 0
        example("w c d", "c", "d"),  # a tie in the table: 1/2
        example("e f w", "e", "f"),  # no entry: 1/2
    ]
    result = transfer(train, test)
    assert (result.accuracy, result.coverage) == (0.5, 0.75)


@given(st.lists(st.tuples(st.permutations("abw"), st.booleans()), min_size=1, max_size=30))
def test_transfer_to_train_itself_is_the_ceiling(drawn):
    sentences = [example(" ".join(words), *("ab" if first else "ba")) for words, first in drawn]
    assert transfer(sentences, sentences).accuracy == pytest.approx(ceiling(HARD, sentences))
    assert transfer(sentences, sentences).coverage == 1
    assert 0.5 <= ceiling(HARD, sentences) <= 1


def sequence_spec(rule: str, words: int, length: int, periods: list[int] | None = None):
    sequence = {"rule": rule, "words": words, "length": length} | ({"periods": periods} if periods else {})
    split = {"train": 1, "validation": 1, "held_out": 1}
    return parse_task({"title": "t", "sequence": sequence, "split": split}, name="t", where="t.toml")


def all_sequences(rule: TokenSequence) -> list[Example]:
    """Every sentence the rule can draw, once."""
    words = [f"t{i}" for i in range(rule.words)]
    found = []
    if rule.rule == "triples":
        for names in itertools.permutations(words, 2 * rule.length // 3):
            tokens = [w for a, b in zip(names[::2], names[1::2], strict=True) for w in (a, b, a)]
            found.append(example(" ".join(tokens[:-1]), tokens[-1], tokens[-2]))
        return found
    low, high = rule.periods
    for period in range(low, high + 1):
        for copy in itertools.permutations(words, period):
            tokens = [copy[i % period] for i in range(rule.length)]
            rival = next(word for word in copy if word != tokens[-1])
            found.append(example(" ".join(tokens[:-1]), tokens[-1], rival))
    return found


@pytest.mark.parametrize(
    ("rule", "words", "length", "periods"),
    [
        ("repeat", 4, 5, [3, 3]),
        ("repeat", 4, 6, [4, 4]),
        ("repeat", 5, 7, [3, 5]),
        ("repeat", 5, 8, [3, 4]),  # 8 - 1 words of period 3: one stands three times
        ("repeat", 4, 9, [4, 4]),  # the prompt is two whole copies: counting tells nothing
        ("triples", 4, 6, None),
        ("triples", 5, 6, None),
    ],
)
def test_the_ceiling_of_a_sequence_task_is_the_brute_force_one_over_all_its_sentences(rule, words, length, periods):
    spec = sequence_spec(rule, words, length, periods)
    assert isinstance(spec.question, TokenSequence)
    sentences = all_sequences(spec.question)
    answers: dict[object, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        answers[bag(sentence)][sentence.answer] += 1
    brute = sum(max(counts.values()) for counts in answers.values()) / len(sentences)
    assert ceiling(spec, sentences) == pytest.approx(brute)


def test_the_ceiling_of_previous_token_is_one_word_in_seven():
    """Of 18 tokens the prompt shows six middle words and the last first word once each; one of these seven is it."""
    from probe.tasks.dataset import make_dataset, order_blind_counts

    assert order_blind_counts(make_dataset(load_task("previous-token"))).ceiling == pytest.approx(1 / 7)
