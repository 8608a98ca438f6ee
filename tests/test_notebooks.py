"""The notebooks: what is committed is what the .py says, executed; and each still runs, in small settings."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
SOURCES = sorted(FOLDER.glob("[0-9]_*.py"))
MACHINE = re.compile(r"/(work|root|home|tmp|Users)/|[A-Z]:\\\\|0x[0-9a-f]{6,}")
each = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)


def room() -> Any:
    """The script that executes notebooks."""
    spec = importlib.util.spec_from_file_location("execute", FOLDER / "execute.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kept(source: Path) -> Any:
    return json.loads(source.with_suffix(".ipynb").read_text(encoding="utf-8"))


def printed(notebook: Any) -> str:
    """All that the cells put out."""
    return json.dumps([cell.get("outputs", []) for cell in notebook["cells"]], ensure_ascii=False)


def test_there_are_five() -> None:
    assert [source.name[0] for source in SOURCES] == ["1", "2", "3", "4", "5"]


@each
def test_py_and_ipynb_agree_cell_by_cell(source: Path) -> None:
    import nbformat

    written = json.loads(nbformat.writes(room().read(source)))
    cells = kept(source)["cells"]
    assert len(cells) == len(written["cells"])
    for of_py, of_ipynb in zip(written["cells"], cells, strict=True):
        assert (of_py["cell_type"], of_py["source"]) == (of_ipynb["cell_type"], of_ipynb["source"])


@each
def test_what_is_committed_was_executed_in_order_and_names_no_machine(source: Path) -> None:
    notebook = kept(source)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert outputs and not any(output["output_type"] == "error" for output in outputs)
    assert not any(output.get("name") == "stderr" for output in outputs)
    assert not MACHINE.search(printed(notebook))


@each
def test_what_is_committed_keeps_no_time_and_no_random_id(source: Path) -> None:
    """Byte-stable: ids are numbers, cells have no metadata, and writing it again changes nothing."""
    import nbformat

    text = source.with_suffix(".ipynb").read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert all(cell["metadata"] == {} for cell in notebook["cells"])
    assert [cell["id"] for cell in notebook["cells"]] == [f"cell-{n}" for n in range(len(notebook["cells"]))]
    assert room().as_text(nbformat.reads(text, as_version=4)) == text


@each
def test_only_the_public_api_is_used(source: Path) -> None:
    lines = source.read_text(encoding="utf-8").splitlines()
    imported = [line for line in lines if re.match(r"\s*(import|from)\s+probe", line)]
    assert imported == ["import probe"]
    import probe

    used = set(re.findall(r"\bprobe\.(\w+)", "\n".join(line for line in lines if not line.startswith("#"))))
    assert used <= set(probe.__all__)


@each
def test_it_runs_in_small_settings(source: Path, tmp_path: Path) -> None:
    """In a process and a kernel of its own, so that a warning of the machinery is none of ours."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import execute, pathlib; "
        "made = execute.execute(execute.read(pathlib.Path(sys.argv[2])), 300); "
        "pathlib.Path(sys.argv[3]).write_text(execute.as_text(made), encoding='utf-8')"
    )
    made = tmp_path / "made.ipynb"
    done = subprocess.run(
        [sys.executable, "-c", code, str(FOLDER), str(source), str(made)],
        env={**os.environ, "PROBE_SMALL": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(FOLDER.parent / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    notebook = json.loads(made.read_text(encoding="utf-8"))
    assert not MACHINE.search(printed(notebook))
    here, there = ([cell["source"] for cell in each["cells"]] for each in (notebook, kept(source)))
    assert here == there
