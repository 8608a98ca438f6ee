"""`probe selftest` and `probe heads`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probe.cli import run as probe
from probe.lab.selftest import Check


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


def test_heads_are_a_table_with_floor_and_maximum(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(["heads", "--runs", str(runs)]) == 0
    text = capsys.readouterr().out
    assert all(f"L{layer}H{head}" in text for layer in range(2) for head in range(4))
    assert "floor" in text
    assert "maximum" in text
    assert probe(["heads", "--runs", str(runs), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["heads"]["table"]) == 8 * 4
    assert len(result["composition"]["table"]) == 16 * 3
