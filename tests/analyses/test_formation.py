"""Formation: every curve is dated by itself, and one that does not change has no date."""

from __future__ import annotations

import numpy as np
import pytest

from probe.analyses.formation import MODEL, formation
from probe.errors import ProbeError
from probe.result import Provenance

NOWHERE = Provenance(task_digest="", model_digest="", seed=0, versions={}, threads=1, dtype="float32", git_commit=None)


def rows_of(head: int, metric: str, values: list[float]) -> list[dict]:
    layer = MODEL if head == MODEL else 1
    steps = range(0, 25 * len(values), 25)
    places = ({"step": step, "layer": layer, "head": head, "metric": metric} for step in steps)
    return [{**place, "value": value} for place, value in zip(places, values, strict=True)]


def test_each_curve_has_its_own_date_or_none() -> None:
    level = np.random.default_rng(0).normal(0.5, 0.01, 20).tolist()
    rows = rows_of(0, "induction", [0.0] * 8 + [0.9] * 12) + rows_of(1, "induction", level)
    rows += rows_of(MODEL, "in-context score", [0.0] * 12 + [-4.0] * 8)
    curves, changes = formation(rows[::-1], "none", NOWHERE)
    assert len(curves.table) == 60
    dated = changes.table.set_index(["metric", "layer", "head"])
    jump = dated.loc[("induction", 1, 0)]
    assert (jump["low"], jump["high"]) == pytest.approx((175, 200))
    assert (jump["before"], jump["after"]) == pytest.approx((0.0, 0.9), abs=1e-6)
    assert np.isnan(dated.loc[("induction", 1, 1), "step"])
    assert dated.loc[("in-context score", MODEL, MODEL), "after"] == pytest.approx(-4.0)


def test_a_curve_in_two_phases_has_two_rows() -> None:
    _, changes = formation(rows_of(MODEL, "loss", [4.0] * 6 + [3.0] * 7 + [1.0] * 7), "none", NOWHERE)
    assert changes.table["step"].tolist() == pytest.approx([137.5, 312.5])
    assert changes.table["before"].tolist() == pytest.approx([4.0, 3.0])
    assert changes.table["after"].tolist() == pytest.approx([3.0, 1.0])


def test_too_few_checkpoints_are_refused() -> None:
    with pytest.raises(ProbeError, match="4 checkpoints are too few"):
        formation(rows_of(0, "induction", [0.0, 0.0, 1.0, 1.0]), "none", NOWHERE)
