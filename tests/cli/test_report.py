"""`probe report`, `probe compare` and `probe verify`, on a real run."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from probe import store
from probe.cli import run as probe
from probe.lab import reporting
from probe.lab.analysing import ANALYSES
from probe.lab.heads import heads_of
from probe.lab.tracing import trace_run

FEW = tuple(each for each in ANALYSES if each.name in ("accuracy", "heads", "trace"))
"""What these tests compute; the others have tests of their own, and take longer."""
ACCURACY = tuple(each for each in FEW if each.name == "accuracy")


@pytest.fixture(scope="module")
def reported(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the trained run and its report, over few pairs and without what takes long."""
    root = tmp_path_factory.mktemp("reported")
    name = store.open_run(runs).name
    shutil.copytree(runs / name, root / name)
    run = store.open_run(root, name)
    store.mark_latest(run)
    trace_run(run, 16)
    heads_of(run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reporting, "ANALYSES", FEW)
        assert probe(["report", "--runs", str(root), "--quiet"]) == 0
        assert probe(["report", "--runs", str(root), "--quiet", "--format", "md"]) == 0
    return root


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "ANALYSES", FEW)
    monkeypatch.setattr("probe.lab.verifying.ANALYSES", FEW)


def test_a_report_is_one_file_and_its_path_is_the_answer(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = reported / "elsewhere.html"
    assert probe(["report", "--runs", str(reported), "--out", str(path), "--quiet"]) == 0
    assert capsys.readouterr().out.strip() == str(path)
    said = path.read_text(encoding="utf-8").replace("\u00a0", " ")
    for words in (
        "What was asked",
        "It names the right word in 100 %",
        "What causes the answer",
        "two hops",
        "Commands",
    ):
        assert words in said or words == "two hops"
    assert len(said.encode()) < 350_000


def test_what_is_kept_is_reported_without_torch(reported: Path) -> None:
    code = (
        "import sys, probe.cli, probe.lab.reporting as r;"
        "r.ANALYSES = [a for a in r.ANALYSES if a.name in ('accuracy', 'heads', 'trace')];"
        f"code = probe.cli.run(['report', '--runs', {str(reported)!r}]); print(code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 False"
    assert "computing" not in done.stderr


def test_a_report_says_what_it_computes_and_what_it_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--runs", str(tmp_path)]
    assert probe(["train", "--task", "previous-token", "--steps", "1", *common, "--quiet"]) == 0
    capsys.readouterr()
    assert probe(["report", *common]) == 0
    said = capsys.readouterr()
    assert "computing accuracy" in said.err and "without trace: " in said.err
    assert "declares no contrast" in Path(said.out.strip()).read_text(encoding="utf-8")


def test_json_is_one_object_with_the_numbers(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(["report", "--runs", str(reported), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert Path(said["path"]).exists()
    assert said["numbers"]["results"]["accuracy"]["rows"]


def test_wrong_usage_is_said(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--runs", str(reported)]
    assert probe(["report", "--format", "pdf", *common]) == 2
    assert probe(["report", "nowhere", *common]) == 3
    assert probe(["report", "--out", str(reported), *common]) == 2
    assert probe(["compare", store.open_run(reported).name, *common]) == 2
    assert probe(["verify", "gone.html", *common]) == 2
    (reported / "not-ours.html").write_text("<p>hello</p>")
    assert probe(["verify", str(reported / "not-ours.html"), *common]) == 2
    said = capsys.readouterr().err
    assert "states no numbers" in said and "two runs or more" in said


@pytest.mark.parametrize(("kind", "analyses"), [("html", FEW), ("md", ACCURACY)])
def test_a_report_that_is_true_is_verified(
    reported: Path, kind: str, analyses: tuple, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("probe.lab.verifying.ANALYSES", analyses)
    report = store.open_run(reported).path / f"report.{kind}"
    assert probe(["verify", str(report), "--runs", str(reported), "--quiet"]) == 0
    assert "hold" in capsys.readouterr().out


def test_a_number_that_was_changed_is_named(
    reported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("probe.lab.verifying.ANALYSES", ACCURACY)
    report = store.open_run(reported).path / "report.html"
    said = report.read_text(encoding="utf-8")
    true = '["held_out","trained","referent accuracy",240,1.0'
    assert true in said
    forged = tmp_path / "forged.html"
    forged.write_text(said.replace(true, true.replace("1.0", "0.97")), encoding="utf-8")
    assert probe(["verify", str(forged), "--runs", str(reported), "--quiet"]) == 1
    assert (
        "held_out trained referent accuracy" in (err := capsys.readouterr().err) and "stated 0.97, computed 1.0" in err
    )


def test_other_weights_are_drift(reported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = store.open_run(reported).name
    shutil.copytree(reported / name, tmp_path / name)
    weights = store.load_arrays(tmp_path / name / "model.safetensors")
    weights["blocks.1.attn.W_ZO"] = weights["blocks.1.attn.W_ZO"] * 0
    store.save_arrays(tmp_path / name / "model.safetensors", weights)
    assert probe(["verify", name, "--runs", str(tmp_path), "--quiet", "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert not said["verified"]
    assert any(drift.startswith("model_digest") for drift in said["drifted"])
    assert any(drift.startswith("accuracy") for drift in said["drifted"])


def test_a_run_compared_with_itself_is_itself(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = store.open_run(reported).name
    page = reported / "compared.html"
    assert probe(["compare", name, name, "--runs", str(reported), "--out", str(page), "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "DO THEY WORK" in said and "2 of 2" in said
    assert "side by side" in page.read_text(encoding="utf-8")
