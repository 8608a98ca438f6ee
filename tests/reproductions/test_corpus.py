"""The corpus: found, downloaded and checked, tokenised; and what is said where none of that works."""

from __future__ import annotations

from pathlib import Path

import pytest

from probe.errors import NotThere, ProbeError
from probe.files import digest
from probe.reproductions import corpus
from probe.reproductions.corpus import cached_corpus, find_corpus, tokens_of


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_without_a_corpus_it_says_how_to_get_one() -> None:
    with pytest.raises(NotThere, match="--corpus FILE, or fetch it with --download"):
        find_corpus(None)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotThere, match="no such file"):
        find_corpus(tmp_path / "nothing.txt")


def test_offline_it_says_so() -> None:
    with pytest.raises(ProbeError, match="cannot be reached.*--corpus"):
        find_corpus(None, download=True, url="http://127.0.0.1:9/corpus.txt")
    assert not cached_corpus().exists()


def test_another_text_is_not_kept(tmp_path: Path) -> None:
    served = tmp_path / "served.txt"
    served.write_text("To be")
    with pytest.raises(ProbeError, match="SHA-256"):
        find_corpus(None, download=True, url=served.as_uri())
    assert not cached_corpus().exists()


def test_a_download_is_kept_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served = tmp_path / "served.txt"
    served.write_text("To be")
    monkeypatch.setattr(corpus, "SHA256", digest("To be"))
    path = find_corpus(None, download=True, url=served.as_uri())
    served.unlink()
    assert find_corpus(None) == path == cached_corpus()
    assert path.read_text() == "To be"


def test_a_text_too_short_for_the_vocabulary_is_named(tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_text("to be or not to be")
    with pytest.raises(ProbeError, match="too short for a vocabulary of 1024"):
        tokens_of(path)


def test_the_chapters_corpus_has_its_tokens(shakespeare: Path) -> None:
    """459,792, where the chapter has 459,760: docs/reproductions says what is known of the 32."""
    tokens = tokens_of(shakespeare)
    assert len(tokens) == 459_792
    assert tokens.max() == 1023
