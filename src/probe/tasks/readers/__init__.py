"""Other people's files -> questions for the audit: what form a file has, and which reader reads it.

The form is sniffed from the content, never from the name alone (JSON Lines lives under `.json`), and said in the
result; `format` overrides. See `questions.py` for what comes out, one file a form for how.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from probe.errors import ProbeError, nearest
from probe.tasks.readers import own, plain, prompts, suites, tables, winograd_xml
from probe.tasks.readers.columns import read_table, renamed
from probe.tasks.readers.questions import SPLIT_NAMES, Ledger, Question, Reading, Unlabelled, with_split
from probe.tasks.readers.shapes import shape_of
from probe.tasks.readers.streams import encoding_of, head
from probe.tasks.spec import task_names

__all__ = ["FORMATS", "Question", "Reading", "pooled", "read", "sniff"]

FORMATS = (
    "jsonl",
    "json",
    "csv",
    "tsv",
    "parquet",
    "xml",
    "alternating-bad-first",
    "alternating-good-first",
    "blocks",
    "winobias",
    "syntaxgym",
)


def read(
    source: str | Path,
    *,
    format: str | None = None,
    mapping: Mapping[str, str] | None = None,
    encoding: str | None = None,
    strict: bool = False,
    max_questions: int = 20_000,
    stdin: BinaryIO | None = None,
) -> Reading:
    """Read a task, a folder, a file, or `-` (standard input) into questions.

    Args:
        source: the name of one of our tasks, a `.toml` task file, a folder, a data file, or `-`.
        format: one of `FORMATS`, where the sniffing is to be overridden.
        mapping: field -> column, for tables (and good, bad -> condition, for test suites).
        encoding: of a text file without a byte-order mark or declaration; UTF-8 otherwise.
        strict: stop at the first malformed record.
        max_questions: beyond these a file is sampled, twins together.
        stdin: what `-` reads.

    Raises:
        NotThere: no such file or task.
        ProbeError: not readable as what it is; the message names file, record and what to do.
    """
    if format is not None and format not in FORMATS:
        raise ProbeError(f"--format {format}: not known; {nearest(format, FORMATS)}")
    if max_questions < 1:
        raise ProbeError(f"--max-questions {max_questions}: 1 or more")
    ledger = Ledger(str(source), strict=strict, limit=max_questions)
    if str(source) == "-":
        return _standard_input(stdin, ledger, format, mapping, encoding)
    path = Path(source)
    if ours(source):
        return own.folder(path, ledger) if (path / "task.json").exists() else own.task(source, ledger)
    if path.is_dir():
        return _folder(path, ledger, format, mapping, encoding)
    if format == "parquet" or (format is None and head(path).startswith(b"PAR1")):
        head(path)
        return read_table(tables.parquet(path), ledger, "Parquet", mapping or {})
    return _file(path, ledger, format, mapping or {}, encoding)


def ours(source: str | Path) -> bool:
    """Whether a source is a task of ours: a name, a task file, or a generated folder."""
    path = Path(source)
    named = path.suffix == ".toml" or (str(source) in task_names() and not path.exists())
    return named or (path / "task.json").exists()


def _standard_input(
    stdin: BinaryIO | None, ledger: Ledger, format: str | None, mapping: Mapping[str, str] | None, encoding: str | None
) -> Reading:
    """Standard input goes to a temporary file first: it is looked at more than once, and never held in memory."""
    if stdin is None:
        raise ProbeError("-: there is no standard input to read")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as stream:
            shutil.copyfileobj(stdin, stream)
        if not path.stat().st_size:
            raise ProbeError("standard input is empty")
        ledger.source = "standard input"
        try:
            reading = read(
                path,
                format=format,
                mapping=mapping,
                encoding=encoding,
                strict=ledger.strict,
                max_questions=ledger.limit,
            )
        except ProbeError as error:
            raise type(error)(str(error).replace(str(path), "standard input")) from None
    return replace(reading, source="standard input")


def _folder(
    path: Path, ledger: Ledger, format: str | None, mapping: Mapping[str, str] | None, encoding: str | None
) -> Reading:
    parts = {f: SPLIT_NAMES.get(f.name.split(".")[0].lower(), "") for f in sorted(path.iterdir()) if f.is_file()}
    parts = {file: split for file, split in parts.items() if split}
    if not parts:
        raise ProbeError(
            f"{path} is a folder without task.json or files named train.…, validation.…, test.…; name a file in it"
        )
    options = {"format": format, "mapping": mapping, "encoding": encoding, "strict": ledger.strict}
    readings, notes = [], []
    for file, split in parts.items():
        try:
            reading = read(file, **options, max_questions=ledger.limit)
        except Unlabelled as error:
            if not readings and file == list(parts)[-1]:
                raise
            notes.append(f"{error}; left out")
            continue
        readings.append(replace(reading, questions=with_split(reading.questions, split)))
    whole = pooled(readings)
    return replace(whole, source=str(path), notes=(*whole.notes, *notes))


def pooled(readings: list[Reading]) -> Reading:
    """Several readings of one kind as one, for files that only mean something together (WinoBias pro and anti).

    Pair ids that are mere numbers start anew in each file, so they stay apart; named ones, groups and texts do not.
    What a task says of itself, its claims and its split, is said of the whole only where all of them say it.
    """
    if len({reading.kind for reading in readings}) > 1:
        kinds = ", ".join(f"{reading.source}: {reading.kind}" for reading in readings)
        raise ProbeError(f"these can't be pooled, they ask different things ({kinds})")
    classes = tuple(sorted({name for reading in readings for name in reading.classes}))
    questions, offset = [], 0
    for i, reading in enumerate(readings):
        for question in reading.questions:
            answer = question.answer
            if reading.kind == "label":
                answer = classes.index(reading.classes[answer])
            pair_id = f"{i}:{question.pair_id}" if question.pair_id.isdigit() else question.pair_id
            questions.append(replace(question, answer=answer, pair_id=pair_id, record=question.record + offset))
        offset += reading.records
    claims = {(reading.stops, reading.allows) for reading in readings}
    notes = [note for reading in readings for note in reading.notes]
    notes += ["pooled tasks that claim different things: no claim is judged"] if len(claims) > 1 else []
    stops, allows = claims.pop() if len(claims) == 1 else ((), ())
    splits = {reading.declared_split for reading in readings}
    units = {reading.unit for reading in readings}
    return Reading(
        source=" + ".join(reading.source for reading in readings),
        format=" + ".join(dict.fromkeys(reading.format for reading in readings)),
        kind=readings[0].kind,
        unit=units.pop() if len(units) == 1 else "record",
        declared_split=splits.pop() if len(splits) == 1 else "",
        stops=stops,
        allows=allows,
        questions=tuple(questions),
        classes=classes,
        problems=tuple(
            replace(problem, reason=f"{problem.reason} ({reading.source})")
            for reading in readings
            for problem in reading.problems
        )[:20],
        notes=tuple(dict.fromkeys(notes)),
        **{
            name: sum(getattr(reading, name) for reading in readings)
            for name in ("files", "records", "used", "malformed", "unlabelled", "sampled_out")
        },
    )


def sniff(start: bytes, suffix: str, encoding: str) -> str:
    r"""The form of a text file, from its first bytes.

    >>> sniff(b'{"a": 1}\n{"a": 2}\n', ".json", "utf-8")
    'jsonl'
    >>> sniff(b"the dogs bark .\nthe dogs barks .\n", ".txt", "utf-8")
    'alternating-bad-first'
    """
    text = start.decode(encoding, "replace").lstrip("\ufeff")
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return UNKNOWN
    opening = text.lstrip()[0]
    if opening == "<":
        return "xml"
    if opening == "{":
        several = len(lines) > 1 and lines[0].strip().endswith("}") and lines[1].strip().startswith("{")
        return "jsonl" if several or suffix in (".jsonl", ".ndjson") else "json"
    if opening == "[" and not plain._BRACKET.search(lines[0]):
        return "json"
    if opening == "[" and text.lstrip()[1:].lstrip()[:1] in {"{", "]", "["}:
        return "json"
    if plain._LINE.match(lines[0]) and len(plain._BRACKET.findall(lines[0])) == 2:
        return "winobias"
    for name, delimiter in (("tsv", "\t"), ("csv", ",")):
        if suffix == f".{name}":
            return name
        header = next(csv.reader(io.StringIO(lines[0]), delimiter=delimiter), [])
        if len(header) > 1 and (shape_of({c.lower(): c for c in header}) or prompts.is_prompts(header)):
            return name
    if suffix == ".jsonl":
        return "jsonl"
    paragraphs = [part.strip() for part in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n")) if part.strip()]
    sizes = [len(part.splitlines()) for part in paragraphs[:4]]
    if len(sizes) > 1 and sizes[0] in (2, 4) and len(set(sizes[:-1])) == 1:
        return "blocks"
    if _alike(lines[:40]):
        return "alternating-bad-first"
    return UNKNOWN


UNKNOWN = "unknown"


def _alike(lines: list[str]) -> bool:
    """Whether lines 1 and 2, 3 and 4, … share most of their words, as the two sentences of a minimal pair do."""
    bags = [set(line.lower().split()) for line in lines]
    shared = [len(a & b) / max(1, min(len(a), len(b))) for a, b in zip(bags[::2], bags[1::2], strict=False)]
    return bool(shared) and sum(shared) / len(shared) >= 0.4


def _file(path: Path, ledger: Ledger, format: str | None, mapping: Mapping[str, str], encoding: str | None) -> Reading:
    start = head(path)
    coding = encoding_of(start, encoding)
    format = format or sniff(start, path.suffix.lower(), coding)
    if format == UNKNOWN:
        raise ProbeError(f"{path}: can't tell what form this is; say so with --format ({', '.join(FORMATS)})")
    if mapping and format not in ("jsonl", "json", "csv", "tsv", "parquet", "syntaxgym"):
        raise ProbeError(f"{path} reads as {format}, which has no columns for --map; give --format as well")
    if format == "xml":
        return winograd_xml.winograd_xml(path, encoding, ledger)
    if format == "winobias":
        return plain.winobias(path, coding, ledger)
    if format == "blocks":
        return plain.blocks(path, coding, ledger)
    if format.startswith("alternating"):
        return plain.alternating(path, coding, ledger, good_first=format.endswith("good-first"))
    if format in ("json", "syntaxgym"):
        value = tables.json_document(path, coding)
        if suites.is_suite(value):
            return suites.suite(path, value, ledger, mapping)
        if format == "syntaxgym":
            raise ProbeError(f"{path}: no items with conditions, so no SyntaxGym suite")
        records = tables.json_records(path, coding)
    elif format == "jsonl":
        records = tables.json_lines(path, coding)
    else:
        records = tables.delimited(path, coding, "\t" if format == "tsv" else ",")
    return _table(records, ledger, {"jsonl": "JSON Lines"}.get(format, format.upper()), mapping)


def _table(records: tables.Records, ledger: Ledger, format: str, mapping: Mapping[str, str]) -> Reading:
    """Look at the first good record: clean and corrupted prompts have a reader of their own."""
    waiting = []
    for number, record in records:
        waiting.append((number, record))
        if not isinstance(record, str):
            break
    rest = (entry for part in (waiting, records) for entry in part)
    last = waiting[-1][1] if waiting else ""
    columns = renamed(last, mapping, ledger.source) if isinstance(last, dict) else {}
    if not mapping and prompts.is_prompts(columns) and isinstance(last, dict) and {"clean", "corrupted"} <= set(last):
        return prompts.prompts(rest, ledger, format)
    return read_table(rest, ledger, format, mapping)
