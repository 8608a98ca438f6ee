"""What only a process of its own can show: what is imported, closed pipes, signals, encodings."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import probe

COMMAND = [sys.executable, "-m", "probe"]
HEAVY = ("torch", "transformer_lens", "pandas", "seaborn", "matplotlib", "numpy")
ENVIRONMENT = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")} | {
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(Path(probe.__file__).parents[1]),
}


def start(*arguments: str, cwd: Path, **more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT | more,
    )


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["tasks"], ["--nope"]])
def test_help_imports_nothing_heavy(arguments, tmp_path, capsys):
    code = (
        "import sys; from probe.cli import run; run(sys.argv[1:]);"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, text=True, env=ENVIRONMENT
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stderr.splitlines()[-1] == "[]"
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with capsys.disabled():
        print(f"\nprobe {' '.join(arguments)}: {seconds:.2f} s of CPU (help: aim 0.25)")


@pytest.mark.parametrize(
    "arguments", [["tasks"], ["tasks", "--json"], ["--help"], ["attn-map", "the animal did not cross...", "--quiet"]]
)
def test_a_reader_that_has_seen_enough_is_no_failure(arguments, tmp_path, runs):
    """`probe tasks | head -1`: the pipe is closed before a word is written."""
    more = ["--runs", str(runs)] if arguments[0] == "attn-map" else []
    process = start(*arguments, *more, cwd=tmp_path)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() == 0, said
    assert said == ""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_cannot_encode_a_word_still_gets_it(encoding, tmp_path):
    done = subprocess.run(
        [*COMMAND, "generate-task", "winograd-ru"],
        cwd=tmp_path,
        capture_output=True,
        env=ENVIRONMENT | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
    )
    assert done.returncode == 0, done.stderr
    assert b"\\u0430" in done.stdout
    assert "автобус" in (tmp_path / "data/winograd-ru/train.jsonl").read_text("utf-8")


def test_ctrl_c_saves_and_resume_finishes(tmp_path):
    process = start("train", "--steps", "100000", "--threads", "1", "--set", "evaluate_every=5", cwd=tmp_path)
    assert process.stderr is not None and process.stdout is not None
    for line in process.stderr:
        if b"step 5/" in line:
            break
    process.send_signal(signal.SIGINT)
    out, rest = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in rest and b"interrupted" in rest
    (run,) = [path for path in (tmp_path / "runs").iterdir() if path.is_dir()]
    assert not (run / "model.safetensors").exists()
    assert (run / "checkpoints" / "state.safetensors").exists()
    assert not [path for path in run.rglob("*.part")]

    # let the rest be short: the same run, asked to stop as soon as it scores anything at all
    manifest = json.loads((run / "manifest.json").read_text("utf-8"))
    manifest["training"]["steps"] = 20 + max(
        json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()
    )
    (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    done = subprocess.run(
        [*COMMAND, "train", "--resume", run.name, "--json"], cwd=tmp_path, capture_output=True, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert (told["run"], told["steps"]) == (run.name, manifest["training"]["steps"])
    assert (run / "model.safetensors").exists()
    steps = [json.loads(line)["step"] for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    assert steps == sorted(set(steps)), "no evaluation is lost or told twice"


def test_ctrl_c_before_the_first_step_is_quiet_too(tmp_path):
    process = start("train", "--threads", "1", cwd=tmp_path)
    deadline = time.monotonic() + 30
    while not list((tmp_path / "runs").glob("*/manifest.json")) and time.monotonic() < deadline:
        time.sleep(0.02)  # torch is being imported now
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == 130, rest
    assert b"Traceback" not in rest
