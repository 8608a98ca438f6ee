"""What a task declares to stop and to allow, held against what was found: a claim like any other, so it can fail."""

from __future__ import annotations

from collections.abc import Sequence

from probe.audit.result import AuditResult, Declared
from probe.audit.verdict import CHEATABLE, CLEAN, LEAKED

BAGS = ("bag-of-words", "bag-of-pairs", "single-token")
NARROW = ("fixed-order", "prior", "collocation", "agreement")
"""Ways to `bag-of-words`: what stops it stops them, and what allows one of them lets a bag find it."""
WAYS = {"bag-of-words": BAGS, "partial-input": ("without-",)}
"""Declared cheat -> the auditors that try it, by name or beginning; another is tried by the one that has its name."""
SEES_A_PLACE = ("candidate-position", "option-index")
"""The auditors that count and are no way to `bag-of-words`."""


def declared(result: AuditResult) -> tuple[Declared, ...]:
    """Each claim with what the audit says of it; nothing for data that declare nothing."""
    stops, allows = result.reading.stops, result.reading.allows
    return tuple(_judged(result, cheat, cheat in allows) for cheat in (*stops, *allows))


def undeclared(result: AuditResult) -> str:
    """A leak, or the cheat that names the verdict, of a task that makes claims and does not allow it; empty if none."""
    allows = result.reading.allows
    if not (result.reading.stops or allows):
        return ""
    leaks = [leak.relation for leak in result.leaks if leak.leaked]
    if not result.cheatable:
        leaks += [f.auditor for f in result.deciding if f.verdict == LEAKED]
    if leaks and "leaky-split" not in allows:
        return f"leaks by {leaks[0]}"
    if not result.cheatable:
        return ""
    first = result.by[0]
    blind = "bag-of-words" in allows and first not in SEES_A_PLACE
    narrow = any(f.auditor in NARROW and f.auditor in allows and f.verdict == CHEATABLE for f in result.deciding)
    explained = blind or (narrow and first in BAGS) or any(_tries(first, cheat) for cheat in allows)
    return "" if explained else first


def _tries(auditor: str, cheat: str) -> bool:
    return auditor.startswith(WAYS[cheat]) if cheat in WAYS else auditor == cheat


def _judged(result: AuditResult, cheat: str, allowed: bool) -> Declared:
    if cheat == "leaky-split":
        open_ = any(leak.leaked for leak in result.leaks) if result.leaks else None
        return Declared(cheat=cheat, allowed=allowed, accuracy=None, holds=None if open_ is None else open_ is allowed)
    no_bag = cheat == "bag-of-words" and not allowed
    tried = [f for f in result.deciding if _tries(f.auditor, cheat) or (no_bag and f.auditor in NARROW)]
    holds = _holds([f.verdict for f in tried], allowed)
    return Declared(
        cheat=cheat,
        allowed=allowed,
        accuracy=max((f.accuracy for f in tried), default=None),
        holds=_counted(result, holds) if no_bag else holds,
    )


def _holds(verdicts: Sequence[str], allowed: bool) -> bool | None:
    """Whether a claim holds; None where nothing tried it, or too little data were there to say."""
    if CHEATABLE in verdicts:
        return allowed
    if not verdicts or any(verdict != CLEAN for verdict in verdicts):
        return None
    return not allowed


def _counted(result: AuditResult, holds: bool | None) -> bool | None:
    """The claim to stop every bag, seen with the exact count: a ceiling at chance proves it.

    A higher one, on bags that repeat, is a table that no auditor learned, so the claim is not shown.
    """
    if holds is False:
        return False
    if result.ceiling_verdict[0] == CLEAN:
        return True
    return None if result.ceiling.repeated >= 0.5 else holds
