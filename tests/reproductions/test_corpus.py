"""The corpus: found, downloaded and checked, tokenised; and what is said where none of that works."""

from __future__ import annotations

from pathlib import Path

import pytest

from probe.errors import NotThere, ProbeError
from probe.files import digest
from probe.reproductions import corpus
from probe.reproductions.byte_pairs import merged_length, tokens_by_first_seen
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
    """459,760 where the first seen of equally frequent pairs is merged first; 32 more by Hugging Face's rule."""
    tokens = tokens_of(shakespeare)
    assert len(tokens) == 459_792
    assert tokens.max() == 1023
    assert tokens_by_first_seen(shakespeare.read_text(), 1024) == 459_760


def test_merges_by_hand() -> None:
    """aaabdaaabac, the standard example: aa, then aaa (or ab), then aaab."""
    assert [merged_length({"aaabdaaabac": 1}, merges) for merges in range(4)] == [11, 9, 7, 5]
    assert merged_length({"ab": 3, "cd": 3}, 1) == 3 + 6
    assert merged_length({"ab": 1}, 5) == 1


def test_merges_are_those_of_hugging_face_up_to_ties(text: Path) -> None:
    ours, theirs = tokens_by_first_seen(text.read_text(), 400), len(tokens_of(text, 400))
    assert ours == pytest.approx(theirs, rel=0.005)
