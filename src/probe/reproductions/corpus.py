"""The text of the language models: found, or downloaded and checked, and cut into tokens. No torch."""

from __future__ import annotations

import os
import urllib.request
from pathlib import Path

import numpy as np
from jaxtyping import Int

from probe.errors import NotThere, ProbeError
from probe.files import digest, read_text, write_atomic

URL = (
    "https://raw.githubusercontent.com/karpathy/char-rnn/6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/"
    "data/tinyshakespeare/input.txt"
)
SHA256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
"""Of the 1,115,394 characters of Shakespeare that the chapter's language models were trained on."""
VOCABULARY = 1024
HELD_OUT = 0.1
"""Last share of the tokens, on which perplexity is measured."""


def cached_corpus() -> Path:
    """Where a downloaded corpus is kept: the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "probe" / "tinyshakespeare.txt"


def find_corpus(corpus: Path | None, download: bool = False, url: str = URL) -> Path:
    """The file that `--corpus` names, or the one downloaded before, or now where `download` asks for it.

    Raises:
        NotThere: there is none, and none was asked for.
        ProbeError: no network, or what came is not the chapter's corpus.
    """
    if corpus is not None:
        if not corpus.is_file():
            raise NotThere(f"--corpus {corpus}: no such file")
        return corpus
    kept = cached_corpus()
    if kept.is_file():
        return kept
    if not download:
        raise NotThere("this needs the chapter's corpus; give it with --corpus FILE, or fetch it with --download")
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            content = answer.read()
    except OSError as error:
        raise ProbeError(f"--download: {url} cannot be reached ({error}); give a file with --corpus") from None
    if digest(content) != SHA256:
        raise ProbeError(f"--download: {url} is not the chapter's corpus (SHA-256 {digest(content)}); nothing was kept")
    write_atomic(kept, content)
    return kept


def tokens_of(corpus: Path, vocabulary: int = VOCABULARY) -> Int[np.ndarray, " token"]:
    """The text as tokens of a byte-level BPE (Sennrich et al. 2016; Radford et al. 2019) learned from all of it.

    Raises:
        ProbeError: a text too short for so many merges.
    """
    from tokenizers import ByteLevelBPETokenizer

    text = read_text(corpus, "corpus")
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator([text], vocab_size=vocabulary, show_progress=False)
    if tokenizer.get_vocab_size() != vocabulary:
        raise ProbeError(
            f"{corpus}: too short for a vocabulary of {vocabulary} (it gives {tokenizer.get_vocab_size()})"
        )
    return np.asarray(tokenizer.encode(text).ids)
