"""Execute the notebooks: each .py (percent format) becomes an .ipynb with its outputs, the same bytes each time.

    python notebooks/execute.py                 all of them, with full settings
    python notebooks/execute.py 3 5             some, by number

The .py is what is written by hand; the .ipynb is made from it. Cells run in a fresh kernel in an empty folder, with one
thread. `PROBE_SMALL=1` in the environment chooses fewer seeds and pairs: what the tests run.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SOURCES = sorted(FOLDER.glob("[0-9]_*.py"))
METADATA = {
    "jupytext": {"formats": "py:percent,ipynb"},
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def read(source: Path) -> Any:
    """The cells of a .py file, without outputs; ids are numbers, so that they stay."""
    import jupytext

    notebook = jupytext.read(source)
    notebook.metadata = METADATA
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        cell["metadata"] = {}
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    return notebook


def execute(notebook: Any, seconds: int = 3600) -> Any:
    """Run all cells in a kernel of this environment; a cell that fails raises."""
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=seconds, kernel_name="python3", resources=resources).execute()
    for cell in notebook.cells:
        cell["metadata"] = {}  # the times of execution
        if cell.cell_type == "code":
            cell["outputs"] = [_kept(output) for output in _joined(cell["outputs"])]
    notebook.metadata = METADATA
    return notebook


def _joined(outputs: Sequence[Any]) -> list[Any]:
    """What a cell prints arrives in pieces that differ from time to time: put together again."""
    joined: list[Any] = []
    for output in outputs:
        if joined and output["output_type"] == joined[-1]["output_type"] == "stream":
            joined[-1]["text"] += output["text"]
        else:
            joined.append(output)
    return joined


def _kept(output: Any) -> Any:
    """An output without the plain text that stands beside its picture or its HTML: it holds addresses in memory."""
    data = output.get("data", {})
    if "image/svg+xml" in data or "text/html" in data:
        data.pop("text/plain", None)
    return output


def as_text(notebook: Any) -> str:
    """The notebook as the repository keeps it."""
    import nbformat

    return json.dumps(json.loads(nbformat.writes(notebook)), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main(chosen: Sequence[str]) -> None:
    """Execute the chosen notebooks, or all."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for source in SOURCES:
        if not chosen or source.name[0] in chosen:
            print(source.stem, file=sys.stderr)
            source.with_suffix(".ipynb").write_text(as_text(execute(read(source))), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
