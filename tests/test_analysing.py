"""Analyses side by side are the analyses of one process, to the byte; what cannot be computed is said by either."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from probe import lab, store
from probe.cli import run as probe
from probe.errors import ProbeError
from probe.lab.analysing import compute, fresh
from probe.lab.models import provenance
from probe.lab.verifying import stated_by
from probe.store import Run


@pytest.fixture
def copies(run: Run, tmp_path: Path) -> list[Run]:
    """The trained run twice, without results."""
    for number in ("one", "two"):
        shutil.copytree(run.path, tmp_path / number / run.name, ignore=shutil.ignore_patterns("results"))
        shutil.copytree(run.path / "results", tmp_path / number / run.name / "results", ignore=lambda _, names: [
            name for name in names if name != "summary.json"
        ])  # fmt: skip
    return [store.open_run(tmp_path / number, run.name) for number in ("one", "two")]


def tables(run: Run) -> dict[str, bytes]:
    """Every file of results but the summary."""
    return {path.name: path.read_bytes() for path in (run.path / "results").iterdir() if path.name != "summary.json"}


def test_two_processes_keep_the_bytes_of_one(copies: list[Run]) -> None:
    wanted = {"lens": 16, "heads": None, "attention": None}
    said: list[str] = []
    assert compute(copies[0], wanted) == compute(copies[1], wanted, processes=2, tell=said.append) == {}
    assert sorted(said) == ["computing attention …", "computing heads …", "computing lens …"]
    assert tables(copies[0]) == tables(copies[1])
    assert {"lens.json", "heads.parquet"} < set(tables(copies[0]))


def test_the_tests_of_a_circuit_run_beside_its_trace(copies: list[Run]) -> None:
    shown: list[list[str]] = []
    for number, each in enumerate(copies, start=1):
        traces, evidence, effects = lab.examine(
            each, 16, processes=number, show=lambda traces: shown.append([done.strategy for done in traces])
        )
        assert [done.strategy for done in traces] == shown[-1]
        assert len(evidence) == len(traces) and effects is not None
    assert shown[0] == shown[1] and len(shown) == 2
    assert tables(copies[0]) == tables(copies[1])


@pytest.mark.parametrize("processes", [1, 2])
def test_what_cannot_be_computed_is_said_with_its_reason(processes: int, tmp_path: Path) -> None:
    assert probe(["train", "--task", "previous-token", "--steps", "1", "--runs", str(tmp_path), "--quiet"]) == 0
    reasons = compute(store.open_run(tmp_path), {"trace": None, "lens": None, "accuracy": None}, processes)
    assert set(reasons) == {"trace", "lens"}
    assert all("declares no contrast" in reason for reason in reasons.values())


def test_what_was_asked_is_stated_so_that_it_can_be_asked_again(copies: list[Run]) -> None:
    """Not the pairs that were answered right: fewer pairs, spaced otherwise, are other pairs."""
    lab.lens_of(copies[0], 16)
    assert stated_by(copies[0])["results"]["lens"]["pairs"] == 16
    lab.lens_of(copies[0])
    assert "pairs" not in stated_by(copies[0])["results"]["lens"]


def test_a_model_without_blocks_is_refused_by_all_that_look_into_blocks(tmp_path: Path) -> None:
    assert probe(["train", "--variant", "no-context", "--steps", "1", "--runs", str(tmp_path), "--quiet"]) == 0
    run = store.open_run(tmp_path)
    for look_into in (lab.trace_run, lab.probes_of, lab.interchange_of, lab.sweeps_of, lab.subspaces_of):
        with pytest.raises(ProbeError, match="no block to look into"):
            look_into(run)


def test_what_another_program_computed_is_computed_again(copies: list[Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """Same weights, same sentences, but not what computes: kept results are not its results."""
    run = copies[0]
    lab.heads_of(run)
    assert fresh(run, "heads", provenance(run))
    monkeypatch.setattr("probe.lab.models.versions", lambda: {"torch": "9.9.9"})
    assert not fresh(run, "heads", provenance(run))
    monkeypatch.undo()
    monkeypatch.setattr("probe.lab.models.ANALYSES", "next")
    assert not fresh(run, "heads", provenance(run))
