"""Records with named columns -> questions: `--map`, the form that the columns tell, and one question a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from probe.errors import ProbeError, nearest
from probe.tasks.readers import shapes
from probe.tasks.readers.labels import plain, resolve
from probe.tasks.readers.questions import Ledger, Reading, Unlabelled
from probe.tasks.readers.shapes import BadRecord, Shape, shape_of
from probe.tasks.readers.tables import Records

FAMILIES = {
    "good": shapes.GOOD,
    "bad": shapes.BAD,
    "text": shapes.TEXT,
    "text2": shapes.TEXT2,
    "options": shapes.OPTIONS,
    "label": shapes.LABEL,
    "pair": shapes.PAIR,
    "group": shapes.GROUP,
    "split": shapes.SPLIT,
}
"""What `--map` can name -> the column names that mean it where nothing is mapped."""


def renamed(names: Iterable[str], mapping: Mapping[str, str], source: str) -> dict[str, str]:
    """Lower-case column -> column as written, after `--map`. A mapped field hides every other name for it.

    Mapped `options` hide the columns that hold one candidate each.

    >>> renamed(["Satz", "Klasse"], {"text": "Satz", "label": "Klasse"}, "f.csv")
    {'text': 'Satz', 'label': 'Klasse'}
    """
    names = list(names)
    columns = {name.lower(): name for name in names}
    for field_name, column in mapping.items():
        if field_name not in FAMILIES and not shapes.NUMBERED.match(field_name):
            raise ProbeError(f"--map {field_name}={column}: no field {field_name!r}; {nearest(field_name, FAMILIES)}")
        if column not in names:
            raise ProbeError(
                f"--map {field_name}={column}: {source} has no column {column!r}; {nearest(column, names)}"
            )
        for alias in FAMILIES.get(field_name, ()):
            columns.pop(alias, None)
        columns.pop(column.lower(), None)
    if "options" in mapping:
        columns = {name: column for name, column in columns.items() if not shapes.NUMBERED.match(name)}
    for field_name, column in mapping.items():
        columns[FAMILIES[field_name][0] if field_name in FAMILIES else field_name] = column
    return columns


def read_table(records: Records, ledger: Ledger, format: str, mapping: Mapping[str, str]) -> Reading:
    """Records -> Reading: find the shape at the first good record, draft every question, resolve the labels."""
    shape: Shape | None = None
    columns: dict[str, str] = {}
    labels: dict[int, Any] = {}
    seen: set[str] = set()
    for number, record in records:
        if isinstance(record, str):
            ledger.malformed(number, record)
            continue
        if shape is None:
            columns = renamed(record, mapping, ledger.source)
            shape = shape_of(columns)
            if shape is None:
                no_label = shapes.first(columns, shapes.TEXT) and not shapes.first(columns, shapes.LABEL)
                raise (Unlabelled if no_label else ProbeError)(
                    f"{ledger.source}: columns {', '.join(map(repr, list(record)[:12]))} are none that are known; "
                    "name them with --map, e.g. --map good=COLUMN --map bad=COLUMN, or --map text=… --map label=…"
                )
            if left := shapes.unread(columns, shape.kind):
                ledger.note(f"not read: {', '.join(map(repr, left))}; --map names other columns for the text or label")
        try:
            draft = shape.draft(record, columns)
        except BadRecord as error:
            ledger.malformed(number, str(error))
            continue
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            ledger.malformed(number, f"not a {shape.name} record ({type(error).__name__}: {error})")
            continue
        label = draft.label
        missing = label in (-1, "-1") and shape.kind != "label"  # of classes, all labels together tell
        if isinstance(label, float) and label != label:
            ledger.note("the label NaN is read as none")
            label = None
        if missing or label is None or (isinstance(label, str) and not label.strip()):
            ledger.unlabelled(number)
            continue
        if isinstance(label, (dict, list)):
            ledger.malformed(number, f"the label is a {type(label).__name__}")
            continue
        labels[number] = label
        seen.add(plain(label))
        if len(seen) > 1000 and shape.kind == "label":
            raise ProbeError(f"{ledger.source}: the label has more than 1,000 different values; is it a class?")
        ledger.add(replace(draft.question, record=number))
        if len(labels) > 4 * ledger.limit:
            kept = {question.record for question in ledger.questions}
            labels = {record: label for record, label in labels.items() if record in kept}
    if shape is None:
        return ledger.reading(format=format, kind="pair")
    return resolve(ledger, shape, f"{format}, {shape.name}", labels, seen)
