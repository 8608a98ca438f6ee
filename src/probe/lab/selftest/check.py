"""One metric on one oracle: what is known, what was measured."""

from __future__ import annotations

from dataclasses import dataclass

from probe.result import Provenance, versions

TOLERANCE = 1e-4


@dataclass(frozen=True, kw_only=True)
class Check:
    """One metric on one oracle."""

    metric: str
    oracle: str
    expected: float
    measured: float
    tolerance: float = TOLERANCE

    @property
    def passed(self) -> bool:
        """Whether what was measured is what is known."""
        return abs(self.measured - self.expected) <= self.tolerance


def nowhere() -> Provenance:
    """Hand-made models come from no run."""
    return Provenance(
        task_digest="", model_digest="", seed=0, versions=versions(), threads=1, dtype="float32", git_commit=None
    )
