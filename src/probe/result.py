"""What every analysis returns: a tidy table, and beside it what the numbers mean. No torch; pandas only where used."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from probe.markup import paragraph, table

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 8
"""Rows of a table that a notebook shows."""


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where a number comes from; enough to make it again."""

    task_digest: str
    model_digest: str
    seed: int
    versions: Mapping[str, str]
    threads: int
    dtype: str
    git_commit: str | None

    def as_dict(self) -> dict[str, Any]:
        """All fields as JSON."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, kw_only=True)
class AnalysisResult:
    """One analysis, done.

    The table is tidy: one observation a row; standard columns `seed, layer, head, position, role, metric, value,
    condition`, of which an analysis uses those it needs. Layers and heads count from 0.
    """

    name: str
    table: pd.DataFrame
    unit: str
    """Of the column `value`: logits, nats, share of attention, …"""
    maximum: float | None
    """The largest value that can be attained; None where there is none."""
    floor: str
    """What a model that knows nothing would show, in words with its number."""
    convention: str
    """How the number is defined, where two definitions are in use."""
    provenance: Provenance
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Small things that are no observations: the sentences looked at."""

    def meaning(self) -> dict[str, Any]:
        """Everything but the table, as JSON."""
        return {
            "name": self.name,
            "unit": self.unit,
            "maximum": self.maximum,
            "floor": self.floor,
            "convention": self.convention,
            "provenance": self.provenance.as_dict(),
            "details": dict(self.details),
        }

    def _repr_html_(self) -> str:
        """What a notebook shows: the name, what the numbers mean, the first rows."""
        most = "" if self.maximum is None else f" Maximum: {self.maximum:g}."
        rows = self.table.head(SHOWN).to_numpy(dtype=object).tolist()
        more = len(self.table) - len(rows)
        parts = [
            paragraph(f"{self.unit}.{most} Floor: {self.floor}.", bold=f"{self.name}."),
            table([str(column) for column in self.table.columns], rows),
            paragraph(f"{f'… and {more} more rows. ' if more else ''}Convention: {self.convention}."),
        ]
        return "".join(parts)


def versions() -> dict[str, str]:
    """Versions of what computes the numbers, read without importing any of it."""
    found = {"python": platform.python_version()}
    for name in ("probe-circuits", "torch", "transformer-lens", "numpy"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
