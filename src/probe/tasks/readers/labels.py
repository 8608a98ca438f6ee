"""Labels -> indices: names, letters, numbers from 0 or from 1, which only all of a file's labels together tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from probe.errors import ProbeError
from probe.tasks.readers.questions import Ledger, Reading
from probe.tasks.readers.shapes import Resolved, Shape

MISSING = ("-1", "-")
"""Stand for no label in many data sets, and for a class in others."""


def resolve(ledger: Ledger, shape: Shape, format: str, labels: Mapping[int, Any], seen: set[str]) -> Reading:
    """Turn labels into indices: names, letters, numbers from 0 or from 1."""
    if shape.kind == "label":
        for mark in MISSING:
            if mark in seen and _says_missing(ledger, mark, seen - {mark}):
                labels = {record: label for record, label in labels.items() if plain(label) != mark}
                seen = seen - {mark}
                ledger.unlabel(set(labels))
        classes = sorted(seen)
        if len(classes) == 1:
            raise ProbeError(f"{ledger.source}: every row has the label {classes[0]!r}, so there is nothing to tell")
        index = {name: i for i, name in enumerate(classes)}
        return _closed(ledger, format, "label", {r: index[plain(label)] for r, label in labels.items()}, classes)
    if shape.kind == "pair":
        return ledger.reading(format=format, kind="pair")
    index = _reader(ledger, labels, seen)
    answers: dict[int, int] = {}
    bad: dict[int, str] = {}
    for question in ledger.questions:
        found = index(labels[question.record], question.options)
        if found is None:
            bad[question.record] = (
                f"label {str(labels[question.record])[:40]!r} names none of the {len(question.options)} candidates"
            )
        else:
            answers[question.record] = found
    return _closed(ledger, format, "cloze", answers, (), bad)


def _says_missing(ledger: Ledger, mark: str, others: set[str]) -> bool:
    """Whether -1, or a dash, says that a label is missing: it is the only one, or stands beside two or more others.

    Beside 0 and 1 alone -1 is a class, as in sentiment, and beside another negative; a dash is one beside a plus.
    """
    if not others:
        raise ledger.none_labelled()
    scale = others == {"0", "1"} or any(re.fullmatch(r"-[0-9.]+", name) for name in others)
    missing = len(others) > 1 and not ("+" in others if mark == "-" else scale)
    if missing:
        ledger.note(f"the label {mark} is read as none, not as a class")
    else:
        ledger.note(f"the label {mark} is read as a class; if it says that there is no label, leave these rows out")
    return missing


def plain(label: Any) -> str:
    """A label as text; spreadsheets turn 1 into 1.0.

    >>> plain(1.0), plain(" B. ")
    ('1', 'B.')
    """
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label).strip()


def _reader(ledger: Ledger, labels: Mapping[int, Any], seen: set[str]) -> Callable[[Any, tuple[str, ...]], int | None]:
    """How the labels of this file are to be read: whether a number is an index or a candidate's name, and from where
    it counts.

    A number is an index, unless that fits no better than a name does: where candidates are numbers themselves, digits
    in text are names if all of them name one, JSON numbers only if, besides, some are beyond the candidates.
    """
    asked = [(labels[question.record], question.options) for question in ledger.questions]
    asked = [(label, options) for label, options in asked if not isinstance(label, (Resolved, bool))]
    typed = all(isinstance(label, int | float) for label, _ in asked)
    fits = all(_number(label) in range(len(options) + 1) for label, options in asked)
    named = all(_name(label, options) is not None for label, options in asked)
    numbers_first = (fits or not named) if typed else (fits and not named)
    numbers = [
        (number, len(options))
        for label, options in asked
        if (number := _number(label)) is not None and (numbers_first or _name(label, options) is None)
    ]
    if not numbers or "0" in {name.rstrip(".") for name in seen}:
        base = 0
    elif any(number == count for number, count in numbers):
        base = 1
        ledger.note("labels count from 1: none is 0")
    else:
        base = 0 if typed else 1
        ledger.note(
            "labels are numbers, none of them 0 and none the number of candidates, so that it can't be told whether "
            f"they count from 0 or from 1; read as from {base}; letters (A, B, …) for labels would settle it"
        )
    return lambda label, options: _index(label, options, base, numbers_first)


def _number(label: Any) -> int | None:
    """A label as a number; None where it is none.

    >>> _number(" 2. "), _number(2.0), _number("B")
    (2, 2, None)
    """
    text = plain(label).rstrip(".").strip()
    return int(text) if re.fullmatch(r"[0-9]{1,3}", text) else None


def _name(label: Any, options: tuple[str, ...]) -> int | None:
    """Which candidate a label names in so many words."""
    folded, text = [option.casefold() for option in options], plain(label).casefold()
    return next((folded.index(form) for form in (text, text.rstrip(".").strip()) if form in folded), None)


def _index(label: Any, options: tuple[str, ...], base: int, numbers_first: bool) -> int | None:
    if isinstance(label, Resolved):
        return int(label)
    if isinstance(label, bool):
        return int(label) if len(options) == 2 else None
    number, name, text = _number(label), _name(label, options), plain(label).rstrip(".").strip()
    places = [] if number is None else [number - base]
    if re.fullmatch(r"[A-Za-z]", text):
        places = [ord(text.upper()) - ord("A")]
    found = [place for place in places if place in range(len(options))]
    names = [] if name is None else [name]
    return next(iter([*found, *names] if numbers_first and number is not None else [*names, *found]), None)


def _closed(
    ledger: Ledger,
    format: str,
    kind: str,
    answers: Mapping[int, int],
    classes: Iterable[str],
    bad: Mapping[int, str] | None = None,
) -> Reading:
    """The reading with every label in place; questions whose label names nothing move to the malformed."""
    for record, reason in (bad or {}).items():
        ledger.remove(record)
        ledger.malformed(record, reason)
    ledger.relabel(answers)
    return ledger.reading(format=format, kind=kind, classes=classes)
