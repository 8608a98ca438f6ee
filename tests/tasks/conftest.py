"""A small task of four nouns, as text, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SMALL = """
title = "Small"
language = "en"
template = "the {x} met the {y} for it was {adjective} , so {answer} left ."
contrast = "adjective"

[lexicon]
noun = ["ant", "bee", "cow", "doe"]
crosser = ["glad", "calm"]
crossed = ["wide", "wet"]

[slots]
x = ["noun"]
y = ["noun"]
adjective = ["crosser", "crossed"]

[answer]
by = "adjective"
crosser = "x"
crossed = "y"

[roles]
pronoun = "it"

[split]
method = "reversed-pair"
validation = 0.2
held_out = 0.3

[cheats]
stops = ["bag-of-words"]
allows = []
"""

SEQUENCE = """
title = "Small repeat"
language = "none"

[sequence]
rule = "repeat"
words = 12
length = 8
periods = [4, 6]

[split]
train = 40
validation = 8
held_out = 8
"""


@pytest.fixture
def task_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a task file: the small task, with pieces of its text replaced."""

    def write(*changes: tuple[str, str], text: str = SMALL, name: str = "mine.toml") -> Path:
        for old, new in changes:
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the small task"
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def sequence_text() -> str:
    """A small sequence task."""
    return SEQUENCE
