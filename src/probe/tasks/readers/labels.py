"""Labels -> indices: names, letters, numbers from 0 or from 1, which only all of a file's labels together tell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from probe.errors import ProbeError
from probe.tasks.readers.questions import Ledger, Reading
from probe.tasks.readers.shapes import Resolved, Shape


def resolve(ledger: Ledger, shape: Shape, format: str, labels: Mapping[int, Any], seen: set[str]) -> Reading:
    """Turn labels into indices: names, letters, numbers from 0 or from 1."""
    if shape.kind == "label":
        classes = sorted(seen)
        if len(classes) == 1:
            raise ProbeError(f"{ledger.source}: every row has the label {classes[0]!r}, so there is nothing to tell")
        index = {name: i for i, name in enumerate(classes)}
        return _closed(ledger, format, "label", {r: index[plain(label)] for r, label in labels.items()}, classes)
    if shape.kind == "pair":
        return ledger.reading(format=format, kind="pair")
    most = max((len(q.options) for q in ledger.questions), default=2)
    resolved = all(isinstance(label, Resolved) for label in labels.values())
    numbers = set() if resolved else {label.rstrip(".") for label in seen} & {str(i) for i in range(most + 1)}
    base = 1 if numbers and "0" not in numbers else 0
    if base:
        ledger.note("labels count from 1: none is 0")
    answers: dict[int, int] = {}
    bad: dict[int, str] = {}
    for question in ledger.questions:
        found = _index(labels[question.record], question.options, base)
        if found is None:
            bad[question.record] = (
                f"label {str(labels[question.record])[:40]!r} names none of the {len(question.options)} candidates"
            )
        else:
            answers[question.record] = found
    return _closed(ledger, format, "cloze", answers, (), bad)


def plain(label: Any) -> str:
    """A label as text; spreadsheets turn 1 into 1.0.

    >>> plain(1.0), plain(" B. ")
    ('1', 'B.')
    """
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label).strip()


def _index(label: Any, options: tuple[str, ...], base: int) -> int | None:
    if isinstance(label, Resolved):
        return int(label)
    if isinstance(label, bool):
        return int(label) if len(options) == 2 else None
    text = plain(label)
    folded = [option.casefold() for option in options]
    if text.casefold() in folded:
        return folded.index(text.casefold())
    text = text.rstrip(".").strip()
    if re.fullmatch(r"[0-9]{1,3}", text):
        found = int(text) - base
    elif re.fullmatch(r"[A-Za-z]", text):
        found = ord(text.upper()) - ord("A")
    else:
        found = folded.index(text.casefold()) if text.casefold() in folded else -1
    return found if 0 <= found < len(options) else None


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
