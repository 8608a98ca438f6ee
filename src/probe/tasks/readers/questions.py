"""What every reader makes: questions with options, and a ledger in which each record of the file has one line.

Three kinds of question cover what people publish. `pair`: two sentences, one is right (BLiMP, Zorro, SyntaxGym).
`cloze`: a text and two or more candidates, one is meant (Winograd, IOI, multiple choice). `label`: a text and a class
out of a closed set.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from probe.errors import ProbeError


class Unlabelled(ProbeError):
    """No record of a file has a label, or it has no column for one, as test sets are often published."""


KINDS = ("pair", "cloze", "label")


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One thing to answer: choose the option at `answer`.

    >>> Question(prompt="The trophy is too big for the case: it", options=("The trophy", "the case"), answer=0).right
    'The trophy'
    """

    options: tuple[str, ...]
    """`pair`: the two sentences, the right one first. `cloze`: the candidates in the file's order. `label`: empty."""
    answer: int
    """Index into `options`; for `label` into `Reading.classes`."""
    prompt: str = ""
    """What all options share: the text of a cloze or of a labelled row; empty for a pair."""
    pair_id: str = ""
    """Shared by the twins of a minimal pair, where the file says so."""
    group: str = ""
    """What the file itself says belongs together."""
    split: str = ""
    """train, validation, held_out, or empty where the file has no split."""
    slots: Mapping[str, str] = field(default_factory=dict)
    """Named words of the prompt (our own tasks): what `partial` can drop."""
    record: int = 0
    """Which record of the file, counted from 1."""

    @property
    def right(self) -> str:
        """The text of the right option."""
        return self.options[self.answer]

    @property
    def key(self) -> str:
        """What twins have in common, as far as one question shows it: decides what a sample keeps together."""
        if self.pair_id or self.group:
            return self.group or self.pair_id
        if self.options:
            return "|".join(sorted(" ".join(sorted(option.lower().split())) for option in self.options))
        return " ".join(sorted(self.prompt.lower().split()))


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A record that could not be used, and why."""

    record: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A file, read: the questions, how it was understood, and what became of every record.

    `records == used + malformed + unlabelled + sampled_out` holds always; tests lean on it.
    """

    source: str
    format: str
    kind: str
    questions: tuple[Question, ...]
    classes: tuple[str, ...] = ()
    """`label` only: the classes, sorted."""
    records: int
    used: int
    malformed: int
    unlabelled: int
    sampled_out: int
    unit: str = "record"
    """What a record is in this format: a line, a row, an item."""
    problems: tuple[Problem, ...] = ()
    """The first of the malformed records."""
    notes: tuple[str, ...] = ()
    """What the reader decided, for the person to check."""
    files: int = 1
    """How many files it was pooled from: the pair ids of one need not mean the same in another."""
    declared_split: str = ""
    """How our own tasks say they were split (`reversed-pair`, …); empty for other people's files."""
    stops: tuple[str, ...] = ()
    """The cheats that our own tasks say they stop …"""
    allows: tuple[str, ...] = ()
    """… and those that they say they allow."""

    def accounting(self) -> str:
        """One line in which every record is accounted for."""
        parts = [f"{self.used} used"]
        parts += [
            f"{count} {name}"
            for count, name in (
                (self.malformed, "malformed"),
                (self.unlabelled, "without a label"),
                (self.sampled_out, "left out by sampling"),
            )
            if count
        ]
        return f"{self.records} {self.unit}s: " + ", ".join(parts) + f"; {len(self.questions)} questions"


class Ledger:
    """Counts what becomes of each record while a reader walks a file; `strict` makes the first bad one fatal.

    Questions beyond `limit` are thinned by a hash of what twins share, so that a sample keeps twins together, needs
    one pass and no more memory than `limit` questions.
    """

    def __init__(self, source: str, *, strict: bool = False, limit: int = 20_000, unit: str = "record") -> None:
        self.source, self.strict, self.limit, self.unit = source, strict, limit, unit
        self.records = self.unlabelled_count = self.malformed_count = self.sampled_records = 0
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self._kept: list[tuple[int, tuple[Question, ...], int]] = []
        self._size = 0
        self._threshold = 1 << 32

    def malformed(self, record: int, reason: str, *, records: int = 1) -> None:
        """Count a record that can't be read; with `strict`, stop at it."""
        if self.strict:
            raise ProbeError(f"{self.source}, {self.unit} {record}: {reason} (--strict stops at the first)")
        self.records += records
        self.malformed_count += records
        if len(self.problems) < 20:
            self.problems.append(Problem(record=record, reason=reason))

    def unlabelled(self, record: int) -> None:
        """Count a record that has no answer, as test sets often have none."""
        self.records += 1
        self.unlabelled_count += 1

    def note(self, text: str) -> None:
        """Say once what the reader decided."""
        if text not in self.notes:
            self.notes.append(text)

    def add(self, *questions: Question, records: int = 1) -> None:
        """Keep the question(s) of one stretch of `records` records, or let the sample drop them."""
        self.records += records
        hashed = int.from_bytes(hashlib.blake2b(questions[0].key.encode("utf-8", "replace"), digest_size=4).digest())
        if hashed >= self._threshold:
            self.sampled_records += records
            return
        self._kept.append((hashed, questions, records))
        self._size += len(questions)
        while self._size > self.limit and self._threshold > 1:
            self._threshold //= 2
            dropped = [entry for entry in self._kept if entry[0] >= self._threshold]
            self._kept = [entry for entry in self._kept if entry[0] < self._threshold]
            self._size -= sum(len(entry[1]) for entry in dropped)
            self.sampled_records += sum(entry[2] for entry in dropped)

    def remove(self, record: int) -> None:
        """Take one record back, whose label turned out to name nothing; `malformed` counts it then."""
        before = len(self._kept)
        self._kept = [entry for entry in self._kept if entry[1][0].record != record]
        self.records -= before - len(self._kept)

    def unlabel(self, labelled: Container[int]) -> None:
        """Count every record but these as without a label, after all."""
        gone = sum(records for _, questions, records in self._kept if questions[0].record not in labelled)
        self._kept = [entry for entry in self._kept if entry[1][0].record in labelled]
        self.unlabelled_count += gone

    def relabel(self, answers: Mapping[int, int]) -> None:
        """Put the answers in, by record."""
        self._kept = [
            (hashed, tuple(replace(q, answer=answers[q.record]) for q in questions), n)
            for hashed, questions, n in self._kept
        ]

    @property
    def questions(self) -> list[Question]:
        """The questions kept so far."""
        return [question for _, questions, _ in self._kept for question in questions]

    def reading(self, *, format: str, kind: str, classes: Iterable[str] = ()) -> Reading:
        """Close the ledger.

        Raises:
            ProbeError: no record could be used.
        """
        kept = self.questions
        if not kept and self.records and self.unlabelled_count == self.records:
            raise self.none_labelled()
        if not kept:
            raise ProbeError(f"{self.source}: {self._why_empty(format)}")
        if self.sampled_records:
            self.note(
                f"sampled: {len(kept)} questions of a larger file, whole twins at a time, by a hash of what twins "
                f"share; every auditor sees the sample (--max-questions {self.limit})"
            )
        if doubles := sum(
            n - 1 for n in Counter((q.prompt, q.options, q.answer, q.split) for q in kept).values() if n > 1
        ):
            self.note(f"{doubles} question(s) repeat an earlier one word for word; they are kept, in one group with it")
        return Reading(
            source=self.source,
            format=format,
            kind=kind,
            questions=tuple(kept),
            classes=tuple(classes),
            records=self.records,
            used=self.records - self.malformed_count - self.unlabelled_count - self.sampled_records,
            malformed=self.malformed_count,
            unlabelled=self.unlabelled_count,
            sampled_out=self.sampled_records,
            unit=self.unit,
            problems=tuple(self.problems),
            notes=tuple(self.notes),
        )

    def none_labelled(self) -> Unlabelled:
        """What to raise where no record has a label."""
        return Unlabelled(
            f"{self.source}: none of the {self.records} {self.unit}s has a label, so nothing can be scored"
        )

    def _why_empty(self, format: str) -> str:
        if not self.records:
            return "holds no records"
        first = f"; {self.unit} {self.problems[0].record}: {self.problems[0].reason}" if self.problems else ""
        return (
            f"read as {format}, none of the {self.records} {self.unit}s can be used{first}; "
            "choose another --format, or name the columns with --map field=column"
        )


SPLIT_NAMES = {
    **dict.fromkeys(("train", "training", "trn"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev", "development"), "validation"),
    **dict.fromkeys(("test", "held_out", "held-out", "heldout", "eval", "evaluation"), "held_out"),
}


def with_split(questions: Iterable[Question], split: str) -> tuple[Question, ...]:
    """The same questions, all in one split."""
    return tuple(replace(question, split=split) for question in questions)
