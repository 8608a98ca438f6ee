"""What was asked: the task, its sentences, and what order is worth in it."""

from __future__ import annotations

from probe.report.document import Number, Section, Sentences, Table
from probe.report.material import Material
from probe.report.sentences import counted, listed, percent, worth_of_order
from probe.tasks.dataset import minimal_pairs
from probe.tasks.spec import Cloze


def asked(material: Material) -> Section:
    """The task as a reader who has never seen it needs it."""
    dataset, counts = material.dataset, material.counts
    spec = dataset.spec
    pairs = minimal_pairs(dataset.held_out)
    examples = pairs[0] if pairs else dataset.held_out[:2]
    tokens = tuple(example.tokens for example in examples)
    changed = tuple(i for i, words in enumerate(zip(*tokens, strict=False)) if len(set(words)) > 1) if pairs else ()
    how = (
        f"Template: {' '.join(spec.question.template)}"
        if isinstance(spec.question, Cloze)
        else f"Rule: {spec.question.rule}, {spec.question.length} tokens out of {spec.question.words}."
    )
    cheats = [f"meant to stop {listed(spec.stops)}"] if spec.stops else []
    cheats += [f"meant to allow {listed(spec.allows)}"] if spec.allows else []
    says = (
        f"{spec.name}: {spec.title}. The model reads the words up to the last but one that counts and has to name "
        "the next; it was trained by ordinary next-word prediction on whole sentences.",
        how,
        f"Of the known cheats the task is {'; '.join(cheats)}." if cheats else "The task names no cheat.",
    )
    return Section(
        name="asked",
        title="What was asked",
        says=says,
        parts=(
            Sentences(
                tokens=tokens,
                changed=changed,
                after=tuple(f"answer: {example.answer}, not {example.distractor}" for example in examples),
            ),
            Table(
                name="order",
                title="What the order of the words is worth, counted without a model",
                says=worth_of_order(counts.ceiling, counts.transfer.accuracy),
                columns=("count", "share right", "over"),
                rows=(
                    (
                        "best order-blind answer",
                        Number(value=counts.ceiling, text=percent(counts.ceiling)),
                        f"all {len(dataset.examples):,} sentences",
                    ),
                    (
                        "table bag of words → answer, learned from train",
                        Number(value=counts.transfer.accuracy, text=percent(counts.transfer.accuracy)),
                        f"held_out; an entry for {percent(counts.transfer.coverage)} of it",
                    ),
                ),
            ),
            Table(
                name="split",
                title="The sentences",
                says=f"{counted(len(dataset.examples), 'sentence')} in {counted(len(dataset.vocabulary), 'word')}, "
                "divided by "
                f"{spec.split.method}.",
                columns=("split", "sentences", "groups", "minimal pairs"),
                rows=tuple(
                    (
                        side,
                        _count(len(of_side)),
                        _count(len({example.group for example in of_side})),
                        _count(len(minimal_pairs(of_side))),
                    )
                    for side, of_side in dataset.sides.items()
                ),
            ),
        ),
    )


def _count(n: int) -> Number:
    return Number(value=n, text=f"{n:,}")
