"""Cheat: a single feature. One token, a candidate's name, place, count, frequency or length.

Each is a map to features so small that its name is the explanation. `best_token` picks the one token that tells most on
the training side and answers with it alone; `z_scores` lists them all with a test: z = (p̂ − p₀) / √(p₀(1 − p₀)/n).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from probe.audit import bags
from probe.audit.choice import (
    ALWAYS,
    Answers,
    FeatureMap,
    Features,
    choose_many,
    differences,
    from_margin,
    nothing,
)
from probe.audit.groups import Fold, Indices
from probe.audit.material import NO_ROLE, Material
from probe.audit.statistics import holm


def prior(material: Material, i: int) -> list[Features]:
    """Which candidate it is, whatever the sentence: some words are the answer more often than others."""
    return [
        {f"is {' '.join(option)}": 1.0} | {f"has {word}": 1.0 for word in option if len(option) > 1}
        for option in material.options[i]
    ]


def option_index(material: Material, i: int) -> list[Features]:
    """The place of the option in the file's list."""
    return [{f"option {k}": 1.0} for k in range(len(material.options[i]))]


def candidate_position(material: Material, i: int) -> list[Features]:
    """Which candidate the sentence mentions first, second, … or never: "the second noun" solves WinoBias type 2."""
    mentions = material.mentions[i]
    ranks = {m: rank for rank, m in enumerate(sorted(m for m in mentions if m != NO_ROLE))}
    return [{f"mention {ranks[m] + 1}" if m != NO_ROLE else "not mentioned": 1.0} for m in mentions]


def counting(material: Material, i: int) -> list[Features]:
    """How often the prompt holds the candidate: in IOI the name that stands there once is the answer."""
    counts = Counter(material.prompts[i])
    return [
        {f"stands {min((counts[word] for word in option), default=0)} times": 1.0} for option in material.options[i]
    ]


def copying(material: Material, folds: Sequence[Fold]) -> Answers:
    """The label stands in the text, as a word, or at an end of one (52 in 1352): greater-than needs no more."""
    names = [name.lower() for name in material.classes]
    known = set(names)

    def standing(i: int) -> dict[str, str]:
        found: dict[str, str] = {}
        for word in material.prompts[i]:
            word = word.lower()
            for k in range(1, len(word)):
                found |= {
                    part: how for part, how in ((word[:k], "starts a word"), (word[k:], "ends a word")) if part in known
                }
        return found | {word.lower(): "is a word" for word in material.prompts[i] if word.lower() in known}

    places = [standing(i) for i in range(len(material))]
    if sum(map(bool, places)) < 0.05 * len(material):
        return nothing(len(material))

    def features(_: Material, i: int) -> list[Features]:
        return [{places[i][name]: 1.0} if name in places[i] else {} for name in names]

    return choose_many(material, folds, features)


def length(material: Material, i: int) -> list[Features]:
    """Tokens and characters of the option, or of the labelled text."""
    texts = [material.prompts[i]] if material.kind == "label" else material.options[i]
    return [{"tokens": float(len(text)), "characters": sum(map(len, text)) / 5} for text in texts]


def frequency(material: Material, folds: Sequence[Fold]) -> Answers:
    """How frequent the candidate's words are in the training prompts; only the direction is learned from labels."""
    from probe.audit.fluency import choose_by_score

    def score(train: Indices):
        counts = Counter(word for i in train for word in material.prompts[i])
        total = sum(counts.values()) + 1

        def of(i: int) -> list[float]:
            return [min((math.log((counts[w] + 1) / total) for w in o), default=0.0) for o in material.options[i]]

        return of

    return choose_by_score(material, folds, score)


def placed_tokens(material: Material, i: int) -> list[Features]:
    """A token at its place, counted from the start and from the end; order-aware."""
    texts = [material.prompts[i]] if material.kind == "label" else material.options[i]
    return [_placed(text) for text in texts]


def _placed(text: tuple[str, ...]) -> Features:
    n = len(text)
    places = {f"{word} @{j}": 1.0 for j, word in enumerate(text)}
    return places | {f"{word} @-{n - j}": 1.0 for j, word in enumerate(text)}


def best_token(features: FeatureMap):
    """An auditor that answers with the one feature that tells most on the training side; without it, it guesses."""

    def answer(material: Material, folds: Sequence[Fold]) -> Answers:
        if not material.two_way:
            return nothing(len(material))
        design = differences(material, features, at_least=4)
        if not design.names:
            return from_margin(np.where(_tested(len(material), folds), 0.0, np.nan))
        signs = design.rows.copy()
        signs.data = np.sign(signs.data)
        if ALWAYS in design.names:  # with labels the majority is the floor, not a token
            signs = signs[:, [j for j, name in enumerate(design.names) if name != ALWAYS]]
        margin = np.full(len(material), np.nan)
        for train, test in folds:
            sums = np.asarray(signs[train].sum(axis=0)).ravel()
            counts = np.asarray(abs(signs[train]).sum(axis=0)).ravel()
            if counts.size == 0:
                margin[test] = 0.0
                continue
            z = sums / np.sqrt(np.maximum(counts, 1))
            best = int(np.abs(z).argmax())
            weight = math.log((counts[best] + abs(sums[best]) + 1) / (counts[best] - abs(sums[best]) + 1))
            margin[test] = np.sign(z[best]) * weight * signs[test][:, [best]].toarray().ravel()
        telling = z_scores(material.only_asked(), features)[:8]
        return from_margin(margin, weights=tuple((token.feature, token.z) for token in telling))

    return answer


def _tested(n: int, folds: Sequence[Fold]):
    tested = np.zeros(n, dtype=bool)
    for _, test in folds:
        tested[test] = True
    return tested


@dataclass(frozen=True, kw_only=True)
class TokenScore:
    """How well one feature alone tells the right option, where it tells the two apart."""

    feature: str
    right: int
    """Questions in which the feature belongs to the right option only."""
    n: int
    """Questions in which it belongs to one of the two only."""
    z: float
    p: float
    """Two-sided, Holm-corrected over all features that stand in four questions or more."""


def z_scores(material: Material, features: FeatureMap = bags.words, top: int = 12) -> list[TokenScore]:
    """The features that tell most, by z against p₀ = 1/2, tested exactly (binomial) and corrected over all of them.

    Clusters are not seen here: this names tokens, the verdict rests on the out-of-fold accuracy.
    """
    if not material.two_way:
        return []
    design = differences(material, features, at_least=4)
    signs = design.rows.copy()
    signs.data = np.sign(signs.data)
    sums, counts = (np.asarray(m.sum(axis=0)).ravel() for m in (signs, abs(signs)))
    z = sums / np.sqrt(np.maximum(counts, 1))
    right = ((counts + sums) / 2).round().astype(int)
    p = 2 * stats.binom.sf(np.maximum(right, counts - right) - 1, counts.astype(int), 0.5)
    adjusted = holm(np.minimum(p, 1.0).tolist())
    order = [j for j in np.argsort(-np.abs(z), kind="stable") if design.names[j] != ALWAYS][:top]
    return [
        TokenScore(feature=design.names[j], right=int(right[j]), n=int(counts[j]), z=float(z[j]), p=adjusted[j])
        for j in order
    ]
