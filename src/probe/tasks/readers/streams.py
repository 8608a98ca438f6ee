"""Bytes -> text, one line at a time: byte-order marks, declared encodings, CRLF, and bytes that are no text.

A byte that does not decode becomes a lone surrogate; `undecodable` finds it, so that one bad byte costs one record and
is named, instead of costing the file.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from probe.errors import NotThere, ProbeError

HEAD = 1 << 16
_SURROGATE = re.compile("[\ud800-\udfff]")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_REFUSED = (
    (b"PK\x03\x04", "a zip archive (perhaps a torch or Excel file); save the rows as JSON Lines or CSV"),
    (b"\x1f\x8b", "gzip; unpack it first: gunzip -k"),
    (b"BZh", "bzip2; unpack it first: bunzip2 -k"),
    (b"\x28\xb5\x2f\xfd", "zstandard; unpack it first: unzstd"),
    (b"\xfd7zXZ", "xz; unpack it first: unxz -k"),
    (b"\x93NUMPY", "a NumPy array, which may hold pickled objects; save the rows as JSON Lines or CSV"),
    (b"SQLite format 3", "an SQLite database; export the rows as CSV"),
)
PICKLE = (
    "a pickle, which runs code when it is opened, so it is never opened here; where you trust it, convert it: python "
    "-c \"import pandas; pandas.read_pickle('FILE').to_json('FILE.jsonl', orient='records', lines=True)\""
)


def head(path: Path) -> bytes:
    """The first bytes of a file; what a sniffer looks at.

    Raises:
        NotThere: no such file.
        ProbeError: a folder, not readable, empty, or a kind of file that is never opened.
    """
    try:
        with path.open("rb") as stream:
            start = stream.read(HEAD)
    except FileNotFoundError:
        raise NotThere(f"there is no file or folder {path}") from None
    except IsADirectoryError:
        raise ProbeError(f"{path} is a folder; name a file in it") from None
    except OSError as error:
        raise ProbeError(f"{path} can't be read: {error.strerror}") from None
    if not start.strip():
        raise ProbeError(f"{path} is empty")
    if path.suffix in {".pkl", ".pickle", ".joblib", ".pt", ".pth"} or re.match(rb"\x80[\x02-\x05][\x00-\xff]", start):
        raise ProbeError(f"{path} is {PICKLE}")
    for magic, what in _REFUSED:
        if start.startswith(magic):
            raise ProbeError(f"{path} is {what}")
    return start


def encoding_of(start: bytes, encoding: str | None = None) -> str:
    r"""The encoding to read with: the one asked for, the one that a byte-order mark declares, or UTF-8.

    >>> encoding_of(b"\xef\xbb\xbfabc"), encoding_of(b"abc")
    ('utf-8-sig', 'utf-8')
    """
    if encoding:
        try:
            return codecs.lookup(encoding).name
        except LookupError:
            raise ProbeError(f"--encoding {encoding} is not known; utf-8, utf-16, latin-1, cp1252, … are") from None
    return next((name for mark, name in _MARKS if start.startswith(mark)), "utf-8")


def lines(path: Path, encoding: str, *, newline: str | None = None) -> Iterator[str]:
    """The lines of a text file, streamed. `newline=""` keeps line ends as they are (CSV fields may hold them)."""
    errors = "surrogateescape" if encoding.startswith(("utf-8", "ascii")) else "strict"
    try:
        with path.open(encoding=encoding, errors=errors, newline=newline) as stream:
            yield from stream
    except UnicodeError as error:
        raise ProbeError(f"{path}: not {encoding} text ({error}); say which with --encoding") from None


def undecodable(text: str) -> str | None:
    r"""A complaint about bytes that are not text, or None.

    >>> undecodable("plain"), undecodable(b"caf\xe9".decode("utf-8", "surrogateescape"))
    (None, 'byte 0xE9 is not UTF-8; name the encoding with --encoding')
    """
    found = _SURROGATE.search(text)
    if found is None:
        return None
    code = ord(found.group())
    if 0xDC80 <= code <= 0xDCFF:
        return f"byte 0x{code - 0xDC00:02X} is not UTF-8; name the encoding with --encoding"
    return f"holds half of a surrogate pair (\\u{code:04x}), which is not a character"
