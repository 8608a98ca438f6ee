"""`import probe` is light, and every public name is there for people and for type checkers."""

from __future__ import annotations

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
