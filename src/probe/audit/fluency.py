"""Cheat: fluency. A language model that never sees a label; the right option is the more (or less) likely one.

Unigram and bigram models with add-α smoothing over the training side's texts, right and wrong alike. Only one sign is
learned from the labels: whether likely means right.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from probe.audit.choice import TIE, Answers, from_margin, from_scores
from probe.audit.groups import Fold, Indices
from probe.audit.material import Material, Tokens

Score = Callable[[int], list[float]]
ALPHA = 0.1


def unigram(material: Material, folds: Sequence[Fold]) -> Answers:
    """Log-probability of the option under a unigram model, a token; blind to order."""

    def fit(train: Indices) -> Score:
        counts = Counter(word for i in train for text in _texts(material, i) for word in text)
        total, size = sum(counts.values()), len(counts) + 1
        log = {word: math.log((n + ALPHA) / (total + ALPHA * size)) for word, n in counts.items()}
        unseen = math.log(ALPHA / (total + ALPHA * size))
        return lambda i: [sum(log.get(w, unseen) for w in o) / max(1, len(o)) for o in material.options[i]]

    return choose_by_score(material, folds, fit)


def bigram(material: Material, folds: Sequence[Fold]) -> Answers:
    """Log-probability of the option (after the prompt, if there is one) under a bigram model; order-aware."""

    def fit(train: Indices) -> Score:
        after: dict[str, Counter[str]] = {}
        vocabulary: set[str] = set()
        for i in train:
            for text in _texts(material, i):
                for a, b in zip(("", *text), text, strict=False):
                    after.setdefault(a, Counter())[b] += 1
                vocabulary.update(text)
        size = len(vocabulary) + 1
        totals = {word: sum(counts.values()) for word, counts in after.items()}

        def log(a: str, b: str) -> float:
            n = after[a][b] if a in after else 0
            return math.log((n + ALPHA) / (totals.get(a, 0) + ALPHA * size))

        def score(i: int) -> list[float]:
            start = material.prompts[i][-1] if material.prompts[i] else ""
            return [sum(log(a, b) for a, b in zip((start, *o), o, strict=False)) for o in material.options[i]]

        return score

    return choose_by_score(material, folds, fit)


def _texts(material: Material, i: int) -> list[Tokens]:
    return list(material.options[i]) if material.kind == "pair" else [material.prompts[i]]


def choose_by_score(material: Material, folds: Sequence[Fold], fit: Callable[[Indices], Score]) -> Answers:
    """Answer by one score; its direction is what was right more often on the training side."""
    n = len(material)
    owners = np.repeat(np.arange(n), [len(o) for o in material.options])
    rights = np.concatenate([np.arange(len(o)) == a for o, a in zip(material.options, material.answers, strict=True)])
    scores = np.full(len(owners), np.nan)
    starts = np.searchsorted(owners, np.arange(n + 1))
    for train, test in folds:
        score = fit(train)
        own = {int(i): score(int(i)) for i in (*train, *test)}
        gain = 0
        for i in train:
            likely = own[int(i)][material.answers[i]] - sum(own[int(i)]) / len(own[int(i)])
            gain += (likely > TIE) - (likely < -TIE)
        for i in test:
            scores[starts[i] : starts[i + 1]] = np.sign(gain) * np.array(own[int(i)])
    if material.two_way:
        pairs = scores.reshape(n, 2)
        rows = np.arange(n)
        return from_margin(pairs[rows, material.answers] - pairs[rows, 1 - material.answers])
    return from_scores(n, owners, rights, scores)
