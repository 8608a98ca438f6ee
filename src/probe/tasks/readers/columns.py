"""Records with named columns -> questions: the column names that people use, and what they mean there.

A *shape* is a function from a record to a draft, and a test whether its columns are there. `--map field=column` renames
columns before the test. Labels are resolved at the end of the file, because only all of them together tell whether
they count from 0 or from 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from probe.errors import ProbeError, nearest
from probe.tasks.readers.questions import SPLIT_NAMES, Ledger, Question, Reading
from probe.tasks.readers.tables import Record, Records

FIELDS = ("good", "bad", "text", "text2", "options", "label", "pair", "group", "split")
"""What `--map` can name."""

GOOD = ("sentence_good", "good", "grammatical", "acceptable", "correct", "sent_good", "good_sentence", "positive")
BAD = ("sentence_bad", "bad", "ungrammatical", "unacceptable", "incorrect", "sent_bad", "bad_sentence", "negative")
TEXT = ("text", "sentence", "question", "prompt", "premise", "context", "ctx", "goal", "query", "input", "sentence1")
TEXT2 = ("hypothesis", "sentence2", "question2")
OPTIONS = ("options", "choices", "candidates", "endings", "answers")
LABEL = ("label", "answer", "answerkey", "answer_key", "gold", "target", "correct_answer", "gold_label", "class")
PAIR = ("pairid", "pair_id", "pair")
GROUP = ("group", "group_id", "template", "template_id")
SPLIT = ("split", "partition", "fold")
_NUMBERED = re.compile(r"^(option|choice|sol|ending|candidate|mc|opa?|answer)_?([0-9]|[a-e])$")


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A question whose label is still as it stands in the file; None where the file gives none."""

    question: Question
    label: Any


class BadRecord(ValueError):
    """A record that lacks something; the message says what."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A kind of table: which columns it needs, and how one record becomes a question."""

    name: str
    kind: str
    matches: Callable[[Mapping[str, str]], bool]
    """Given lower-case name -> name as written."""
    draft: Callable[[Record, Mapping[str, str]], Draft]


def first(columns: Mapping[str, str], names: Iterable[str]) -> str | None:
    """The first of the names that is a column, as the file writes it."""
    return next((columns[name] for name in names if name in columns), None)


def text_of(record: Record, column: str | None) -> str:
    """A non-empty text in a column, or BadRecord."""
    value = record.get(column) if column else None
    if not isinstance(value, str) or not value.strip():
        raise BadRecord(f"{column}: {'missing' if value is None else repr(value)[:40] + ' is no text'}")
    return value.strip()


def _common(record: Record, columns: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for field_name, names in (("pair_id", PAIR), ("group", GROUP), ("split", SPLIT)):
        column = first(columns, names)
        value = record.get(column) if column else None
        if value is not None and not isinstance(value, (dict, list)):
            found[field_name] = str(value)
    if "split" in found:
        found["split"] = SPLIT_NAMES.get(found["split"].strip().lower(), "")
    return found


# -- pairs ---------------------------------------------------------------------------------------------------------


def _pair(record: Record, columns: Mapping[str, str]) -> Draft:
    options = (text_of(record, first(columns, GOOD)), text_of(record, first(columns, BAD)))
    if options[0] == options[1]:
        raise BadRecord("the two sentences are the same")
    return Draft(question=Question(options=options, answer=0, **_common(record, columns)), label=0)


# -- cloze ---------------------------------------------------------------------------------------------------------


def option_columns(columns: Mapping[str, str]) -> list[str]:
    """Columns such as option1, option2 or choice_a, choice_b, in order; the longest family of one stem."""
    families: dict[str, list[tuple[str, str]]] = {}
    for name in columns:
        if match := _NUMBERED.match(name):
            families.setdefault(match[1], []).append((match[2], columns[name]))
    best = max(families.values(), key=len, default=[])
    return [column for _, column in sorted(best)] if len(best) > 1 else []


def _options(record: Record, columns: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The candidates, and the names that a label may call them by."""
    numbered = option_columns(columns)
    if numbered:
        return tuple(text_of(record, column) for column in numbered), ()
    column = first(columns, OPTIONS)
    value = record.get(column) if column else None
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = [part for part in re.split(r"\s*[|;]\s*|\s*,\s*", value) if part]
    names: tuple[str, ...] = ()
    if isinstance(value, dict) and isinstance(value.get("text"), list):
        label = value.get("label")
        names = tuple(map(str, label)) if isinstance(label, list) else ()
        value = value["text"]
    elif isinstance(value, list) and value and all(isinstance(v, dict) and "text" in v for v in value):
        names = tuple(str(v.get("label", "")) for v in value)
        value = [v["text"] for v in value]
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(v, str) and v.strip() for v in value):
        raise BadRecord(f"{column}: {str(value)[:40]!r} is not a list of two or more candidates")
    return tuple(v.strip() for v in value), names if len(names) == len(value) else ()


def _cloze(record: Record, columns: Mapping[str, str]) -> Draft:
    options, names = _options(record, columns)
    if len({option.casefold() for option in options}) < len(options):
        raise BadRecord("two candidates are the same")
    texts = [text_of(record, first(columns, TEXT))]
    second = columns.get("question") if first(columns, TEXT) != columns.get("question") else None
    if isinstance(record.get(second or ""), str) and record[second].strip():
        texts.append(record[second].strip())
    label = record.get(first(columns, LABEL) or "")
    if names and isinstance(label, str) and label.strip() in names:
        label = names.index(label.strip())
        return Draft(
            question=Question(prompt="\n".join(texts), options=options, answer=label, **_common(record, columns)),
            label=_Resolved(label),
        )
    return Draft(
        question=Question(prompt="\n".join(texts), options=options, answer=0, **_common(record, columns)), label=label
    )


class _Resolved(int):
    """A label that is an index already."""


def _own(record: Record, columns: Mapping[str, str]) -> Draft:
    """A row of our own data files; the prompt ends before the answer."""
    try:
        tokens, positions = list(record["tokens"]), dict(record["positions"])
        end, candidates = positions["answer"], tuple(record["candidates"])
        prompt = tokens[:end]
        slots = {role: tokens[i] for role, i in positions.items() if i < end}
        answer = candidates.index(record["answer"])
        question = Question(
            prompt=" ".join(prompt),
            options=candidates,
            answer=answer,
            pair_id=str(record["pair_id"]),
            group=str(record["group"]),
            split=SPLIT_NAMES.get(str(record.get("split", "")), ""),
            slots=slots,
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise BadRecord(f"not one of our rows ({error!r})") from None
    if len(candidates) < 2 or not all(isinstance(word, str) for word in (*candidates, *tokens)):
        raise BadRecord("not one of our rows (candidates or tokens)")
    return Draft(question=question, label=_Resolved(answer))


def _gap(record: Record, columns: Mapping[str, str]) -> Draft:
    """GAP: two names and a flag for each; both false means neither."""
    options = (text_of(record, columns["a"]), text_of(record, columns["b"]))
    if options[0].casefold() == options[1].casefold():
        raise BadRecord("A and B are the same name")
    flags = tuple(str(record.get(columns[name])).strip().lower() for name in ("a-coref", "b-coref"))
    if not set(flags) <= {"true", "false"}:
        raise BadRecord(f"A-coref, B-coref: {flags} are not TRUE or FALSE")
    if flags == ("true", "true"):
        raise BadRecord("A-coref and B-coref are both TRUE")
    answer = flags.index("true") if "true" in flags else 2
    question = Question(
        prompt=text_of(record, columns["text"]),
        options=(*options, "neither"),
        answer=answer,
        **_common(record, columns),
    )
    return Draft(question=question, label=_Resolved(answer))


def _winogender(record: Record, columns: Mapping[str, str]) -> Draft:
    """Winogender's all_sentences.tsv: the answer stands only inside sentid, technician.customer.1.male.txt."""
    parts = str(record.get(columns["sentid"])).split(".")
    if len(parts) != 5 or parts[2] not in {"0", "1"}:
        raise BadRecord(f"sentid {'.'.join(parts)!r} is not occupation.participant.0|1.gender.txt")
    occupation, participant, answer = parts[0], parts[1], int(parts[2])
    question = Question(
        prompt=text_of(record, columns["sentence"]), options=(occupation, participant), answer=answer, group=occupation
    )
    return Draft(question=question, label=_Resolved(answer))


def _winogender_template(record: Record, columns: Mapping[str, str]) -> Draft:
    occupation = text_of(record, columns["occupation(0)"])
    participant = text_of(record, columns["other-participant(1)"])
    answer = str(record.get(columns["answer"])).strip()
    if answer not in {"0", "1"}:
        raise BadRecord(f"answer {answer!r} is not 0 or 1")
    prompt = text_of(record, columns["sentence"])
    prompt = prompt.replace("$OCCUPATION", occupation).replace("$PARTICIPANT", participant)
    question = Question(prompt=prompt, options=(occupation, participant), answer=int(answer), group=occupation)
    return Draft(question=question, label=_Resolved(int(answer)))


# -- labels --------------------------------------------------------------------------------------------------------


def _label(record: Record, columns: Mapping[str, str]) -> Draft:
    texts = [text_of(record, first(columns, TEXT))]
    second = first(columns, TEXT2)
    if second:
        texts.append(text_of(record, second))
    target = record.get(columns.get("target", ""))
    if isinstance(target, dict):
        texts += [str(target[key]) for key in ("span1_text", "span2_text") if target.get(key)]
    label = record.get(
        first(columns, [name for name in LABEL if not isinstance(record.get(columns.get(name, "")), dict)]) or ""
    )
    return Draft(
        question=Question(prompt="\n".join(texts), options=(), answer=0, **_common(record, columns)), label=label
    )


SHAPES = (
    Shape(
        name="probe rows",
        kind="cloze",
        draft=_own,
        matches=lambda c: {"tokens", "candidates", "answer", "positions"} <= set(c),
    ),
    Shape(
        name="Winogender sentences", kind="cloze", draft=_winogender, matches=lambda c: {"sentid", "sentence"} <= set(c)
    ),
    Shape(
        name="Winogender templates",
        kind="cloze",
        draft=_winogender_template,
        matches=lambda c: {"occupation(0)", "other-participant(1)", "answer", "sentence"} <= set(c),
    ),
    Shape(name="GAP", kind="cloze", draft=_gap, matches=lambda c: {"text", "a", "b", "a-coref", "b-coref"} <= set(c)),
    Shape(name="sentence pairs", kind="pair", draft=_pair, matches=lambda c: bool(first(c, GOOD) and first(c, BAD))),
    Shape(
        name="text with candidates",
        kind="cloze",
        draft=_cloze,
        matches=lambda c: bool(first(c, TEXT) and (option_columns(c) or first(c, OPTIONS)) and first(c, LABEL)),
    ),
    Shape(
        name="text with a label", kind="label", draft=_label, matches=lambda c: bool(first(c, TEXT) and first(c, LABEL))
    ),
)


def shape_of(columns: Mapping[str, str]) -> Shape | None:
    """The first shape whose columns are there."""
    return next((shape for shape in SHAPES if shape.matches(columns)), None)


def renamed(names: Iterable[str], mapping: Mapping[str, str], source: str) -> dict[str, str]:
    """Lower-case column -> column as written, after `--map`. A mapped field hides every other name for it.

    >>> renamed(["Satz", "Klasse"], {"text": "Satz", "label": "Klasse"}, "f.csv")
    {'text': 'Satz', 'label': 'Klasse'}
    """
    names = list(names)
    families = {"good": GOOD, "bad": BAD, "text": TEXT, "text2": TEXT2, "options": OPTIONS, "label": LABEL}
    families |= {"pair": PAIR, "group": GROUP, "split": SPLIT}
    columns = {name.lower(): name for name in names}
    for field_name, column in mapping.items():
        if field_name not in FIELDS and not _NUMBERED.match(field_name):
            raise ProbeError(f"--map {field_name}={column}: no field {field_name!r}; {nearest(field_name, FIELDS)}")
        if column not in names:
            raise ProbeError(
                f"--map {field_name}={column}: {source} has no column {column!r}; {nearest(column, names)}"
            )
        for alias in families.get(field_name, ()):
            columns.pop(alias, None)
        columns.pop(column.lower(), None)
    for field_name, column in mapping.items():
        columns[families[field_name][0] if field_name in families else field_name] = column
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
                raise ProbeError(
                    f"{ledger.source}: columns {', '.join(map(repr, list(record)[:12]))} are none that are known; "
                    "name them with --map, e.g. --map good=COLUMN --map bad=COLUMN, or --map text=… --map label=…"
                )
        try:
            draft = shape.draft(record, columns)
        except BadRecord as error:
            ledger.malformed(number, str(error))
            continue
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            ledger.malformed(number, f"not a {shape.name} record ({type(error).__name__}: {error})")
            continue
        label = draft.label
        if label is None or (isinstance(label, str) and not label.strip()) or label in (-1, "-1"):
            ledger.unlabelled(number)
            continue
        if isinstance(label, (dict, list)):
            ledger.malformed(number, f"the label is a {type(label).__name__}")
            continue
        labels[number] = label
        seen.add(_plain(label))
        if len(seen) > 1000 and shape.kind == "label":
            raise ProbeError(f"{ledger.source}: the label has more than 1,000 different values; is it a class?")
        ledger.add(replace(draft.question, record=number))
        if len(labels) > 4 * ledger.limit:
            kept = {question.record for question in ledger.questions}
            labels = {record: label for record, label in labels.items() if record in kept}
    if shape is None:
        return ledger.reading(format=format, kind="pair")
    return _resolve(ledger, shape, f"{format}, {shape.name}", labels, seen)


def _resolve(ledger: Ledger, shape: Shape, format: str, labels: Mapping[int, Any], seen: set[str]) -> Reading:
    """Turn labels into indices: names, letters, numbers from 0 or from 1."""
    if shape.kind == "label":
        classes = sorted(seen)
        if len(classes) == 1:
            raise ProbeError(f"{ledger.source}: every row has the label {classes[0]!r}, so there is nothing to tell")
        index = {name: i for i, name in enumerate(classes)}
        return _closed(ledger, format, "label", {r: index[_plain(label)] for r, label in labels.items()}, classes)
    if shape.kind == "pair":
        return ledger.reading(format=format, kind="pair")
    most = max((len(q.options) for q in ledger.questions), default=2)
    resolved = all(isinstance(label, _Resolved) for label in labels.values())
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


def _plain(label: Any) -> str:
    """A label as text; spreadsheets turn 1 into 1.0.

    >>> _plain(1.0), _plain(" B. ")
    ('1', 'B.')
    """
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label).strip()


def _index(label: Any, options: tuple[str, ...], base: int) -> int | None:
    if isinstance(label, _Resolved):
        return int(label)
    if isinstance(label, bool):
        return int(label) if len(options) == 2 else None
    text = _plain(label)
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
