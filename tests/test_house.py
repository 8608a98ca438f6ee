"""The rules of the house that tools can hold: format, lint, types, one direction of imports, what a wheel carries."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def tool(*command: str, cwd: Path = ROOT, **environment: str) -> str:
    """Run a tool of this environment; its output is the failure's message."""
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_format() -> None:
    tool("ruff", "format", "--check", "src", "tests", "benchmarks", "notebooks", "docs")


def test_lint() -> None:
    tool("ruff", "check", "src", "tests", "benchmarks", "notebooks", "docs")


def test_types() -> None:
    tool("pyright", "--warnings", PYRIGHT_PYTHON_IGNORE_WARNINGS="1")


def test_imports_go_one_way() -> None:
    """DESIGN: nothing imports upwards; tasks, figures, report, result and store never reach torch."""
    tool("importlinter.cli", "lint", "--no-cache")


def test_no_path_of_a_machine_is_in_a_file() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    marks = tuple("/" + name + "/" for name in ("work", "root", "home", "tmp"))
    for name in listed.stdout.split():
        path = ROOT / name
        if path.suffix in {".py", ".toml", ".md", ".txt", ".yaml", ".cff", ""} and path.is_file():
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
                assert not any(mark in line for mark in marks), f"{name}:{number}: {line}"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a clean environment that has the built wheel, and of ours only the libraries."""
    folder = tmp_path_factory.mktemp("wheel")
    tool("build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT))
    wheel = next(folder.glob("probe_circuits-*.whl"))
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    import numpy

    libraries = Path(numpy.__file__).parents[1]  # site-packages of this environment, after the wheel's own
    site = subprocess.run(
        [python, "-c", "import site; print(site.getsitepackages()[0])"], capture_output=True, text=True, check=True
    )
    (Path(site.stdout.strip()) / "libraries.pth").write_text(str(libraries))
    return python


def test_a_wheel_carries_the_tasks(installed: Path, tmp_path: Path) -> None:
    """`probe tasks` and the main job work outside the checkout."""

    def probe(*arguments: str) -> str:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(
            [installed.parent / "probe", *arguments], cwd=tmp_path, capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = subprocess.run(
        [installed, "-c", "import probe; print(probe.__file__)"], cwd=tmp_path, capture_output=True, text=True
    )
    assert str(installed.parents[1]) in where.stdout
    assert len(probe("tasks").splitlines()) == len(list((ROOT / "tasks").glob("*.toml")))
    probe("generate-task", "winograd-hard")
    probe("train", "--steps", "2", "--set", "evaluate_every=1")
    assert "block 1" in probe("attn-map", "the animal did not cross...")
