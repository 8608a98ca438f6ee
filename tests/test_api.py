"""`import probe` is light, and every public name is there for people and for type checkers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import probe


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
