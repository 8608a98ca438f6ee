"""Questions made for a test, as if they had been read from a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from probe.audit.material import Material, material, normalised
from probe.tasks.readers import Question, Reading

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


def make_reading(kind: str, questions: Sequence[Question], classes: tuple[str, ...] = (), **changes) -> Reading:
    n = len(questions)
    common = {"records": n, "used": n, "malformed": 0, "unlabelled": 0, "sampled_out": 0}
    common |= {"source": "test", "format": "test"} | changes
    return Reading(kind=kind, questions=tuple(questions), classes=classes, **common)


@pytest.fixture
def reading_of():
    return make_reading


@pytest.fixture
def material_of():
    def make(kind: str, questions: Sequence[Question], classes: tuple[str, ...] = ()) -> Material:
        return material(make_reading(kind, questions, classes), "normalised", normalised)

    return make


@pytest.fixture
def public():
    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"{name} is not on this machine (../shared/data)")
        return path

    return find
