"""A small text that has a vocabulary, and the chapter's corpus where this machine has it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from probe.files import digest
from probe.reproductions.corpus import SHA256, cached_corpus

SHARED = Path(__file__).parents[3] / "shared" / "data" / "tinyshakespeare" / "input.txt"


@pytest.fixture(scope="session")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty thousand made-up words: enough for 1,024 tokens."""
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(2, 7))) for _ in range(2000)]
    path = tmp_path_factory.mktemp("corpus") / "text.txt"
    path.write_text(" ".join(draw.choices(words, k=20_000)))
    return path


@pytest.fixture(scope="session")
def shakespeare() -> Path:
    """The chapter's corpus; a test that needs it is skipped elsewhere."""
    for path in (SHARED, cached_corpus()):
        if path.is_file() and digest(path.read_bytes()) == SHA256:
            return path
    pytest.skip("the chapter's corpus is not on this machine (probe reproduce ladder --download fetches it)")
