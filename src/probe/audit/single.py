"""Cheat: a single feature. One token, a candidate's name, place, count, frequency or length.

Each is a map to features so small that its name is the explanation. `best_token` picks the one token that tells most on
the training side and answers with it alone; `z_scores` lists them all with a test: z = (p̂ − p₀) / √(p₀(1 − p₀)/n),
where p₀ is 1/2, of labelled texts the share of class 1.
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
    Design,
    FeatureMap,
    Features,
    Rows,
    choose_many,
    differences,
    from_margin,
    nothing,
)
from probe.audit.groups import Fold, Indices
from probe.audit.material import NO_ROLE, Material
from probe.audit.statistics import Array, holm


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
    """An auditor that answers with the one feature that tells most on the training side.

    Without it, it guesses; of a labelled text, as the classes are distributed in training.
    """

    def answer(material: Material, folds: Sequence[Fold]) -> Answers:
        if not material.two_way:
            return nothing(len(material))
        signs = _signs(material, features).rows
        sides = np.where(material.answers, 1, -1) if material.kind == "label" else np.ones(len(material))
        margin = np.full(len(material), np.nan)
        for train, test in folds:
            margin[test] = sides[test] * _logit(len(train) * _share(material, train), len(train))
            right, n, z = _told(signs[train], _share(material, train))
            if z.size:
                best = int(np.abs(z).argmax())
                own = signs[test][:, [best]].toarray().ravel()
                margin[test] = np.where(own, own * _logit(right[best], n[best]), margin[test])
        telling = z_scores(material.only_asked(), features)[:8]
        return from_margin(margin, weights=tuple((token.feature, token.z) for token in telling))

    return answer


def _signs(material: Material, features: FeatureMap) -> Design:
    """1 where a feature belongs to the right option only, or to a text of class 1; −1 to the wrong one, or class 0."""
    design = differences(material, features, at_least=4)
    keep = [j for j, name in enumerate(design.names) if name != ALWAYS]  # of a text: the class itself, no token
    return Design(rows=design.rows[:, keep].sign(), names=[design.names[j] for j in keep])


def _share(material: Material, chosen: Indices) -> float:
    """p₀: how often a feature that tells nothing is right. Half, or the share of class 1 among the texts."""
    return float(material.answers[chosen].mean()) if material.kind == "label" else 0.5


def _told(signs: Rows, p0: float) -> tuple[Array, Array, Array]:
    """For each feature: how often it is right, out of how many, and z."""
    sums, n = (np.asarray(m.sum(axis=0)).ravel() for m in (signs, abs(signs)))
    right = (n + sums) / 2
    return right, n, (right - n * p0) / np.maximum(np.sqrt(n * p0 * (1 - p0)), 1e-9)


def _logit(right: float, n: float) -> float:
    return math.log((right + 0.5) / (n - right + 0.5))


@dataclass(frozen=True, kw_only=True)
class TokenScore:
    """How well one feature alone tells the right option, where it tells the two apart."""

    feature: str
    right: int
    """Questions in which the feature belongs to the right option only; texts of class 1 that have it."""
    n: int
    """Questions in which it belongs to one of the two only; texts that have it."""
    z: float
    p: float
    """Two-sided, Holm-corrected over all features that stand in four questions or more."""


def z_scores(material: Material, features: FeatureMap = bags.words, top: int = 12) -> list[TokenScore]:
    """The features that tell most, by z against p₀, tested exactly (binomial) and corrected over all of them.

    Clusters are not seen here: this names tokens, the verdict rests on the out-of-fold accuracy.
    """
    if not material.two_way:
        return []
    design = _signs(material, features)
    p0 = _share(material, np.arange(len(material)))
    right, n, z = _told(design.rows, p0)
    right, n = right.round().astype(int), n.astype(int)
    p = 2 * np.minimum(stats.binom.sf(right - 1, n, p0), stats.binom.cdf(right, n, p0))
    adjusted = holm(np.minimum(p, 1.0).tolist())
    return [
        TokenScore(feature=design.names[j], right=int(right[j]), n=int(n[j]), z=float(z[j]), p=adjusted[j])
        for j in np.argsort(-np.abs(z), kind="stable")[:top]
    ]
