"""What the order of the words is worth, counted exactly, without a model.

Both counts look at the *bag* of a sentence: the multiset of its prompt's words. A set on which a bag scores high
says nothing about attention.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from probe.tasks.examples import Example
from probe.tasks.spec import TaskSpec, TokenSequence

Bag = tuple[tuple[str, int], ...]


def bag(example: Example) -> Bag:
    """The words of the prompt with their counts, order forgotten."""
    return tuple(sorted(Counter(example.prompt).items()))


def _table(examples: Iterable[Example]) -> dict[Bag, Counter[str]]:
    table: dict[Bag, Counter[str]] = defaultdict(Counter)
    for example in examples:
        table[bag(example)][example.answer] += 1
    return table


def ceiling(spec: TaskSpec, examples: Iterable[Example]) -> float:
    """Accuracy of the best order-blind answer over all sentences of the task, pooled over splits.

    For a cloze task: sum over bags of the largest answer count, divided by the number of sentences. For a sequence
    task, whose sentences are a sample in which a bag hardly ever stands twice, the same sum over *all* the sentences
    that the rule can draw: by symmetry the words of a prompt that stand in it equally often as the answer are equally
    likely, so a sequence adds 1 over their number. (A period that divides the prompt is told by nothing.)
    """
    examples = list(examples)
    if isinstance(spec.question, TokenSequence):
        return sum(_symmetric_share(example) for example in examples) / len(examples)
    return sum(max(counts.values()) for counts in _table(examples).values()) / len(examples)


def _symmetric_share(example: Example) -> float:
    """1 / number of prompt words that stand there as often as the answer does."""
    counts = Counter(example.prompt)
    return 1 / sum(1 for count in counts.values() if count == counts[example.answer])


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """What a table bag -> answer learned from train scores elsewhere, and on how much of it the table has an entry."""

    accuracy: float
    """Over all rows; a bag that train has not shown earns 1/2, one guess between the two candidates."""
    coverage: float
    """Share of rows whose bag stands in train."""


def transfer(train: Iterable[Example], test: Iterable[Example]) -> Transfer:
    """Learn bag -> most frequent answer from `train`, score it on `test`; tied answers share the credit.

    Far below chance is no sign of a clean set: the twin with the other answer was in train.
    """
    table = _table(train)
    score = covered = total = 0.0
    for example in test:
        total += 1
        counts = table.get(bag(example))
        if counts is None:
            score += 0.5
            continue
        covered += 1
        best = [word for word, count in counts.items() if count == max(counts.values())]
        score += (example.answer in best) / len(best)
    return Transfer(accuracy=score / total, coverage=covered / total)
