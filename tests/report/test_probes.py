"""The text of probes says what is used, what is only present, and that controls failed."""

from __future__ import annotations

import pandas as pd

from probe.report.probes import probes_text, subspaces_text
from probe.result import AnalysisResult, Provenance

NOWHERE = Provenance(task_digest="", model_digest="", seed=0, versions={}, threads=1, dtype="float32", git_commit=None)


def result(name: str, table: list[dict]) -> AnalysisResult:
    return AnalysisResult(
        name=name, table=pd.DataFrame(table), unit="", maximum=1.0, floor="", convention="", provenance=NOWHERE
    )


def row(metric: str, layer: int, kind: str, value: float, condition: str = "trained") -> dict:
    place = {"kind": kind, "layer": layer, "head": None, "position": 0, "role": "x"}
    numbers = {"value": value, "low": value, "high": value, "n": 10, "floor": 0.5}
    return {**place, "target": "first noun", "metric": metric, "condition": condition, **numbers}


def test_present_is_told_from_used() -> None:
    """Readable everywhere; used at one place, idle at one that changes nothing, and one that reaches no answer."""
    rows = []
    for layer, kind, along in ((0, "resid_pre", 1.0), (1, "resid_pre", 0.0), (1, "resid_post", 0.0)):
        for metric, value in (("accuracy", 1.0), ("accuracy, other nouns", 1.0), ("codelength", 3.0)):
            rows += [row(metric, layer, kind, value), row(metric, layer, kind, value, "untrained")]
        for metric in ("interchange along the probe", "lost by erasure"):
            rows += [row(metric, layer, kind, along), row(metric, layer, kind, 0.0, "control")]
    swapped = [
        {**row(metric, layer, "resid_pre", value), "variable": "first noun", "dimension": None}
        for layer, unchanged in ((0, 0.0), (1, 1.0))
        for metric, value in (("answer unchanged", unchanged), ("interchange accuracy", 1 - unchanged))
    ]

    text = probes_text("a run", result("probes", rows), result("interchange", swapped))
    assert "readable (≥ 80%) at 3 of 3 places: used along the probe at 1; present, not used at 2" in text
    assert "x (0), before layer 0" in text


def test_a_subspace_stands_beside_its_controls() -> None:
    rows = [
        {**row("subspace accuracy", 1, "resid_pre", value, condition), "variable": "role", "dimension": 1, "of": 64}
        for condition, value in (("trained", 0.97), ("control", 0.1), ("untrained", 0.02))
    ]
    text = subspaces_text(result("subspaces", rows))
    assert "role: x (0), before layer 1, 1 of 64 dimensions: 97%" in text
    assert "arbitrary labels 10% [10%, 10%], untrained 2% [2%, 2%]" in text
