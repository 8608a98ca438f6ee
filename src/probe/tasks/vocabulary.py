"""Words <-> ids. The only place where text becomes ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Int

from probe.errors import ProbeError, nearest
from probe.files import read_json, to_json, write_atomic
from probe.tasks.examples import Example


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Examples of one length as arrays; a model makes tensors of them.

    `positions` holds, per role, the index into the row. Logits at `positions["answer"] - 1` predict the answer.
    """

    tokens: Int[np.ndarray, "example pos"]
    answer: Int[np.ndarray, " example"]
    distractor: Int[np.ndarray, " example"]
    positions: dict[str, Int[np.ndarray, " example"]]
    groups: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class Vocabulary:
    """An ordered list of words; a word's id is its index.

    >>> vocabulary = Vocabulary(("the", "dog", "barked"))
    >>> vocabulary.encode(["the", "dog"]).tolist()
    [0, 1]
    >>> vocabulary.encode(["the", "dgo"])
    Traceback (most recent call last):
    probe.errors.ProbeError: word 2 of the sentence, 'dgo', is not in the vocabulary; did you mean 'dog'?
    """

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(set(self.words)) != len(self.words) or not self.words:
            raise ProbeError("a vocabulary needs distinct words, at least one")

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Word -> id."""
        return {word: i for i, word in enumerate(self.words)}

    def encode(self, tokens: Sequence[str]) -> Int[np.ndarray, " pos"]:
        """Ids of the tokens; an unknown word is named with its position and the nearest words."""
        for position, token in enumerate(tokens):
            if token not in self.ids:
                raise ProbeError(
                    f"word {position + 1} of the sentence, {token!r}, is not in the vocabulary; "
                    f"{nearest(token, self.words)}"
                )
        return np.array([self.ids[token] for token in tokens], dtype=np.int64)

    def batch_of(self, sentences: Sequence[Sequence[str]]) -> Int[np.ndarray, "sentence pos"]:
        """Ids of sentences of one length."""
        return np.stack([self.encode(sentence) for sentence in sentences])

    def decode(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Words of the ids."""
        return tuple(self.words[i] for i in ids)

    def batch(self, examples: Sequence[Example]) -> Batch:
        """Encode examples of one length."""
        if not examples:
            raise ProbeError("no examples to encode")
        lengths = sorted({len(example.tokens) for example in examples})
        if len(lengths) > 1:
            raise ProbeError(f"the examples have different lengths ({lengths}); encode each length on its own")
        return Batch(
            tokens=np.stack([self.encode(example.tokens) for example in examples]),
            answer=self.encode([example.answer for example in examples]),
            distractor=self.encode([example.distractor for example in examples]),
            positions={
                role: np.array([example.positions[role] for example in examples]) for role in examples[0].positions
            },
            groups=tuple(example.group for example in examples),
        )

    def save(self, path: Path) -> None:
        """Write `{"words": […]}`."""
        write_atomic(path, to_json({"words": list(self.words)}) + "\n")

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Read what `save` wrote."""
        words = read_json(path, "vocabulary").get("words")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ProbeError(f'vocabulary {path}: expected {{"words": [...]}}')
        return cls(tuple(words))
