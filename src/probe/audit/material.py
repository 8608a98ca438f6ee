"""Questions as an auditor sees them: tokens, where the candidates are mentioned, groups, folds."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probe.tasks.readers.questions import Question, Reading

Tokens = tuple[str, ...]
Tokenizer = Callable[[str], Sequence[str]]
_MARKS = "".join(c for c in map(chr, range(0x300, 0x1F000)) if unicodedata.category(c) in ("Mn", "Mc"))
_JOINED = _MARKS + "\u200c\u200d"
"""What continues a word and is no letter to `re`: vowel signs of Hindi, points of Hebrew and Arabic, joiners."""
_WORD = re.compile(rf"\w[\w{_JOINED}]*(?:['’]\w[\w{_JOINED}]*)*|[^\w\s]")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
NO_ROLE = -1


def normalised(text: str) -> Tokens:
    """Lower-case words, each punctuation mark apart. Neither a capital nor a glued full stop tells who stands where.

    >>> normalised("Who hugs Richard?")
    ('who', 'hugs', 'richard', '?')
    >>> normalised("यह हिन्दी है।")
    ('यह', 'हिन्दी', 'है', '।')
    """
    return tuple(_WORD.findall(unicodedata.normalize("NFC", text.lower())))


def raw(text: str) -> Tokens:
    """Split at blanks, nothing else: a full stop glued to the last word marks it as the last.

    >>> raw("Who hugs Richard?")
    ('Who', 'hugs', 'Richard?')
    """
    return tuple(text.split())


def characters(text: str) -> Tokens:
    """One character a token, for scripts without blanks between words."""
    return tuple(character for character in text.lower() if not character.isspace())


def unspaced(reading: Reading) -> bool:
    """Whether most of the letters belong to a script that puts no blanks between words (Chinese, Japanese, Thai, …)."""
    sample = "".join("".join((q.prompt, *q.options)) for q in reading.questions[:200])
    letters = sum(character.isalpha() for character in sample)
    return bool(letters) and len(_UNSPACED.findall(sample)) > letters / 2


@dataclass(frozen=True, kw_only=True)
class Material:
    """A reading in tokens. Indices run over questions; options keep the order of the file."""

    kind: str
    tokens: str
    """Name of the tokenisation."""
    questions: tuple[Question, ...]
    classes: tuple[str, ...]
    prompts: tuple[Tokens, ...]
    options: tuple[tuple[Tokens, ...], ...]
    answers: NDArray[np.int64]
    mentions: tuple[tuple[int, ...], ...]
    """`cloze`: index of each option's first mention in the prompt, −1 where it is not mentioned."""
    asked: NDArray[np.bool_]
    """Which questions are audited; the others, of a training set given apart, are only trained on."""
    chance: float
    """Accuracy of a guess at the questions asked; with labels, of the label most frequent among these."""
    two_way: bool
    """Every question has exactly two possible answers."""
    index_is_order: bool
    """The order of the options is the order of mention, so that an option's index would smuggle in word order."""
    coins: NDArray[np.float64]
    """Uniform in 0 … 1, one a question: how its ties are broken. With two options, 1 where the guess is right, 0 where
    it is wrong, 1/2 where the options have the same words, and no guess could tell them apart."""
    cut: Callable[[str], Tokens] = field(compare=False, repr=False)
    """What cut the texts into tokens."""
    designs: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """Feature matrices made so far, by feature map: several auditors use the same ones."""

    def __len__(self) -> int:
        return len(self.questions)

    def subset(self, keep: NDArray[np.bool_]) -> Material:
        """The same material with some of the questions, and chance for these."""
        chosen = np.flatnonzero(keep)
        return replace(
            self,
            questions=tuple(self.questions[i] for i in chosen),
            prompts=tuple(self.prompts[i] for i in chosen),
            options=tuple(self.options[i] for i in chosen),
            mentions=tuple(self.mentions[i] for i in chosen),
            answers=self.answers[chosen],
            asked=self.asked[chosen],
            chance=_chance(self.kind, self.classes, [self.options[i] for i in chosen], self.answers[chosen]),
            coins=self.coins[chosen],
            designs={},
        )

    def only_asked(self) -> Material:
        """The questions that are audited, without those that are only trained on."""
        return self if self.asked.all() else self.subset(self.asked)


def material(reading: Reading, tokens: str, tokenizer: Tokenizer, asked: NDArray[np.bool_] | None = None) -> Material:
    """Tokenise a reading; `asked`, unless all are: which of its questions are audited."""
    cut = lru_cache(maxsize=None)(lambda text: tuple(tokenizer(text)))
    questions = reading.questions
    prompts = tuple(cut(q.prompt) for q in questions)
    options = tuple(tuple(cut(option) for option in q.options) for q in questions)
    answers = np.array([q.answer for q in questions], dtype=np.int64)
    mentions = tuple(
        tuple(_find(prompt, option) for option in choice) if reading.kind == "cloze" else ()
        for prompt, choice in zip(prompts, options, strict=True)
    )
    two_way = bool((_sizes(reading.kind, reading.classes, options) == 2).all())
    asked = np.ones(len(questions), dtype=bool) if asked is None else asked
    choices = [choice for choice, yes in zip(options, asked, strict=True) if yes]
    return Material(
        kind=reading.kind,
        tokens=tokens,
        questions=questions,
        classes=reading.classes,
        prompts=prompts,
        options=options,
        answers=answers,
        mentions=mentions,
        asked=asked,
        chance=_chance(reading.kind, reading.classes, choices, answers[asked]),
        two_way=two_way,
        index_is_order=_in_order_of_mention(mentions),
        coins=_coins(reading.kind, prompts, options, answers, two_way),
        cut=cut,
    )


def _sizes(kind: str, classes: Sequence[str], options: Sequence[Sequence[Tokens]]) -> NDArray[np.int64]:
    """How many answers each question has to choose from."""
    return np.array([len(classes) if kind == "label" else len(choice) for choice in options])


def _chance(
    kind: str, classes: Sequence[str], options: Sequence[Sequence[Tokens]], answers: NDArray[np.int64]
) -> float:
    """The mean of 1/k over questions with k options, or the largest class's share if that is more."""
    chance = float(np.mean(1 / _sizes(kind, classes, options)))
    return max(chance, float(np.bincount(answers).max() / len(answers))) if kind == "label" else chance


def _coins(
    kind: str, prompts: Sequence[Tokens], options: Sequence[Sequence[Tokens]], answers: NDArray[np.int64], two_way: bool
) -> NDArray[np.float64]:
    """A guess for each question out of what an order-blind reader sees: twins with one bag are guessed alike."""
    found = np.empty(len(answers))
    for i, answer in enumerate(answers):
        context = " ".join(sorted(prompts[i]))
        keys = [" ".join(sorted(option)) for option in options[i]] if kind != "label" else ["0", "1"]
        if not two_way:
            found[i] = _uniform(f"{context}|{keys[answer] if kind != 'label' else answer}")
        elif keys[0] == keys[1]:
            found[i] = 0.5
        else:
            found[i] = float(_uniform(f"{context}|{keys[answer]}") > _uniform(f"{context}|{keys[1 - answer]}"))
    return found


def _uniform(text: str) -> float:
    """A number in 0 … 1 that depends on the text alone."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).digest()) / 2**48


def _find(prompt: Tokens, option: Tokens) -> int:
    """Where the option's tokens stand in the prompt; failing that, the option without a leading article or such."""
    for part in (option, option[1:]):
        if part:
            for i in range(len(prompt) - len(part) + 1):
                if prompt[i : i + len(part)] == part:
                    return i
    return NO_ROLE


def _in_order_of_mention(mentions: tuple[tuple[int, ...], ...]) -> bool:
    """Whether options nearly always (9 in 10) stand in the order of their mention, or in its reverse."""
    seen = [m for m in mentions if len(m) > 1 and NO_ROLE not in m and len(set(m)) == len(m)]
    if not seen:
        return False
    ordered = sum(list(m) == sorted(m) for m in seen) / len(seen)
    backward = sum(list(m) == sorted(m, reverse=True) for m in seen) / len(seen)
    return max(ordered, backward) >= 0.9
