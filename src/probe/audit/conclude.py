"""The overall verdict: from the auditors that count, under the tokenisation that counts, and from the leaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from probe.audit import verdict as verdicts
from probe.audit.leaks import Leak
from probe.audit.result import AuditResult, Finding


def conclude(result: AuditResult) -> AuditResult:
    """Fill in verdict, by, headline and notes.

    A cheat comes before a leak, a leak before too little data. Of the cheats within the margin of the best one, the
    narrowest explanation names the verdict: it stands first in the table of auditors.
    """
    deciding = result.deciding
    cheats = [f for f in deciding if f.verdict == verdicts.CHEATABLE]
    below = [f for f in deciding if f.verdict == verdicts.LEAKED]
    leaks = [leak for leak in result.leaks if leak.leaked]
    weak = [f for f in deciding if f.verdict == verdicts.UNDERPOWERED]
    n = len(result.reading.questions)
    if cheats:
        top = max(f.accuracy for f in cheats)
        head = [f for f in cheats if f.accuracy >= top - result.margin]
        rest = sorted((f for f in cheats if f not in head), key=lambda f: -f.accuracy)
        by = tuple(f.auditor for f in (*head, *rest))
        verdict = verdicts.CHEATABLE
        headline = f"cheatable by {_figure(head[0])}, chance {head[0].chance:.2f}"
        headline += f"; and leaked: {_leak(leaks, below)}" if leaks or below else ""
    elif leaks or below:
        verdict = verdicts.LEAKED
        by = (*(leak.relation for leak in leaks), *(f.auditor for f in below))
        headline = f"leaked: {_leak(leaks, below)}"
    elif weak or not deciding:
        verdict, by = verdicts.UNDERPOWERED, tuple(f.auditor for f in weak)
        widest = max(weak, key=lambda f: f.high, default=None)
        why = f"{widest.auditor}: {widest.reason}" if widest else "all of them are related, so none can be held out"
        headline = f"underpowered: n = {n}; {why}"
    else:
        verdict, by = verdicts.CLEAN, ()
        highest = max(f.high for f in deciding)
        limit = result.chance + result.margin
        headline = f"clean: no cheat tried can be above {limit:.2f} (highest upper bound {highest:.3f})"
    return replace(result, verdict=verdict, by=by, headline=headline, notes=(*result.notes, *_notes(result)))


def _figure(finding: Finding) -> str:
    return f"{finding.auditor}: {finding.accuracy:.2f} [{finding.low:.2f}, {finding.high:.2f}]"


def _leak(leaks: Sequence[Leak], below: Sequence[Finding]) -> str:
    return leaks[0].reason if leaks else f"far below chance by {_figure(below[0])}"


def _notes(result: AuditResult) -> list[str]:
    """What a reader should know beside the verdict."""
    notes = [leak.reason for leak in result.leaks if leak.reason and not leak.leaked]
    tokens = result.findings[0].tokens if result.findings else ""
    for f in result.deciding:
        raw = result.finding(f.auditor, "raw")
        if raw and tokens != "raw" and raw.accuracy > f.accuracy + result.margin and raw.verdict == verdicts.CHEATABLE:
            notes.append(
                f"raw tokens let {f.auditor} reach {raw.accuracy:.2f} (normalised {f.accuracy:.2f}): a glued full stop "
                "or a capital tells a place"
            )
        if f.ungrouped is not None and f.ungrouped > f.high + result.margin:
            notes.append(
                f"a random split of this file would leak: {f.auditor} reaches {f.ungrouped:.2f} with twins torn apart, "
                f"{f.accuracy:.2f} with twins together"
            )
    aware = [f for f in result.findings if not f.counts and f.tokens == tokens and f.verdict == verdicts.CHEATABLE]
    if aware:
        best = max(aware, key=lambda f: f.accuracy)
        notes.append(
            f"of order, {best.auditor} ({best.what}) suffices for {best.accuracy:.2f}: "
            "needing order is not needing binding"
        )
    return notes
