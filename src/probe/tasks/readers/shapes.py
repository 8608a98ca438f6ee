"""What one record of a table means: a function for each form that people publish, record -> draft.

A draft is a question whose label is still as it stands in the file; `labels.py` resolves all of them at the end.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from probe.tasks.examples import alone
from probe.tasks.readers.questions import SPLIT_NAMES, Question
from probe.tasks.readers.tables import Record

GOOD = ("sentence_good", "good", "grammatical", "acceptable", "correct", "sent_good", "good_sentence", "positive")
RIGHT, WRONG = ("correct", "positive"), ("incorrect", "negative")
"""Of these names, beside a text: answers to it. The others of `GOOD` and `BAD` are sentences."""
BAD = ("sentence_bad", "bad", "ungrammatical", "unacceptable", "incorrect", "sent_bad", "bad_sentence", "negative")
TEXT = ("text", "sentence", "premise", "context", "passage", "paragraph", "article", "ctx", "sentence1")
TEXT += ("goal", "prompt", "query", "input", "question")
TEXT2 = ("hypothesis", "sentence2", "question2")
ASKED = ("question", "query")
"""What is asked of a text that stands in a column of its own."""
OPTIONS = ("options", "choices", "candidates", "endings", "answers")
LABEL = ("label", "answer", "answerkey", "answer_key", "gold", "target", "correct_answer", "gold_label", "class")
PAIR = ("pairid", "pair_id", "pair")
GROUP = ("group", "group_id", "template", "template_id")
SPLIT = ("split", "partition", "fold")
NUMBERED = re.compile(r"^(option|choice|sol|ending|candidate|mc|opa?|answer)_?([0-9]|[a-e])$")


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A question whose label is still as it stands in the file; None where the file gives none."""

    question: Question
    label: Any


class Resolved(int):
    """A label that is an index already."""


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


def unread(columns: Mapping[str, str], kind: str) -> list[str]:
    """Columns that by their names hold a text or a label, and are not read, because another that does is."""
    read = {first(columns, names) for names in (TEXT, TEXT2, LABEL)} | {columns.get(name) for name in ASKED}
    read = set() if kind == "pair" else read
    named = [columns[name] for name in (*TEXT, *TEXT2, *LABEL) if name in columns and name != "target"]
    return [column for column in dict.fromkeys(named) if column not in read]


def _prompt(record: Record, columns: Mapping[str, str]) -> str:
    """The text with its second sentence and what is asked of it, each on a line: a part left out would be no cheat."""
    text, second = first(columns, TEXT), first(columns, TEXT2)
    texts = [text_of(record, text)]
    if second:
        texts.append(text_of(record, second))
    for column in (columns[name] for name in ASKED if name in columns):
        asked = record.get(column)
        if isinstance(asked, str) and asked.strip() and column != text:
            texts.append(asked.strip())
    return "\n".join(texts)


def _question(record: Record, columns: Mapping[str, str], question: Question) -> Question:
    """The question with what the file says of pair, group and split."""
    found = {}
    for field_name, names in (("pair_id", PAIR), ("group", GROUP), ("split", SPLIT)):
        column = first(columns, names)
        value = record.get(column) if column else None
        if value is not None and not isinstance(value, (dict, list)):
            found[field_name] = str(value)
    if "split" in found:
        found["split"] = SPLIT_NAMES.get(found["split"].strip().lower(), "")
    return replace(question, **found)


# -- pairs ---------------------------------------------------------------------------------------------------------


def _pair(record: Record, columns: Mapping[str, str]) -> Draft:
    options = (text_of(record, first(columns, GOOD)), text_of(record, first(columns, BAD)))
    if options[0] == options[1]:
        raise BadRecord("the two sentences are the same")
    return Draft(question=_question(record, columns, Question(options=options, answer=0)), label=0)


def _pair_of_a_text(record: Record, columns: Mapping[str, str]) -> Draft:
    """A right and a wrong answer to one text. The two are sorted: right first, their index would be the answer."""
    right, wrong = text_of(record, first(columns, RIGHT)), text_of(record, first(columns, WRONG))
    if right.casefold() == wrong.casefold():
        raise BadRecord("the two candidates are the same")
    options = tuple(sorted((right, wrong)))
    answer = options.index(right)
    question = Question(prompt=_prompt(record, columns), options=options, answer=answer)
    return Draft(question=_question(record, columns, question), label=Resolved(answer))


# -- cloze ---------------------------------------------------------------------------------------------------------


def option_columns(columns: Mapping[str, str]) -> list[str]:
    """Columns such as option1, option2 or choice_a, choice_b, in order; the longest family of one stem."""
    families: dict[str, list[tuple[str, str]]] = {}
    for name in columns:
        if match := NUMBERED.match(name):
            families.setdefault(match[1], []).append((match[2], columns[name]))
    best = max(families.values(), key=len, default=[])
    return [column for _, column in sorted(best)] if len(best) > 1 else []


def _written_out(text: str, column: str | None) -> Any:
    """Candidates in one cell: JSON, a Python list (what pandas writes), or parts between bars, else semicolons, else
    commas: a comma between bars belongs to its candidate.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        if not text.lstrip().startswith(("[", "{")):
            mark = next((mark for mark in "|;" if mark in text), ",")
            return [part.strip() for part in text.split(mark) if part.strip()]
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        raise BadRecord(f"{column}: {text[:40]!r} is neither JSON nor a Python list of candidates") from None


def _options(record: Record, columns: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The candidates, and the names that a label may call them by."""
    numbered = option_columns(columns)
    if numbered:
        return tuple(text_of(record, column) for column in numbered), ()
    column = first(columns, OPTIONS)
    value: Any = record.get(column) if column else None
    if isinstance(value, str):
        value = _written_out(value, column)
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
    label = record.get(first(columns, LABEL) or "")
    if names and isinstance(label, str) and label.strip() in names:
        label = Resolved(names.index(label.strip()))
    answer = int(label) if isinstance(label, Resolved) else 0
    question = Question(prompt=_prompt(record, columns), options=options, answer=answer)
    return Draft(question=_question(record, columns, question), label=label)


def _own(record: Record, columns: Mapping[str, str]) -> Draft:
    """A row of our own data files; the prompt ends before the answer."""
    try:
        tokens, positions = list(record["tokens"]), dict(record["positions"])
        end, candidates = positions["answer"], tuple(record["candidates"])
        prompt = tokens[:end]
        slots = {role: tokens[i] for role, i in positions.items() if i < end}
        answer = candidates.index(record["answer"])
        pair_id, group = ("" if alone(name) else name for name in (str(record["pair_id"]), str(record["group"])))
        question = Question(
            prompt=" ".join(prompt),
            options=candidates,
            answer=answer,
            pair_id=pair_id,
            group=group,
            split=SPLIT_NAMES.get(str(record.get("split", "")), ""),
            slots=slots,
        )
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise BadRecord(f"not one of our rows ({error!r})") from None
    if len(candidates) < 2 or not all(isinstance(word, str) for word in (*candidates, *tokens)):
        raise BadRecord("not one of our rows (candidates or tokens)")
    return Draft(question=question, label=Resolved(answer))


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
    question = Question(prompt=text_of(record, columns["text"]), options=(*options, "neither"), answer=answer)
    return Draft(question=_question(record, columns, question), label=Resolved(answer))


def _winogender(record: Record, columns: Mapping[str, str]) -> Draft:
    """Winogender's all_sentences.tsv: the answer stands only inside sentid, technician.customer.1.male.txt."""
    parts = str(record.get(columns["sentid"])).split(".")
    if len(parts) != 5 or parts[2] not in {"0", "1"}:
        raise BadRecord(f"sentid {'.'.join(parts)!r} is not occupation.participant.0|1.gender.txt")
    occupation, participant, answer = parts[0], parts[1], int(parts[2])
    question = Question(
        prompt=text_of(record, columns["sentence"]), options=(occupation, participant), answer=answer, group=occupation
    )
    return Draft(question=question, label=Resolved(answer))


def _winogender_template(record: Record, columns: Mapping[str, str]) -> Draft:
    occupation = text_of(record, columns["occupation(0)"])
    participant = text_of(record, columns["other-participant(1)"])
    answer = str(record.get(columns["answer"])).strip()
    if answer not in {"0", "1"}:
        raise BadRecord(f"answer {answer!r} is not 0 or 1")
    prompt = text_of(record, columns["sentence"])
    prompt = prompt.replace("$OCCUPATION", occupation).replace("$PARTICIPANT", participant)
    question = Question(prompt=prompt, options=(occupation, participant), answer=int(answer), group=occupation)
    return Draft(question=question, label=Resolved(int(answer)))


# -- labels --------------------------------------------------------------------------------------------------------


def _label(record: Record, columns: Mapping[str, str]) -> Draft:
    texts = [_prompt(record, columns)]
    target = record.get(columns.get("target", ""))
    if isinstance(target, dict):
        texts += [str(target[key]) for key in ("span1_text", "span2_text") if target.get(key)]
    names = [name for name in LABEL if not isinstance(record.get(columns.get(name, "")), dict)]
    question = Question(prompt="\n".join(texts), options=(), answer=0)
    return Draft(question=_question(record, columns, question), label=record.get(first(columns, names) or ""))


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
    Shape(
        name="text with a right and a wrong candidate",
        kind="cloze",
        draft=_pair_of_a_text,
        matches=lambda c: bool(first(c, RIGHT) and first(c, WRONG) and first(c, TEXT)),
    ),
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
