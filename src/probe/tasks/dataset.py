"""A generated task as a folder: three JSON Lines files, the vocabulary and a datasheet; and back."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probe.errors import NotThere, ProbeError, check_seed
from probe.files import digest, read_json, read_text, to_json, write_atomic
from probe.tasks import order_blind
from probe.tasks.examples import Example, vocabulary_words
from probe.tasks.spec import Cloze, TaskSpec, parse_task
from probe.tasks.splits import SIDES, generate
from probe.tasks.vocabulary import Vocabulary

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """The sentences of one task, split, with the vocabulary they are written in."""

    spec: TaskSpec
    seed: int
    train: tuple[Example, ...]
    validation: tuple[Example, ...]
    held_out: tuple[Example, ...]
    vocabulary: Vocabulary

    @property
    def name(self) -> str:
        """The task's name."""
        return self.spec.name

    @property
    def sides(self) -> dict[str, tuple[Example, ...]]:
        """The three splits by name."""
        return {side: getattr(self, side) for side in SIDES}

    @property
    def examples(self) -> tuple[Example, ...]:
        """All sentences: train, then validation, then held_out."""
        return self.train + self.validation + self.held_out

    @property
    def digest(self) -> str:
        """SHA-256 of all the sentences in order: two data sets with the same digest hold the same bytes."""
        return digest("".join(_jsonl(side) for side in self.sides.values()))


def make_dataset(spec: TaskSpec, seed: int = 0) -> Dataset:
    """Generate and split a task. Same spec and seed, same data set, on any machine.

    Raises:
        ProbeError: the seed is not in 0 … 2^31 - 1, no sentence is left, a side of the split would be empty, or a rule
            cannot draw so many sequences.
    """
    check_seed(seed)
    examples = generate(spec, seed)
    sides = {side: tuple(e for e in examples if e.split == side) for side in SIDES}
    return Dataset(spec=spec, seed=seed, vocabulary=Vocabulary(vocabulary_words(spec)), **sides)


@dataclass(frozen=True, kw_only=True)
class OrderBlind:
    """The two counts that need no model; see `probe.tasks.order_blind`."""

    ceiling: float
    transfer: order_blind.Transfer


def order_blind_counts(dataset: Dataset) -> OrderBlind:
    """Count what an order-blind answer can reach over all sentences, and what it takes from train to held_out.

    Returns:
        `ceiling`, a share of all sentences, and `transfer` with `accuracy` and `coverage`, shares of held_out.
    """
    return OrderBlind(
        ceiling=order_blind.ceiling(dataset.spec, dataset.examples),
        transfer=order_blind.transfer(dataset.train, dataset.held_out),
    )


def minimal_pairs(examples: Sequence[Example]) -> list[tuple[Example, Example]]:
    """The complete minimal pairs among the examples, in their order: answer x first, answer y second."""
    by_pair: dict[str, list[Example]] = {}
    for example in examples:
        by_pair.setdefault(example.pair_id, []).append(example)
    pairs = [sorted(pair, key=lambda e: e.answer != e.candidates[0]) for pair in by_pair.values() if len(pair) == 2]
    return [(first, second) for first, second in pairs]


# -- the folder ------------------------------------------------------------------------------------------------


def save_dataset(dataset: Dataset, folder: Path) -> None:
    """Write the folder; `task.json` goes last, so that a folder with one is complete.

    Raises:
        ProbeError: it is a file, or holds something that is no generated task.
    """
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "task.json").exists():
        raise ProbeError(f"{folder} is not empty and holds no generated task; choose another --out")
    if folder.exists() and not folder.is_dir():
        raise ProbeError(f"{folder} is a file; choose another --out")
    for side, examples in dataset.sides.items():
        write_atomic(folder / f"{side}.jsonl", _jsonl(examples))
    dataset.vocabulary.save(folder / "vocabulary.json")
    write_atomic(folder / "README.md", datasheet(dataset))
    task = {"schema": SCHEMA, "task": dataset.name, "seed": dataset.seed, "data_sha256": dataset.digest}
    write_atomic(folder / "task.json", to_json(task | {"spec": dict(dataset.spec.source)}) + "\n")


def load_dataset(folder: Path) -> Dataset:
    """Read a folder that `save_dataset` wrote; a changed or truncated file is refused by name.

    Raises:
        NotThere: there is no such folder, or one of its files is not there.
        ProbeError: a file was changed, is truncated or another version's; the message names file and line.
    """
    if not folder.is_dir():
        raise NotThere(f"there is no folder {folder}; make one with: probe generate-task NAME --out {folder}")
    path = folder / "task.json"
    if not path.exists():
        raise NotThere(f"{folder} holds no task.json, so it is not a generated task (or not wholly written)")
    task = read_json(path, "task file")
    for key, kind in (("task", str), ("seed", int), ("data_sha256", str), ("spec", dict)):
        if not isinstance(task.get(key), kind):
            raise ProbeError(f"{path}: {key}: missing or not a {kind.__name__}; generate the task again")
    if task.get("schema") != SCHEMA:
        raise ProbeError(f"{path}: schema {task.get('schema')!r} is not {SCHEMA}; another version's task")
    spec = parse_task(task["spec"], name=task["task"], where=str(path))
    vocabulary = Vocabulary.load(folder / "vocabulary.json")
    if vocabulary.words != vocabulary_words(spec):
        raise ProbeError(
            f"{folder}/vocabulary.json: not the words of {spec.name} in their order; generate the task again"
        )
    sides = {side: _read_side(folder / f"{side}.jsonl", side, vocabulary) for side in SIDES}
    dataset = Dataset(spec=spec, seed=task["seed"], vocabulary=vocabulary, **sides)
    if dataset.digest != task["data_sha256"]:
        raise ProbeError(f"{folder}: the sentences are not those that task.json names; generate the task again")
    return dataset


def _jsonl(examples: Sequence[Example]) -> str:
    return "".join(to_json(example.as_dict(), indent=None) + "\n" for example in examples)


def _read_side(path: Path, side: str, vocabulary: Vocabulary) -> tuple[Example, ...]:
    lines = read_text(path, "data file").splitlines()
    if not lines:
        raise ProbeError(f"data file {path} is empty; generate the task again")
    examples = []
    for number, line in enumerate(lines, start=1):
        try:
            examples.append(_example(json.loads(line), side))
            vocabulary.encode(examples[-1].tokens)
        except (ValueError, KeyError, TypeError, AttributeError, ProbeError) as error:
            reason = f"no key {error}" if isinstance(error, KeyError) else error
            raise ProbeError(f"data file {path}, line {number}: not one of our rows ({reason})") from None
    return tuple(examples)


def _example(row: dict[str, Any], side: str) -> Example:
    """Check one row and make it an Example; anything off is a ValueError, KeyError or TypeError."""
    example = Example(
        tokens=tuple(row["tokens"]),
        candidates=(row["candidates"][0], row["candidates"][1]),
        answer=row["answer"],
        distractor=row["distractor"],
        positions=dict(row["positions"]),
        pair_id=row["pair_id"],
        group=row["group"],
        split=row["split"],
    )
    if not all(isinstance(i, int) and 0 <= i < len(example.tokens) for i in example.positions.values()):
        raise ValueError(f"positions {example.positions} are not all inside the sentence")
    if example.tokens[example.positions["answer"]] != example.answer:
        raise ValueError("the word at positions.answer is not the answer")
    if {example.answer, example.distractor} != set(example.candidates) or example.answer == example.distractor:
        raise ValueError("answer and distractor are not the two candidates")
    if example.split != side:
        raise ValueError(f"split {example.split!r} does not belong in this file")
    return example


# -- the datasheet ---------------------------------------------------------------------------------------------


def datasheet(dataset: Dataset) -> str:
    """README.md of the folder: Hugging Face front matter, what it is, counts, split, order-blind figures."""
    spec, counts = dataset.spec, order_blind_counts(dataset)
    front = "\n".join(
        [
            "---",
            f"language: {'zxx' if spec.language == 'none' else spec.language}",
            "license: mit",
            "configs:",
            "- config_name: default",
            "  data_files:",
        ]
        + [f"  - split: {side}\n    path: {side}.jsonl" for side in SIDES]
        + ["---"]
    )
    pairs = minimal_pairs(dataset.examples)
    shown = [sentence for pair in pairs[:3] for sentence in pair] or list(dataset.train[:3])
    table = "\n".join(
        f"| {side} | {len(examples)} | {len({e.group for e in examples})} | {len(minimal_pairs(examples))} |"
        for side, examples in dataset.sides.items()
    )
    answers = Counter(example.answer for example in dataset.examples)
    most, n = answers.most_common(1)[0]
    sentences = "\n".join(f"    {example.text}" for example in shown)
    what = (
        f"Template: {_code(' '.join(spec.question.template))}. "
        "A model reads up to the word before the answer and names it."
        if isinstance(spec.question, Cloze)
        else f"Rule: `{spec.question.rule}`, {spec.question.length} tokens out of {spec.question.words}; "
        "the last token can be told."
    )
    made = (
        f"`probe generate-task {spec.name} --seed {dataset.seed}`"
        if spec.ships
        else f"`probe generate-task`, seed {dataset.seed}, from a task that does not ship; `spec` in `task.json` is it"
    )
    return f"""{front}

# {_markdown(spec.name)}: {_markdown(spec.title)}

Generated by {made}. {what}

| split | sentences | groups | minimal pairs |
|---|---|---|---|
{table}

{sentences}

## What the order of the words is worth

Two exact counts that need no model:

- order-blind ceiling over all {len(dataset.examples)} sentences: **{counts.ceiling:.1%}** (the best answer that sees
  only which words the prompt holds);
- a table *bag of words -> answer* learned from train scores **{counts.transfer.accuracy:.1%}** on held_out, where it
  has an entry for {counts.transfer.coverage:.0%} of the rows (no entry: one guess between two).

Most frequent answer: {_code(most)}, {n} of {len(dataset.examples)} sentences.
Vocabulary: {len(dataset.vocabulary)} words.

## Cheats

Meant to stop: {", ".join(spec.stops) or "none"}. Meant to allow: {", ".join(spec.allows) or "none"}.

## Split

{_SPLIT_WORDS[spec.split.method]} `validation` is for early stopping and choices; `held_out` is only reported.

## Columns

`text`; `tokens` (split at blanks); `candidates` (the two words in question, in order of appearance); `answer`;
`distractor`; `positions` (role -> index into tokens, from 0); `pair_id` (shared by a minimal pair); `group` (what must
stay together in a resample); `split`.

## Licence

Made by a program from a word list written for it. Nothing is borrowed from any corpus; MIT, like the program.
"""


def _markdown(text: str) -> str:
    """Text that Markdown and HTML read as itself."""
    return re.sub(r"([\\`*_{}\[\]<>&#|$~])", r"\\\1", text)


def _code(text: str) -> str:
    """A code span, fenced by more backticks than stand in it."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"


_SPLIT_WORDS = {
    "reversed-pair": "validation and held_out hold ordered noun pairs whose reverse is in train; as unordered pairs "
    "they are disjoint.",
    "held-out-pair": "Noun pairs of validation and held_out stand in train in neither order.",
    "random-rows": "Rows are dealt at random: near-twins stand on both sides. This is a leak, on purpose.",
    "independent": "Sequences are drawn independently; none stands twice.",
}
