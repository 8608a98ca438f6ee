"""Files that are whole or not there: atomic writes, strict reads, digests. The lowest room; standard library only."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from probe.errors import NotThere, ProbeError


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write `content` so that a reader, or a kill at any moment, sees the old file or the new one, never a part.

    The bytes go to a temporary file in the same folder, are flushed to disk, and take the name in one step.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def read_text(path: Path, what: str) -> str:
    """Read UTF-8 text, or say which file is missing or not text. `what` names it for the reader ("task file")."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise NotThere(f"{what} {path} does not exist") from None
    except IsADirectoryError:
        raise ProbeError(f"{what} {path} is a folder, not a file") from None
    except UnicodeDecodeError as error:
        raise ProbeError(f"{what} {path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None


def read_json(path: Path, what: str) -> dict[str, Any]:
    """Read one JSON object, or say which file is truncated or foreign."""
    try:
        value = json.loads(read_text(path, what))
    except json.JSONDecodeError as error:
        raise ProbeError(f"{what} {path}, line {error.lineno}: not valid JSON ({error.msg})") from None
    except RecursionError:
        raise ProbeError(f"{what} {path}: nested too deeply to be one of ours") from None
    if not isinstance(value, dict):
        raise ProbeError(f"{what} {path}: expected a JSON object, found {type(value).__name__}")
    return value


def to_json(value: Any, *, indent: int | None = 2) -> str:
    """JSON as this project writes it: readable, UTF-8, keys in the order given, NaN refused."""
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of bytes, text, or any JSON value (in canonical form), as 64 hex digits."""
    if isinstance(value, str):
        value = value.encode("utf-8")
    elif not isinstance(value, bytes):
        value = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    return hashlib.sha256(value).hexdigest()
