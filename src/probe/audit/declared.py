"""What a task declares to stop and to allow, held against what was found: a claim like any other, so it can fail."""

from __future__ import annotations

from collections.abc import Sequence

from probe.audit.result import AuditResult, Declared
from probe.audit.verdict import CHEATABLE, CLEAN

WAYS = {"bag-of-words": ("bag-of-words", "bag-of-pairs", "single-token"), "partial-input": ("without-",)}
"""Declared cheat -> the auditors that try it, by name or beginning; another is tried by the one that has its name."""
SEES_A_PLACE = ("candidate-position", "option-index")
"""The auditors that count and are no way to `bag-of-words`."""


def declared(result: AuditResult) -> tuple[Declared, ...]:
    """Each claim with what the audit says of it; nothing for data that declare nothing."""
    stops, allows = result.reading.stops, result.reading.allows
    return tuple(_judged(result, cheat, cheat in allows) for cheat in (*stops, *allows))


def undeclared(result: AuditResult) -> str:
    """What names the verdict of a task that makes claims, and is none of what it allows; empty where there is none."""
    allows = result.reading.allows
    if not (result.reading.stops or allows) or not (result.cheatable or result.leaked):
        return ""
    first = result.by[0]
    if first in {leak.relation for leak in result.leaks if leak.leaked}:
        return "" if "leaky-split" in allows else f"leaks by {first}"
    blind = "bag-of-words" in allows and first not in SEES_A_PLACE
    return "" if blind or any(_tries(first, cheat) for cheat in allows) else first


def _tries(auditor: str, cheat: str) -> bool:
    return auditor.startswith(WAYS[cheat]) if cheat in WAYS else auditor == cheat


def _judged(result: AuditResult, cheat: str, allowed: bool) -> Declared:
    if cheat == "leaky-split":
        open_ = result.leaked if result.leaks else None
        return Declared(cheat=cheat, allowed=allowed, accuracy=None, holds=None if open_ is None else open_ is allowed)
    tried = [f for f in result.deciding if _tries(f.auditor, cheat)]
    return Declared(
        cheat=cheat,
        allowed=allowed,
        accuracy=max((f.accuracy for f in tried), default=None),
        holds=_holds([f.verdict for f in tried], allowed),
    )


def _holds(verdicts: Sequence[str], allowed: bool) -> bool | None:
    """Whether a claim holds; None where nothing tried it, or too little data were there to say."""
    if CHEATABLE in verdicts:
        return allowed
    if not verdicts or any(verdict != CLEAN for verdict in verdicts):
        return None
    return not allowed
