"""`import probe` is light, and every public name is there for people and for type checkers."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import probe
from probe.store import Run


@pytest.mark.parametrize("name", probe.__all__)
def test_a_public_name_can_be_used_and_is_documented(name: str) -> None:
    assert getattr(probe, name).__doc__


def test_type_checkers_see_the_same_names() -> None:
    source = Path(probe.__file__).read_text(encoding="utf-8")
    assert sorted(re.findall(r"import \w+ as (\w+)", source)) == probe.__all__


def test_importing_probe_imports_nothing_heavy() -> None:
    heavy = ("torch", "numpy", "pandas", "typer", "rich", "transformer_lens")
    code = f"import sys, probe; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_docstring_names_every_column_of_its_table(run: Run, tmp_path: Path) -> None:
    from probe.analyses.formation import formation
    from probe.analyses.stability import stability

    shutil.copytree(run.path, tmp_path / run.name)  # what is computed here on few pairs is kept with the copy
    run = probe.open_run(tmp_path, run.name)
    traced = probe.trace_run(run, 8)
    tables_of_run = {done.nodes.details["contrast"]: (done.nodes.table, done.edges.table) for done in traced}
    source = traced[0].nodes.provenance
    curve = [
        {"step": step, "layer": 0, "head": 0, "metric": "loss", "value": float(step > 50)} for step in range(0, 120, 10)
    ]
    tables = {
        probe.heads_of: probe.heads_of(run),
        probe.roles_of: [probe.roles_of(run)],
        probe.answer_rows_of: [probe.answer_rows_of(run)],
        probe.sweeps_of: probe.sweeps_of(run, 8),
        probe.attribution_of: [probe.attribution_of(run, 8)],
        probe.lens_of: [probe.lens_of(run, 8)],
        probe.attention_of: probe.attention_of(run, probe.ask(run, "the animal did not cross...")),
        probe.stability_of: [stability({"one": tables_of_run, "other": tables_of_run}, source)],
        probe.formation_of: formation(curve, "", source),
        probe.Trace: [part for done in traced for part in (done.nodes, done.edges, done.ways)],
    }
    for documented, results in tables.items():
        text = inspect.getsource(documented) if inspect.isclass(documented) else inspect.getdoc(documented)
        for result in results:
            missing = set(result.table.columns) - set(re.findall(r"\w+", text or ""))
            assert not missing, f"{documented.__name__}, {result.name}"


@pytest.mark.parametrize("name", [name for name in probe.__all__ if name.endswith("_of")])
def test_a_docstring_of_an_analysis_says_what_it_returns_and_raises(name: str) -> None:
    text = inspect.getdoc(getattr(probe, name)) or ""
    assert "Raises:" in text
    assert "Returns:" in text


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        probe.nothing  # noqa: B018


def test_the_api_page_is_made_offline_and_without_a_warning(tmp_path: Path) -> None:
    script = Path(probe.__file__).parents[2] / "docs" / "api.py"
    environment = {**os.environ, "PYTHONPATH": str(Path(probe.__file__).parents[1])}
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "probe.html").read_text(encoding="utf-8")
    assert [name for name in probe.__all__ if f'id="{name}"' not in page] == []
    assert not re.search(r'(src|<link[^>]*href)="?https?://', page)
