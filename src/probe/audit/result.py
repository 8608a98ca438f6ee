"""What an audit returns: one finding an auditor, and the whole; everything a report shows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from probe.audit.ceiling import Ceiling
from probe.audit.leaks import Leak
from probe.audit.order_bits import OrderBits
from probe.audit.retention import Certificate, Retention
from probe.audit.single import TokenScore
from probe.audit.verdict import CHEATABLE, LEAKED
from probe.markup import paragraph, table
from probe.tasks.readers import Reading


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One auditor under one tokenisation, in grouped folds, with its verdict."""

    auditor: str
    what: str
    counts: bool
    """Whether it enters the verdict."""
    tokens: str
    n: int
    clusters: int
    accuracy: float
    low: float
    high: float
    chance: float
    p: float
    """Permutation p above chance, not corrected."""
    p_holm: float
    """Holm-corrected over the auditors of this tokenisation that count (over the others for these)."""
    bits: float
    """Bits an answer that it saves, log₂ k − cross-entropy out of fold; below 0 where it is confidently wrong."""
    pair_accuracy: float | None
    """Share of pairs (or of other twins) of which every question is answered right."""
    shipped: float | None
    """Accuracy on the test side as the file is split."""
    ungrouped: float | None
    """Accuracy in folds that tear twins apart; only the trained bags."""
    verdict: str
    reason: str
    weights: tuple[tuple[str, float], ...]
    examples: tuple[str, ...]
    """The five questions that it answers most clearly and right."""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A cheat that the task says it stops or allows, and whether that is so."""

    cheat: str
    allowed: bool
    """Declared under `allows`; otherwise under `stops`."""
    accuracy: float | None
    """Of the best auditor that tries it; None where none does, and for a leak."""
    holds: bool | None
    """None: nothing tried it here, the data are too few to say, or an exact count leaves it open."""


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """What an audit found; everything a report shows."""

    reading: Reading
    verdict: str
    by: tuple[str, ...]
    """Auditors that cheat, the best and narrowest first; or what leaks."""
    headline: str
    margin: float
    chance: float
    groups: str
    clusters: int
    ceiling: Ceiling
    ceiling_verdict: tuple[str, str]
    findings: tuple[Finding, ...]
    leaks: tuple[Leak, ...]
    order: OrderBits | None
    tokens: tuple[TokenScore, ...]
    notes: tuple[str, ...]
    seconds: float
    retention: Retention | None = None
    """What a model kept under shuffles, where one was asked."""
    certificate: Certificate | None = None
    declared: tuple[Declared, ...] = ()
    """What the task says of itself, held against the above; empty for data that say nothing."""
    undeclared: str = ""
    """A leak of such a task, or the cheat that names its verdict, where it is none of what the task allows."""

    @property
    def misdeclared(self) -> bool:
        """Whether a task is not what it says: a claim fails, or a leak, or what names the verdict, is undeclared."""
        return bool(self.undeclared) or any(one.holds is False for one in self.declared)

    @property
    def deciding(self) -> tuple[Finding, ...]:
        """The findings that the verdict rests on: auditors that count, under the first tokenisation."""
        return tuple(f for f in self.findings if f.counts and f.tokens == self.findings[0].tokens)

    @property
    def cheatable(self) -> bool:
        """Whether one of them answers the questions."""
        return any(f.verdict == CHEATABLE for f in self.deciding)

    @property
    def leaked(self) -> bool:
        """Whether train tells test, in either direction."""
        return any(leak.leaked for leak in self.leaks) or any(f.verdict == LEAKED for f in self.deciding)

    def finding(self, auditor: str, tokens: str | None = None) -> Finding | None:
        """One auditor's finding, under the tokenisation that counts unless another is named."""
        return next(
            (f for f in self.findings if f.auditor == auditor and (tokens or self.findings[0].tokens) == f.tokens), None
        )

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, and the auditors that it rests on."""
        columns = ["auditor", "accuracy", "low", "high", "p (Holm)", "bits", "verdict"]
        rows = [[f.auditor, f.accuracy, f.low, f.high, f.p_holm, f.bits, f.verdict] for f in self.deciding]
        shared = [leak.reason for leak in self.leaks if leak.leaked]
        asked = f"{len(self.reading.questions)} questions; chance {self.chance:.3f}, margin {self.margin:g} declared"
        ceiling = f"exact order-blind ceiling {self.ceiling.accuracy:.3f}"
        said = paragraph(f"{self.headline}. {asked}; {ceiling}.", bold=f"{self.reading.source}:")
        return said + table(columns, rows) + "".join(paragraph(reason, bold="Leak.") for reason in shared)

    def as_dict(self) -> dict[str, Any]:
        """A JSON object; the questions themselves are not in it."""
        reading = {
            k: v for k, v in asdict(replace(self.reading, questions=())).items() if k not in ("questions", "classes")
        }
        return _plain(
            {
                "schema": 1,
                "source": self.reading.source,
                "verdict": self.verdict,
                "by": self.by,
                "cheatable": self.cheatable,
                "leaked": self.leaked,
                "headline": self.headline,
                "margin": self.margin,
                "chance": self.chance,
                "questions": len(self.reading.questions),
                "clusters": self.clusters,
                "groups": self.groups,
                "reading": reading,
                "ceiling": asdict(self.ceiling) | dict(zip(("verdict", "reason"), self.ceiling_verdict, strict=True)),
                "auditors": [asdict(f) for f in self.findings],
                "declared": [asdict(one) for one in self.declared],
                "undeclared": self.undeclared,
                "misdeclared": self.misdeclared,
                "leaks": [asdict(leak) for leak in self.leaks],
                "order_bits": asdict(self.order) if self.order else None,
                "tokens": [asdict(token) for token in self.tokens],
                "retention": asdict(self.retention) if self.retention else None,
                "certificate": asdict(self.certificate) if self.certificate else None,
                "notes": self.notes,
                "seconds": self.seconds,
            }
        )


def _plain(value: Any) -> Any:
    """JSON has no NaN: null; floats to six digits."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return round(float(value), 6) if np.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value
