"""Clean and corrupted prompts, as circuit work ships them (IOI, greater-than) -> questions.

Two traps. Answers are token ids of one tokenizer: the word an id stands for is found from the prompts themselves, where
each id's word stands in every prompt that the id belongs to and in few others. And a spreadsheet has eaten the leading
zero of two-digit labels.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from probe.errors import ProbeError
from probe.tasks.readers.questions import Ledger, Question, Reading
from probe.tasks.readers.tables import Record, Records

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


def is_prompts(columns: Iterable[str]) -> bool:
    """Whether the columns are those of clean and corrupted prompts."""
    return {"clean", "corrupted"} <= set(columns)


def prompts(records: Records, ledger: Ledger, format: str) -> Reading:
    """With `correct_idx` a cloze between two words, with `label` a label, else a pair: clean right, corrupted wrong."""
    rows: list[tuple[int, Record]] = []
    for number, record in records:
        if isinstance(record, str):
            ledger.malformed(number, record)
        elif not isinstance(record.get("clean"), str) or not record["clean"].strip():
            ledger.malformed(number, "clean: missing or no text")
        else:
            rows.append((number, record))
    columns = set(rows[0][1]) if rows else set()
    if {"correct_idx", "incorrect_idx"} <= columns:
        return _ids(rows, ledger, format)
    if "label" in columns:
        return _labels(rows, ledger, format)
    for number, record in rows:
        if not isinstance(record.get("corrupted"), str) or record["corrupted"].strip() == record["clean"].strip():
            ledger.malformed(number, "corrupted: missing, or the same as clean")
        else:
            ledger.add(
                Question(options=(record["clean"].strip(), record["corrupted"].strip()), answer=0, record=number)
            )
    ledger.note("no answer column: the clean prompt is taken as right, the corrupted one as wrong")
    return ledger.reading(format=f"{format}, clean and corrupted prompts", kind="pair")


def _ids(rows: list[tuple[int, Record]], ledger: Ledger, format: str) -> Reading:
    good: list[tuple[int, str, str, str]] = []
    for number, record in rows:
        ids = (str(record.get("correct_idx", "")).strip(), str(record.get("incorrect_idx", "")).strip())
        if not all(re.fullmatch(r"\d{1,9}", i) for i in ids) or ids[0] == ids[1]:
            ledger.malformed(number, f"correct_idx, incorrect_idx: {ids} are not two different token ids")
        else:
            good.append((number, record["clean"].strip(), *ids))
    words = words_of_ids([(prompt, (right, wrong)) for _, prompt, right, wrong in good])
    for number, prompt, right, wrong in good:
        pair = (words.get(right), words.get(wrong))
        if pair[0] is None or pair[1] is None or pair[0] == pair[1]:
            unknown = right if pair[0] is None else wrong
            ledger.malformed(number, f"token id {unknown}: no single word of the prompts goes with it")
            continue
        options = tuple(sorted((pair[0], pair[1])))
        ledger.add(Question(prompt=prompt, options=options, answer=options.index(pair[0]), record=number))
    ledger.note(
        f"{len(words)} token ids were matched to words by the prompts they stand with; check one: {_shown(words)}"
    )
    return ledger.reading(format=f"{format}, clean and corrupted prompts with token ids", kind="cloze")


def words_of_ids(rows: list[tuple[str, tuple[str, str]]]) -> dict[str, str]:
    """Which word each token id stands for: present in all of the id's prompts, and least often elsewhere.

    An id whose best word is not unique is left out.

    >>> words_of_ids([("Ann and Bob", ("7", "9")), ("Ann and Cy", ("7", "5")), ("Cy and Bob", ("5", "9"))])
    {'5': 'Cy', '7': 'Ann', '9': 'Bob'}
    """
    texts = [set(_WORD.findall(prompt)) for prompt, _ in rows]
    frequency = Counter(word for words in texts for word in words)
    common: dict[str, set[str]] = {}
    for words, (_, ids) in zip(texts, rows, strict=True):
        for token_id in ids:
            common[token_id] = common[token_id] & words if token_id in common else set(words)
    found: dict[str, str] = {}
    for token_id in sorted(common, key=lambda i: (len(common[i]), i)):
        ranked = sorted(common[token_id] - set(found.values()), key=lambda word: (frequency[word], word))
        if ranked and (len(ranked) == 1 or frequency[ranked[0]] < frequency[ranked[1]]):
            found[token_id] = ranked[0]
    return dict(sorted(found.items()))


def _shown(words: dict[str, str]) -> str:
    return ", ".join(f"{token_id} = {word}" for token_id, word in list(words.items())[:2]) or "none"


def _labels(rows: list[tuple[int, Record]], ledger: Ledger, format: str) -> Reading:
    texts = {number: str(record["label"]).strip() for number, record in rows if record.get("label") is not None}
    width = max((len(text) for text in texts.values() if text.isdigit()), default=0)
    padded = 0
    by_number = dict(rows)
    for number, text in texts.items():
        whole = text.zfill(width)
        if text.isdigit() and whole != text and whole in by_number[number]["clean"]:
            texts[number] = whole
            padded += 1
    classes = sorted({text for text in texts.values() if text})
    if len(classes) == 1:
        raise ProbeError(f"{ledger.source}: every row has the label {classes[0]!r}, so there is nothing to tell")
    for number, record in rows:
        text = texts.get(number, "")
        if not text:
            ledger.unlabelled(number)
        else:
            ledger.add(Question(prompt=record["clean"].strip(), options=(), answer=classes.index(text), record=number))
    if padded:
        ledger.note(f"{padded} labels had lost a leading zero (2 for 02): put back, as the prompt shows it")
    return ledger.reading(format=f"{format}, clean and corrupted prompts with labels", kind="label", classes=classes)
