"""Heads of a run: the newest run of a task, what is kept in its folder, and what its dates are called."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from probe import lab, store
from probe.errors import ProbeError
from probe.lab.heads import periods_of, trained_length
from probe.lab.models import open_model, untrained_model
from probe.report.heads import formation_text
from probe.result import AnalysisResult, Provenance
from probe.store import Run
from probe.training.config import TrainingConfig

NOWHERE = Provenance(task_digest="", model_digest="", seed=0, versions={}, threads=1, dtype="float32", git_commit=None)


def test_the_newest_finished_run_of_a_task_is_taken_and_others_are_not(runs: Path, run: Run, tmp_path: Path) -> None:
    found, dataset = lab.run_of_task("winograd-hard", runs, tmp_path)
    assert (found.name, dataset) == (run.name, None)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{}")
    planned, dataset = lab.run_of_task("induction", tmp_path, tmp_path / "data")
    assert dataset is not None and dataset.name == "induction"
    assert not planned.finished
    training = planned.manifest["training"]
    assert (training["lr"], training["steps"], training["checkpoint_every"]) == (0.01, 800, 25)
    assert periods_of(planned) == (17, 28)
    shutil.copytree(run.path, tmp_path / "r" / run.name)
    other, dataset = lab.run_of_task(_edited(tmp_path), tmp_path / "r", tmp_path)
    assert dataset is not None and not other.finished, "a task of that name with other sentences is another task"
    assert periods_of(run) is None


def _edited(folder: Path) -> str:
    """The shipped task under its own name, with one word changed."""
    text = (Path(__file__).parents[1] / "tasks" / "winograd-hard.toml").read_text(encoding="utf-8")
    assert '"tired"' in text
    path = folder / "winograd-hard.toml"
    path.write_text(text.replace('"tired"', '"sleepy"'), encoding="utf-8")
    return str(path)


def test_a_model_without_heads_is_refused_in_one_line(tmp_path: Path) -> None:
    data, _ = lab.open_dataset("winograd-hard", tmp_path)
    plan = lab.make_plan(data, "uniform", TrainingConfig(steps=1, evaluate_every=1))
    planned = lab.plan_run(plan, tmp_path / "runs")
    lab.train_here(planned)
    for look in (lab.heads_of, lab.roles_of, lab.answer_rows_of):
        with pytest.raises(ProbeError, match="no attention heads"):
            look(planned)


def test_a_task_without_a_contrast_has_no_rows(tmp_path: Path) -> None:
    planned, _ = lab.run_of_task("induction", tmp_path, tmp_path / "data")
    with pytest.raises(ProbeError, match="declares no contrast"):
        lab.answer_rows_of(planned)


def test_what_is_looked_at_is_kept(run: Run) -> None:
    scores, composition = lab.heads_of(run)
    for result in (scores, composition, lab.roles_of(run), lab.answer_rows_of(run)):
        found = store.load_result(run, result.name)
        assert found is not None
        assert found.provenance == result.provenance
        pd.testing.assert_frame_equal(found.table, result.table)


def dates(context: tuple[float, float], head: tuple[float, float]) -> str:
    """The text about two changes with these intervals, checkpoints 25 apart."""

    def change(metric: str, layer: int, interval: tuple[float, float], after: float) -> dict[str, Any]:
        place = {"metric": metric, "layer": layer, "head": min(layer, 0), "low": interval[0], "high": interval[1]}
        return place | {"step": sum(interval) / 2, "before": 0.0, "after": after, "duration": 50.0}

    rows = [change("in-context score", -1, context, -4.0), change("induction", 1, head, 0.9)]
    curves = [{"metric": row["metric"], "layer": 1, "head": 0, "step": 0, "value": 0.9} for row in rows]
    results = [
        AnalysisResult(
            name=name, table=pd.DataFrame(table), unit="", maximum=None, floor="", convention="none",
            provenance=NOWHERE, details={"checkpoints": 33, "gap": 25},
        )
        for name, table in (("formation", curves), ("formation-changes", rows))
    ]  # fmt: skip
    return " ".join(formation_text("run", *results).split())


@pytest.mark.parametrize(
    ("context", "head", "said"),
    [
        ((100, 130), (120, 160), "together with"),
        ((100, 130), (140, 160), "together with"),  # less than the gap of two checkpoints lies between
        ((100, 130), (200, 210), "after"),
        ((300, 330), (200, 210), "before"),
    ],
)
def test_an_order_is_claimed_only_where_intervals_and_checkpoints_tell_it(
    context: tuple[float, float], head: tuple[float, float], said: str
) -> None:
    assert f"(L1H0) forms {said} the largest change of the in-context score" in dates(context, head)


def test_heads_are_scored_where_they_were_trained(run: Run) -> None:
    """A sentence's last word is predicted, and nothing from it: at its position the weights are the first ones."""
    trained = trained_length(run)
    assert trained == run.config["n_ctx"] - 1
    before, after = untrained_model(run), open_model(run)
    moved = (after.W_pos - before.W_pos).norm(dim=-1)
    assert moved[:trained].min() > 10 * moved[trained:].max()
