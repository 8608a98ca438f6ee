"""Errors a person can act on: what is wrong, where, and what to do next.

Every one carries the exit code that the command line ends with. Anything else that escapes is a fault of ours.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ProbeError(Exception):
    """Wrong usage or bad input. One or two lines, for the person who reads them."""

    exit_code = 2


class NotThere(ProbeError):
    """A run, task or model that does not exist."""

    exit_code = 3


class CheckFailed(ProbeError):
    """A check that was asked for did not hold."""

    exit_code = 1


def check_seed(seed: int) -> None:
    """Refuse a seed that not every generator takes: 0 to 2^31 - 1."""
    if not 0 <= seed < 2**31:
        raise ProbeError(f"seed = {seed}: must be in 0 … 2^31 - 1")


def nearest(word: str, choices: Iterable[str], *, n: int = 3) -> str:
    """Name the choices that look most like `word`, or all of them when none does.

    >>> nearest("anmal", ["animal", "street", "tired"])
    "did you mean 'animal'?"
    >>> nearest("zzz", ["pre", "post"])
    'choose from: post, pre'
    """
    known = sorted(set(map(str, choices)))
    close = difflib.get_close_matches(str(word), known, n=n, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(repr(choice) for choice in close) + "?"
    shown = ", ".join(known[:24]) + (", …" if len(known) > 24 else "")
    return f"choose from: {shown}" if known else "there is nothing to choose from"
