"""What forms when: head scores, loss, accuracy and in-context score over checkpoints, each with its dated change.

Olsson et al. 2022 show induction heads and in-context learning forming together, in one window of training. Here each
curve is dated on its own (`probe.change_points`), with an interval, so that "together" can come out otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from probe.change_points import ALPHA, FEWEST, candidate_steps, find_changes
from probe.errors import ProbeError
from probe.result import AnalysisResult, Provenance

MODEL = -1
"""Stands in `layer` and `head` for a curve of the whole model."""


def formation(
    rows: Sequence[dict[str, Any]], convention: str, provenance: Provenance
) -> tuple[AnalysisResult, AnalysisResult]:
    """Date the change of every curve.

    Args:
        rows: `step, layer, head, metric, value`; every curve at the same steps.
        convention: how the scores are defined.
        provenance: of the run.

    Returns:
        The curves, and for each `metric, layer, head` a row a change (two at most): `step` with its 95 % interval
        `low`, `high`, levels `before` and `after`, `duration` in steps; one row with these empty where there is none.

    Raises:
        ProbeError: too few checkpoints to date anything.
    """
    table = pd.DataFrame(rows, columns=["step", "layer", "head", "metric", "value"])
    at = sorted(set(table["step"].tolist()))
    if len(at) < FEWEST:
        raise ProbeError(f"{len(at)} checkpoints are too few to date a change; {FEWEST} are needed")
    steps = candidate_steps(at)
    curve_of: dict[tuple[str, int, int], dict[int, float]] = {}
    for row in rows:
        curve_of.setdefault((row["metric"], row["layer"], row["head"]), {})[row["step"]] = row["value"]
    dated = []
    for (metric, layer, head), curve in curve_of.items():
        place = {"metric": metric, "layer": layer, "head": head}
        changes = find_changes([curve[step] for step in at], steps)
        dated += [
            {**place, "step": each.at, "low": each.low, "high": each.high}
            | {"before": each.before, "after": each.after, "duration": each.duration}
            for each in changes
        ] or [place]
    columns = ["metric", "layer", "head", "step", "low", "high", "before", "after", "duration"]
    table_of_changes = pd.DataFrame(dated, columns=columns).astype(dict.fromkeys(columns[3:], float))
    kept = {"checkpoints": len(at), "gap": max(b - a for a, b in zip(at, at[1:], strict=False))}
    curves = AnalysisResult(
        name="formation",
        table=table,
        unit="as each metric's: share of attention, nats, share of sentences",
        maximum=None,
        floor="the first checkpoint: an untrained model",
        convention=f"{convention}; layer and head {MODEL} are the whole model",
        provenance=provenance,
        details=kept,
    )
    dates = AnalysisResult(
        name="formation-changes",
        table=table_of_changes,
        unit="training steps",
        maximum=float(at[-1]),
        floor=f"none is dated in a curve of noise, but in {ALPHA:.1%} of them",
        convention="midpoints of one or two logistic steps by least squares, where they beat one level or one step "
        "(simulated) and a line (BIC); 95 % interval of the profile likelihood, n reduced for autocorrelation; "
        "duration from 10 % to 90 %",
        provenance=provenance,
        details=kept,
    )
    return curves, dates
