"""`probe trace`, on a real run."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest

from probe import store
from probe.analyses.evidence import Evidence
from probe.cli import run as probe


def test_a_trace_is_printed_kept_and_its_checks_hold(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(["trace", "--pairs", "24", "--no-evidence", "--runs", str(runs), "--quiet"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("adjective (24 pairs): ")
    assert "order of the nouns (24 pairs): " in text
    assert text.count("(hold)") == 2
    kept = store.load_result(store.open_run(runs), "trace-edges-adjective")
    assert kept is not None
    assert set(kept.table.columns) == {"sender", "receiver", "port", "metric", "value", "low", "high", "ratio_of_means"}
    assert ((kept.table["low"] <= kept.table["value"]) & (kept.table["value"] <= kept.table["high"])).all()


def test_what_stands_behind_a_circuit_is_printed_and_kept(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(["trace", "--pairs", "16", "--runs", str(runs), "--quiet"]) == 0
    text = capsys.readouterr().out
    assert "random, same size" in text
    assert "the direct ones sum to the difference" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    run = store.open_run(runs)
    for key in ("evidence-adjective", "subsets-adjective", "sizes-adjective", "attribution-adjective", "lens"):
        result = store.load_result(run, key)
        assert result is not None, key
        if key in ("evidence-adjective", "subsets-adjective", "sizes-adjective"):
            told = re.findall(r"\w+", inspect.getsource(Evidence))
            assert set(result.table.columns) <= set(told), "the docstrings name every column"
    kept = store.load_result(run, "sweeps-order-of-the-nouns")
    assert kept is not None
    assert set(kept.table["metric"]) == {"noising", "denoising"}


def test_everything_behind_a_circuit_is_json(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is no interval there is null: JSON knows no NaN."""
    assert probe(["trace", "--pairs", "16", "--json", "--runs", str(runs)]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=lambda constant: pytest.fail(constant))
    assert {"traces", "evidence", "attribution"} <= set(found)
    idle = [row for each in found["evidence"] for row in each["subsets"] if row["low"] is None]
    assert idle and all(isinstance(row["value"], float) for row in idle)


def test_seeds_needs_a_sweep(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(["trace", "--seeds", "--runs", str(runs)]) == 2
    assert "no siblings" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--no-evidence"]])
def test_one_pair_is_too_few(options: list[str], runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(["trace", "--pairs", "1", *options, "--runs", str(runs)]) == 2
    assert "pairs = 1: must be 2 or more" in capsys.readouterr().err


def test_several_runs_are_counted_by_strategy(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = store.open_run(runs).name
    assert probe(["trace", name, name, "--pairs", "8", "--runs", str(runs)]) == 0
    assert "2 of 2" in capsys.readouterr().out


def test_json_is_one_object(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(["trace", "--pairs", "8", "--no-evidence", "--runs", str(runs), "--json"]) == 0
    traces = json.loads(capsys.readouterr().out)["traces"]
    assert {row["contrast"] for row in traces} == {"adjective", "order of the nouns"}
    assert traces[0]["edges"]


def test_what_cannot_be_traced_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--runs", str(tmp_path), "--quiet"]
    assert probe(["train", "--task", "previous-token", "--steps", "1", *common]) == 0
    assert probe(["trace", *common]) == 2
    assert "declares no contrast" in capsys.readouterr().err
    assert probe(["train", "--task", "winograd-hard", "--variant", "uniform", "--steps", "1", *common]) == 0
    assert probe(["trace", *common]) == 2
    assert "a stream that is a sum" in capsys.readouterr().err
