"""What a report about one run is made of, read from its folder and its task. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from probe.figures.view import AttentionView
from probe.result import AnalysisResult
from probe.store import Run
from probe.tasks.dataset import Dataset, OrderBlind

SHOWN_ROWS = 1_200
"""Results with more rows than this are no statements of a report but what its pictures are drawn from."""


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
        return self.results[name].table.to_dict("records") if name in self.results else []

    def named(self, prefix: str) -> dict[str, AnalysisResult]:
        """Results by what follows the prefix: the contrasts of a trace."""
        return {n.removeprefix(prefix): result for n, result in self.results.items() if n.startswith(prefix)}


def weights_along(along: AnalysisResult) -> dict[int, list[Float[np.ndarray, "layer head query key"]]]:
    """Step -> attention of each sentence."""
    table, details = along.table, along.details
    found: dict[int, list[np.ndarray]] = {}
    for step in sorted(table["step"].unique().tolist()):
        of_step = table[table["step"] == step]
        found[step] = []
        for number, tokens in enumerate(details["sentences"]):
            rows = of_step[of_step["sentence"] == number]
            weights = np.zeros((details["n_layers"], details["n_heads"], len(tokens), len(tokens)), dtype=np.float32)
            weights[rows["layer"], rows["head"], rows["query"], rows["key"]] = rows["value"]
            found[step].append(weights)
    return found


def stated_numbers(results: Mapping[str, AnalysisResult]) -> dict[str, Any]:
    """The tables of all results that are short enough to be stated, as JSON; numbers to four decimals."""
    stated = {}
    for name, result in sorted(results.items()):
        if 0 < len(result.table) <= SHOWN_ROWS:
            columns = {column: result.table[column].tolist() for column in result.table.columns}
            rows = zip(*columns.values(), strict=True)
            stated[name] = {"columns": list(columns), "rows": [[plain(cell) for cell in row] for row in rows]}
            if "pairs" in result.details:
                stated[name]["pairs"] = result.details["pairs"]
    return stated


def plain(cell: Any) -> Any:
    """A table's cell as JSON: a number to four decimals, None for one that is none."""
    if isinstance(cell, float):
        return None if not np.isfinite(cell) else round(cell, 4) if abs(cell) < 10 else float(f"{cell:.7g}")
    return cell
