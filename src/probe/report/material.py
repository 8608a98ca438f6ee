"""What a report about one run is made of, read from its folder and its task. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from probe.figures.findings import Findings, records
from probe.figures.view import AttentionView
from probe.files import digest
from probe.result import AnalysisResult
from probe.store import Run
from probe.tasks.dataset import Dataset, OrderBlind

LONGEST = 64
"""Tables of which more rows say something are no statements of a report but what its pictures are drawn from."""


CHECKPOINTS = 17
"""So many are shown of those that a run has kept; each weighs some kilobytes."""
NOTHING = 0.005
"""Numbers below this read 0.00."""


@dataclass(frozen=True, kw_only=True)
class Material:
    """One run, and all that is known about it."""

    run: Run
    dataset: Dataset
    counts: OrderBlind
    summary: Mapping[str, Any]
    metrics: Sequence[Mapping[str, Any]]
    parameters: Mapping[str, int]
    """Tensor name -> how many numbers it holds."""
    siblings: Sequence[Mapping[str, Any]] = ()
    """Summaries of the runs in the same folder that differ in their seed alone, this one among them."""
    view: AttentionView | None = None
    """A minimal pair of held_out, or one of its sentences."""
    along: AnalysisResult | None = None
    """The attention of the same sentences at each checkpoint."""
    results: Mapping[str, AnalysisResult] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    """What could not be computed, and why."""

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a result; none where there is no such result."""
        return records(self.results[name]) if name in self.results else []

    def named(self, prefix: str) -> dict[str, AnalysisResult]:
        """Results by what follows the prefix: the contrasts of a trace."""
        return {n.removeprefix(prefix): result for n, result in self.results.items() if n.startswith(prefix)}


def findings_of(material: Material, results: Mapping[str, AnalysisResult]) -> Findings:
    """What the catalogue of figures draws from."""
    manifest = material.run.manifest
    return Findings(
        run=material.run.name,
        digest=digest(dict(manifest)),
        about=f"{material.dataset.name} · {manifest['variant']}",
        spec=manifest["spec"],
        metrics=material.metrics,
        results=results,
    )


def thinned(steps: Sequence[int]) -> list[int]:
    """Up to `CHECKPOINTS` of the steps, evenly spaced, the first and the last among them.

    >>> thinned(range(100))[:2], thinned(range(100))[-1], len(thinned(range(100)))
    ([0, 6], 99, 17)
    """
    if len(steps) <= CHECKPOINTS:
        return list(steps)
    return [steps[round(i * (len(steps) - 1) / (CHECKPOINTS - 1))] for i in range(CHECKPOINTS)]


def weights_along(along: AnalysisResult) -> dict[int, list[Float[np.ndarray, "layer head query key"]]]:
    """Step -> attention of each sentence, at up to `CHECKPOINTS` of the steps."""
    table, details = along.table, along.details
    found: dict[int, list[np.ndarray]] = {}
    for step in thinned(sorted(table["step"].unique().tolist())):
        of_step = table[table["step"] == step]
        found[step] = []
        for number, tokens in enumerate(details["sentences"]):
            rows = of_step[of_step["sentence"] == number]
            weights = np.zeros((details["n_layers"], details["n_heads"], len(tokens), len(tokens)), dtype=np.float32)
            weights[rows["layer"], rows["head"], rows["query"], rows["key"]] = rows["value"]
            found[step].append(weights)
    return found


def stated_numbers(results: Mapping[str, AnalysisResult], longest: int = LONGEST) -> dict[str, Any]:
    """The tables of which up to `longest` rows say something, as JSON; numbers to four decimals.

    `pairs` says how many were asked for, where not all were. Rows whose numbers all read 0.00 are left out: most parts
    of a model do nothing, and one sentence says so.
    """
    stated = {}
    for name, result in sorted(results.items()):
        rows = [[plain(cell) for cell in row.values()] for row in records(result)]
        kept = [row for row in rows if not nothing(row)]
        if 0 < len(kept) <= longest:
            stated[name] = {"columns": list(result.table.columns), "rows": kept, "left_out": len(rows) - len(kept)}
            if result.details.get("asked"):
                stated[name]["pairs"] = result.details["asked"]
    return stated


def nothing(row: Sequence[Any]) -> bool:
    """Whether all the numbers of a row read 0.00.

    >>> nothing(["L0H0", 3, 0.001, -0.002]), nothing(["L0H0", 3, 0.5])
    (True, False)
    """
    numbers = [cell for cell in row if isinstance(cell, float)]
    return bool(numbers) and all(abs(number) < NOTHING for number in numbers)


def plain(cell: Any) -> Any:
    """A table's cell as JSON: a number to four decimals, None for one that is none."""
    if isinstance(cell, float):
        return None if not np.isfinite(cell) else (round(cell, 4) if abs(cell) < 10 else float(f"{cell:.7g}")) + 0.0
    return cell
