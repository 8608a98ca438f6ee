"""Our own tasks -> questions: a task by name or file, a generated folder; and any folder of train, test, … files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from probe.tasks.dataset import Dataset, load_dataset, make_dataset
from probe.tasks.examples import Example, alone
from probe.tasks.readers.questions import Ledger, Question, Reading
from probe.tasks.spec import load_task, task_names


def of_examples(examples: Iterable[Example], start: int = 1) -> list[Question]:
    """One cloze question a sentence; the prompt is what stands before the answer."""
    questions = []
    for number, example in enumerate(examples, start=start):
        end = example.positions["answer"]
        questions.append(
            Question(
                prompt=" ".join(example.prompt),
                options=example.candidates,
                answer=example.candidates.index(example.answer),
                pair_id="" if alone(example.pair_id) else example.pair_id,
                group="" if alone(example.group) else example.group,
                split=example.split,
                slots={role: example.tokens[i] for role, i in example.positions.items() if i < end},
                record=number,
            )
        )
    return questions


def of_dataset(dataset: Dataset, source: str, ledger: Ledger) -> Reading:
    """All sentences of a generated task, train, validation and held_out.

    A task that has the name of one that ships, and asks something else, is said to.
    """
    name = dataset.name
    as_it_is = (
        ", as it ships" if dataset.spec.ships else ", changed from the one that ships" if name in task_names() else ""
    )
    ledger.unit = "sentence"
    for question in of_examples(dataset.examples):
        ledger.add(question)
    reading = ledger.reading(format=f"probe task {name}{as_it_is} (seed {dataset.seed})", kind="cloze")
    spec = dataset.spec
    return replace(reading, source=source, declared_split=spec.split.method, stops=spec.stops, allows=spec.allows)


def task(name: str | Path, ledger: Ledger) -> Reading:
    """A task by name, or a task file by path: its sentences are generated (seed 0)."""
    return of_dataset(make_dataset(load_task(name)), str(name), ledger)


def folder(path: Path, ledger: Ledger) -> Reading:
    """A folder that `probe generate-task` wrote."""
    return of_dataset(load_dataset(path), str(path), ledger)
