"""`probe probes`, on a real run."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from probe import lab, store
from probe.cli import run as probe
from probe.result import AnalysisResult, Provenance
from probe.store import Run

NOWHERE = Provenance(task_digest="", model_digest="", seed=0, versions={}, threads=1, dtype="float32", git_commit=None)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few pairs and sentences, and the last position alone: enough to see the command work."""
    from dataclasses import replace

    from probe.lab import probing

    swaps, targets = probing.swaps_of, probing.targets_of
    monkeypatch.setattr(probing, "swaps_of", lambda dataset, examples: swaps(dataset, examples, 12))

    def late(dataset):
        sentences, found = targets(replace(dataset, train=dataset.train[::3]))
        return sentences, [replace(target, since=14) for target in found]

    monkeypatch.setattr(probing, "targets_of", late)


def test_text_and_json_say_the_same_and_both_results_are_kept(
    run: Run, runs: Path, quick: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert probe(["probes", "--runs", str(runs), "--quiet"]) == 0
    text = capsys.readouterr().out
    for target in ("first noun", "second noun", "adjective's role", "answer"):
        assert f"\n{target}   (always the most frequent one: " in text
    assert text.count("present, not used at") == 4
    assert "interchange: one place is taken from another sentence" in text
    assert max(map(len, text.splitlines())) <= 120
    assert probe(["probes", "--runs", str(runs), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    for name in ("probes", "interchange"):
        kept = store.load_result(run, name)
        assert kept is not None
        assert len(kept.table) == len(said[name]["table"])
        assert said[name]["convention"] == kept.convention
    at_end = [row for row in said["probes"]["table"] if row["kind"] == "resid_post" and row["metric"] == "accuracy"]
    trained = {row["target"]: row["value"] for row in at_end if row["condition"] == "trained"}
    assert trained["answer"] == 1.0


def test_a_task_without_variables_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--runs", str(tmp_path), "--quiet"]
    assert probe(["train", "--task", "previous-token", "--steps", "1", *common]) == 0
    assert probe(["probes", *common]) == 2
    assert "declares no variables" in capsys.readouterr().err


def test_present_is_told_from_used() -> None:
    """Readable everywhere; used at one place, idle at one that changes nothing, and one that reaches no answer."""
    from probe.report.probes import probes_text

    def row(metric: str, layer: int, kind: str, value: float, condition: str = "trained") -> dict:
        place = {"kind": kind, "layer": layer, "head": None, "position": 0, "role": "x"}
        numbers = {"value": value, "low": value, "high": value, "n": 10, "floor": 0.5}
        return {**place, "target": "first noun", "metric": metric, "condition": condition, **numbers}

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

    def result(name: str, table: list[dict]) -> AnalysisResult:
        common = {"unit": "", "maximum": 1.0, "floor": "", "convention": "", "provenance": NOWHERE}
        return AnalysisResult(name=name, table=pd.DataFrame(table), **common)

    text = probes_text("a run", result("probes", rows), result("interchange", swapped))
    assert "readable (≥ 80%) at 3 of 3 places: used along the probe at 1; present, not used at 2" in text
    assert "x (0), before layer 0" in text


def test_the_public_lab_has_both() -> None:
    assert lab.probes_of.__doc__ and lab.interchange_of.__doc__
