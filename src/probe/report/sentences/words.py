"""Words that all sentences share: shares, effects with intervals, lists and counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]

CLEAR = 0.1
"""Effects below this share of the logit difference are called no effect."""


def percent(share: float) -> str:
    """A share in percent, with a digit where that is not all.

    >>> percent(1.0), percent(0.936), percent(-0.0001)
    ('100 %', '93.6 %', '0.0 %')
    """
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    return f"{round(100 * share, 1) + 0.0:.1f} %"


def interval(row: Row) -> str:
    """The 95 % interval of a share.

    >>> interval({"low": 0.886, "high": 1.0})
    '95 % interval 88.6 % to 100 %'
    """
    return f"95 % interval {percent(row['low'])} to {percent(row['high'])}"


def effect(row: Row) -> str:
    """An effect with its interval.

    >>> effect({"value": 0.5, "low": -0.001, "high": 1.0})
    '+0.50 [0.00, +1.00]'
    """
    return f"{signed(row['value'])} [{signed(row['low'])}, {signed(row['high'])}]"


def signed(value: float) -> str:
    """Two decimals with a sign, except for what rounds to 0."""
    said = f"{value:+.2f}"
    return "0.00" if float(said) == 0 else said


def listed(words: Iterable[str]) -> str:
    """Words in a row.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    all_words = list(words)
    if len(all_words) < 2:
        return "".join(all_words)
    return f"{', '.join(all_words[:-1])} and {all_words[-1]}"


def counted(n: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "head"), counted(3, "head")
    ('1 head', '3 heads')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
