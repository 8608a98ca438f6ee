"""Files of records -> dictionaries, streamed: JSON Lines, JSON, CSV, TSV, Parquet.

Each reader yields `(number, record or complaint)`, records counted from 1, a header not counted. CSV follows RFC 4180
(newlines and doubled quotes inside quotes); TSV has no quoting at all: a quote there is data.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from probe.errors import ProbeError
from probe.tasks.readers.streams import lines, undecodable

Record = dict[str, Any]
Records = Iterator[tuple[int, Record | str]]
"""A record, or the complaint about one."""


def json_lines(path: Path, encoding: str) -> Records:
    """One JSON object a line; blank lines are no records."""
    number = 0
    for line in lines(path, encoding):
        if not line.strip():
            continue
        number += 1
        yield number, _object(line)


def _object(line: str) -> Record | str:
    if complaint := undecodable(line):
        return complaint
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"not valid JSON ({_short(error)})"
    return value if isinstance(value, dict) else f"a JSON {type(value).__name__}, expected an object"


def json_document(path: Path, encoding: str) -> Any:
    """A whole JSON file.

    Raises:
        ProbeError: not JSON; with line and column.
    """
    text = "".join(lines(path, encoding))
    if complaint := undecodable(text):
        raise ProbeError(f"{path}: {complaint}")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ProbeError(f"{path}, line {error.lineno}: not valid JSON ({error.msg})") from None
    except (ValueError, RecursionError) as error:
        raise ProbeError(f"{path}: not valid JSON ({_short(error)})") from None


def json_records(path: Path, encoding: str) -> Records:
    """The rows of a JSON file: a list of objects, an object that holds one, or an object of columns (pandas)."""
    value = json_document(path, encoding)
    if isinstance(value, dict):
        value = _rows_inside(path, value)
    if not isinstance(value, list):
        raise ProbeError(f"{path}: a JSON {type(value).__name__}, expected a list of objects")
    for number, row in enumerate(value, start=1):
        yield number, row if isinstance(row, dict) else f"a JSON {type(row).__name__}, expected an object"


def _rows_inside(path: Path, value: Record) -> list[Any]:
    rows = [key for key, inner in value.items() if isinstance(inner, list) and inner and isinstance(inner[0], dict)]
    if len(rows) == 1:
        return value[rows[0]]
    columns = {k: list(v.values()) if isinstance(v, dict) else v for k, v in value.items()}
    lengths = {len(v) for v in columns.values() if isinstance(v, list)}
    if columns and all(isinstance(v, list) for v in columns.values()) and len(lengths) == 1:
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [value]


def delimited(path: Path, encoding: str, delimiter: str) -> Records:
    """CSV (comma, quotes as in RFC 4180) or TSV (tab, no quoting), with a header line."""
    quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    newline = None if delimiter == "\t" else ""
    rows = csv.reader(lines(path, encoding, newline=newline), delimiter=delimiter, quoting=quoting, strict=True)
    header = next_row(rows)
    if not isinstance(header, list):
        raise ProbeError(f"{path}, header: {header or 'missing'}")
    names = [name.strip() or f"column_{i}" for i, name in enumerate(header)]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ProbeError(f"{path}, header: column {twice!r} stands twice")
    number = 0
    while (row := next_row(rows)) is not None:
        if row == []:
            continue
        number += 1
        if isinstance(row, str):
            yield number, row
        elif len(row) != len(names):
            yield number, f"{len(row)} fields, the header has {len(names)}"
        elif complaint := next(filter(None, map(undecodable, row)), None):
            yield number, complaint
        else:
            yield number, dict(zip(names, row, strict=True))


def next_row(rows: Iterator[list[str]]) -> list[str] | str | None:
    """The next row, a complaint about it, or None at the end."""
    try:
        return next(rows)
    except StopIteration:
        return None
    except csv.Error as error:
        return f"not well-formed: {error}"


def parquet(path: Path) -> Records:
    """The rows of a Parquet file, batch by batch."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    try:
        file = pq.ParquetFile(path)
        number = 0
        for batch in file.iter_batches(batch_size=4096):
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except (pa.ArrowException, OSError, ValueError, UnicodeDecodeError) as error:
        raise ProbeError(f"{path}: not a whole Parquet file ({_short(error)})") from None


def _short(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return text if len(text) <= 120 else text[:117] + "…"
