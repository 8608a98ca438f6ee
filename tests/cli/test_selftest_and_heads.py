"""`probe selftest` and `probe heads`: tables, rows, formation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probe import store
from probe.cli import run as probe
from probe.lab import heads as lab_heads
from probe.lab.selftest import Check
from probe.store import Run


def test_every_check_passes_and_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(["selftest"]) == 0
    text = capsys.readouterr().out
    assert "MISS" not in text
    assert "without an oracle" in text
    assert max(map(len, text.splitlines())) <= 120


def test_a_miss_is_exit_code_1_and_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    missed = Check(metric="m", oracle="o", expected=1.0, measured=0.5)
    monkeypatch.setattr("probe.lab.selftest.selftest", lambda: [missed])
    assert probe(["selftest"]) == 1
    said = capsys.readouterr()
    assert "MISS" in said.out
    assert said.err == "error: 1 of 1 checks missed: m on o\n"


METRICS = 8
"""Scores of a head: four shares, two entropies, two kinds of copying."""


def test_heads_are_a_table_with_floor_and_maximum(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(["heads", "--runs", str(runs)]) == 0
    text = capsys.readouterr().out
    assert all(f"L{layer}H{head}" in text for layer in range(2) for head in range(4))
    assert "floor" in text
    assert "maxim" in text
    assert max(map(len, text.splitlines())) <= 80
    assert probe(["heads", "--runs", str(runs), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["heads"]["table"]) == 8 * METRICS
    assert len(result["composition"]["table"]) == 16 * 3
    assert {row["condition"] for row in result["head-roles"]["table"]} == {"trained", "untrained"}
    assert len(result["head-roles"]["table"]) == 2 * 8 * 15


def test_rows_show_all_eight_adjectives(runs: Path, run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(["heads", "--rows", "--runs", str(runs)]) == 0
    text = capsys.readouterr().out
    assert text.count("  crosser   tired") == text.count("  crossed   steep") == 2 + 8
    assert max(map(len, text.splitlines())) <= 80
    kept = store.load_result(run, "answer-rows")
    assert kept is not None
    assert len(kept.table) == (8 + 2) * 8 * 15


def test_formation_needs_checkpoints_and_says_how_to_keep_them(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(["heads", "--formation", "--runs", str(runs)]) == 2
    said = capsys.readouterr().err
    assert "probe train --task winograd-hard --set checkpoint_every=" in said


def test_one_way_to_name_a_run_and_one_table(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(["heads", "x", "--task", "induction", "--runs", str(runs)]) == 2
    assert probe(["heads", "--rows", "--formation", "--runs", str(runs)]) == 2
    assert capsys.readouterr().out == ""


def test_a_task_means_its_newest_run_or_a_new_one_and_its_formation_is_dated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"lr": 0.01, "steps": 20, "batch_size": 4}
    monkeypatch.setitem(lab_heads.TRAINING, "induction", settings)
    monkeypatch.setattr(lab_heads, "FINE", 2)
    there = ["--runs", str(tmp_path / "runs"), "--data", str(tmp_path / "data")]
    assert probe(["heads", "--task", "induction", "--formation", *there]) == 0
    said = capsys.readouterr()
    assert "training one" in said.err
    assert "step 20/20" in said.err
    assert "formation of induction-2b-s0" in said.out
    assert max(map(len, said.out.splitlines())) <= 80
    assert probe(["heads", "--task", "induction", "--json", "--formation", *there]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len({row["step"] for row in found["formation"]["table"]}) == 11
    changes = found["formation-changes"]["table"]
    assert len({(row["metric"], row["layer"], row["head"]) for row in changes}) == 3 + 8 * 6
    assert probe(["heads", "--task", "induction", *there]) == 0
    said = capsys.readouterr()
    assert "the newest run of induction" in said.err
    assert "period 17" in said.out, "scored on the periods that it was trained on"
