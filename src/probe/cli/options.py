"""Options that several commands share, and what is done with them. Standard library and typer only."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from probe.errors import ProbeError

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

RunsDir = Annotated[Path, typer.Option("--runs", help="Folder of the runs.", metavar="DIR")]
DataDir = Annotated[Path, typer.Option("--data", help="Folder of the generated tasks.", metavar="DIR")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no hints.")]


def print_json(value: Any) -> None:
    """Print one JSON object to stdout."""
    from probe.files import to_json

    print(to_json(value))


def as_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A table for JSON, which knows no NaN: what is not there is null."""
    return table.astype(object).where(table.notna(), None).to_dict("records")


def hint(message: str, quiet: bool = False) -> None:
    """Say something on stderr that is no result."""
    if not quiet:
        print(message, file=sys.stderr)


def consoles() -> tuple[Console, Console]:
    """Consoles for stdout and stderr; a pipe and NO_COLOR switch colour off. A narrow pipe is 100 columns wide."""
    from rich.console import Console

    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 100
    # markup off: a word may look like it, as [red] and :street: do
    stdout = Console(width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)
    return stdout, Console(stderr=True, highlight=False, markup=False, emoji=False)


def check_suffix(out: Path | None, kind: str, *also: str) -> None:
    """Refuse a file whose name says that it holds something else than what is written; without a suffix any is fine."""
    if out is not None and out.suffix and out.suffix.lower().removeprefix(".") not in (kind, *also):
        raise ProbeError(f"--out {out}: its name ends in {out.suffix}, and what is written is {kind}")


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """`--set key=value` pairs; a value is TOML where it parses as TOML, else the text itself.

    >>> parse_settings(["split.held_out=0.3", "title=My own"])
    {'split.held_out': 0.3, 'title': 'My own'}
    """
    parsed = {}
    for setting in settings:
        key, sign, text = setting.partition("=")
        if not sign or not key:
            raise ProbeError(f"--set {setting}: write key=value")
        try:
            parsed[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            parsed[key] = text
    return parsed


def parse_seeds(text: str) -> list[int]:
    """`0-7`, `3` or `0,2,5-6`, as a list without repeats.

    >>> parse_seeds("0,2,5-6")
    [0, 2, 5, 6]
    """
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            low, high = int(first), int(last) if dash else int(first)
        except ValueError:
            raise ProbeError(f"--seeds {text}: {part!r} is no seed; write 0-7 or 0,2,5") from None
        if high < low or high - low > 9999:
            raise ProbeError(f"--seeds {text}: {part!r} is no range of seeds; write 0-7")
        seeds += [seed for seed in range(low, high + 1) if seed not in seeds]
    return seeds


def default_threads() -> int:
    """Threads of one process where none are asked for: OMP_NUM_THREADS if that is set, else one.

    On models of this size a second thread gains nothing, and costs much on a busy machine (docs/LOG.md); and so a run
    by itself gives the same bytes as in a sweep.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return int(asked) if asked.isdigit() and int(asked) > 0 else 1
