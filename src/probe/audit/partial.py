"""Cheat: a part of the input. The first or last tokens, the sentence without one of its words, the candidates alone."""

from __future__ import annotations

from dataclasses import replace

from probe.audit import bags
from probe.audit.choice import FeatureMap, Features
from probe.audit.material import Material, Tokens


def window(k: int) -> FeatureMap:
    """The bag of the first k words, or of the last −k for a negative k. Which words come last is order: order-aware."""

    def features(material: Material, i: int) -> list[Features]:
        cut = slice(None, k) if k > 0 else slice(k, None)
        if material.kind == "pair":
            return [dict.fromkeys(_spoken(option)[cut], 1.0) for option in material.options[i]]
        return bags.words(_one(material, i, _spoken(material.prompts[i])[cut]), 0)

    return features


def _spoken(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """Without marks of punctuation, which would fill the window at the end.

    >>> _spoken(("he", "left", "."))
    ('he', 'left')
    """
    return tuple(token for token in tokens if any(map(str.isalnum, token)))


def without(slot: str) -> FeatureMap:
    """The bag of words with the word of one slot dropped: the run of tokens that the word is cut into."""

    def features(material: Material, i: int) -> list[Features]:
        word, prompt = material.questions[i].slots.get(slot, ""), material.prompts[i]
        for run in dict.fromkeys((material.cut(word), material.cut(f" {word}"))):  # some tokenizers mark the blank
            prompt = _dropped(prompt, run)
        return bags.words(_one(material, i, prompt), 0)

    return features


def _dropped(tokens: Tokens, run: Tokens) -> Tokens:
    """The tokens without the run, wherever it stands, in capitals or not.

    >>> _dropped(("a", "well", "-", "known", "dog"), ("Well", "-", "known"))
    ('a', 'dog')
    """
    low, sought = [token.lower() for token in tokens], [token.lower() for token in run]
    kept, i = [], 0
    while i < len(tokens):
        here = bool(run) and low[i : i + len(run)] == sought
        kept += [] if here else [tokens[i]]
        i += len(run) if here else 1
    return tuple(kept)


def _one(material: Material, i: int, prompt: tuple[str, ...]) -> Material:
    """The material of question i alone, with another prompt."""
    return replace(
        material,
        questions=(material.questions[i],),
        prompts=(prompt,),
        options=(material.options[i],),
        mentions=(material.mentions[i],),
        answers=material.answers[i : i + 1],
        asked=material.asked[i : i + 1],
        coins=material.coins[i : i + 1],
        designs={},
    )


def slots(material: Material) -> list[str]:
    """The slots whose word is no candidate: those worth dropping one at a time."""
    found: dict[str, None] = {}
    for question in material.questions[:500]:
        names = {option.lower() for option in question.options}
        found.update({slot: None for slot, word in question.slots.items() if word.lower() not in names})
    return list(found)
