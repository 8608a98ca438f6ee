"""`probe probes`, on a real run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from probe import lab, store
from probe.cli import run as probe
from probe.store import Run


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few pairs and sentences, and the last position alone: enough to see the command work."""
    from dataclasses import replace

    from probe.lab import probing

    swaps, targets = probing.swaps_of, probing.targets_of
    monkeypatch.setattr(probing, "swaps_of", lambda dataset, examples, *_: swaps(dataset, examples, 12))
    monkeypatch.setattr("probe.analyses.interchange.EPOCHS", 1)
    monkeypatch.setattr("probe.analyses.interchange.PILOT", 1)

    def late(dataset):
        sentences, found = targets(replace(dataset, train=dataset.train[::3]))
        return sentences, [replace(target, since=14) for target in found]

    monkeypatch.setattr(probing, "targets_of", late)


def test_text_and_json_say_the_same_and_the_results_are_kept(
    run: Run, runs: Path, quick: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert probe(["probes", "--runs", str(runs), "--quiet"]) == 0
    text = capsys.readouterr().out
    for target in ("first noun", "second noun", "adjective's role", "answer"):
        assert f"\n{target}   (always the most frequent one: " in text
    assert text.count("present, not used at") == 4
    assert "interchange: one place is taken from another sentence" in text
    assert max(map(len, text.splitlines())) <= 120
    assert probe(["probes", "--subspaces", "--runs", str(runs), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    for name in ("probes", "interchange", "subspaces"):
        kept = store.load_result(run, name)
        assert kept is not None
        assert len(kept.table) == len(said[name]["table"])
        assert said[name]["convention"] == kept.convention
        told = re.findall(r"\w+", getattr(lab, f"{name}_of").__doc__)
        assert set(kept.table.columns) <= set(told), "the docstring names every column"
    at_end = [row for row in said["probes"]["table"] if row["kind"] == "resid_post" and row["metric"] == "accuracy"]
    trained = {row["target"]: row["value"] for row in at_end if row["condition"] == "trained"}
    assert trained["answer"] == 1.0


def test_a_task_without_variables_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--runs", str(tmp_path), "--quiet"]
    assert probe(["train", "--task", "previous-token", "--steps", "1", *common]) == 0
    assert probe(["probes", *common]) == 2
    assert "declares no variables" in capsys.readouterr().err
