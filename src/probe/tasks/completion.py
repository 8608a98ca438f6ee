"""From what a user types to sentences of a task: `the animal did not cross...` stands for the pairs that begin so."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from probe.errors import ProbeError, nearest
from probe.tasks.dataset import Dataset, minimal_pairs
from probe.tasks.examples import Example
from probe.tasks.vocabulary import Vocabulary

DOTS = ("...", "…")


def words_of(text: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Split typed text at blanks; punctuation glued to a known word, a capital, and accents typed apart are forgiven.

    >>> words_of("The dog barked, twice", Vocabulary(("the", "dog", "barked", ",", "twice")))
    ('the', 'dog', 'barked', ',', 'twice')
    """
    words: list[str] = []
    for typed in text.split():
        typed = typed if typed in vocabulary.ids else unicodedata.normalize("NFC", typed)
        tail: list[str] = []
        word = typed
        while word not in vocabulary.ids and len(word) > 1 and word[-1] in vocabulary.ids and not word[-1].isalnum():
            tail.insert(0, word[-1])
            word = word[:-1]
        if word not in vocabulary.ids and word.lower() in vocabulary.ids:
            word = word.lower()
        words += [word, *tail]
    if not words:
        raise ProbeError('the sentence is empty; write for instance "the animal did not cross..."')
    vocabulary.encode(words)  # names an unknown word, its position and the nearest words
    return tuple(words)


def is_open(text: str) -> bool:
    """Whether a sentence ends in dots, so that it is to be completed."""
    return text.rstrip().endswith(DOTS)


def complete(text: str, dataset: Dataset) -> tuple[tuple[Example, Example], int]:
    """The first minimal pair whose two sentences begin like `text`, which ends in dots, and how many there are.

    Raises:
        ProbeError: no sentence of the task begins so; the message shows how far it fits and what could follow.
    """
    stem = text.rstrip()
    for dots in DOTS:
        stem = stem.removesuffix(dots)
    prefix = words_of(stem, dataset.vocabulary) if stem.strip() else ()
    fitting = [
        (first, second)
        for first, second in minimal_pairs(dataset.examples)
        if first.tokens[: len(prefix)] == prefix == second.tokens[: len(prefix)]
    ]
    if fitting:
        return fitting[0], len(fitting)
    if not minimal_pairs(dataset.examples):
        raise ProbeError(
            f"{dataset.name} has no minimal pairs to complete {text.strip()!r} from; write a whole sentence"
        )
    for example in dataset.examples:
        if example.tokens[: len(prefix)] == prefix:
            raise ProbeError(
                f"no minimal pair of {dataset.name} begins so (its two sentences differ within these words)"
            )
    raise ProbeError(_misfit(prefix, dataset))


def find_prompt(tokens: Sequence[str], dataset: Dataset) -> Example | None:
    """The example whose prompt these words are, or begin with, if the task has one."""
    tokens = tuple(tokens)
    for example in dataset.examples:
        if tokens[: example.positions["answer"]] == example.prompt:
            return example
    return None


def partner(example: Example, dataset: Dataset) -> Example:
    """The other sentence of an example's minimal pair."""
    for other in dataset.examples:
        if other.pair_id == example.pair_id and other.tokens != example.tokens:
            return other
    raise ProbeError(f"{example.text!r} has no partner in {dataset.name}: its minimal pair is not complete")


def _misfit(prefix: Sequence[str], dataset: Dataset) -> str:
    """How far a beginning fits, and what could follow there."""
    length, following = 0, {example.tokens[0] for example in dataset.examples}
    while prefix[length] in following:
        length += 1
        fitting = [e for e in dataset.examples if e.tokens[:length] == tuple(prefix[:length])]
        following = {e.tokens[length] for e in fitting if length < len(e.tokens)}
    fits = " ".join(prefix[:length]) or "the beginning"
    return (
        f"no sentence of {dataset.name} begins so: after {fits!r} comes {prefix[length]!r}; "
        f"{nearest(prefix[length], following)}"
    )
