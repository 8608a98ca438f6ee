"""Cheats by the company words keep: collocation, agreement, and an order that the nouns always stand in.

All three are special cases of what a bag of words can learn; each is narrow enough to say *why* the bag succeeds.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from probe.audit.choice import Answers, Design, Features, differences, fit_two, from_margin, heaviest, nothing
from probe.audit.fluency import Score, choose_by_score
from probe.audit.groups import Fold, Indices, folds_of
from probe.audit.material import NO_ROLE, Material

CLEAR = 0.1
"""How far apart two names must be in a ranking, in logits, for a guess."""


def collocation(material: Material, folds: Sequence[Fold]) -> Answers:
    """The candidate that keeps company with the sentence's other words, counted without looking at any label.

    Score of a candidate: Σ over the words w of the prompt of log (n(c, w) + 1)·N / (n(c)·n(w) + 1), the pointwise
    mutual information over prompts (Church and Hanks 1990). Only whether company means right is learned.
    """

    def fit(train: Indices) -> Score:
        together: Counter[tuple[str, str]] = Counter()
        alone: Counter[str] = Counter()
        names: Counter[str] = Counter()
        for i in train:
            prompt = set(material.prompts[i])
            alone.update(prompt)
            for option in material.options[i]:
                names[" ".join(option)] += 1
                together.update((" ".join(option), word) for word in prompt)
        total = len(train)

        def score(i: int) -> list[float]:
            own = {word for option in material.options[i] for word in option}
            context = set(material.prompts[i]) - own
            return [
                sum(
                    math.log((together[" ".join(o), w] + 1) * total / (names[" ".join(o)] * alone[w] + 1))
                    for w in sorted(context)
                    if alone[w] and names[" ".join(o)]
                )
                for o in material.options[i]
            ]

        return lambda i: [round(s, 6) for s in score(i)]

    return choose_by_score(material, folds, fit)


def contrast_words(material: Material) -> list[str]:
    """For each question the word whose exchange, all else equal, comes with another answer; empty where there is none.

    Found from the data: prompts that are equal but for one place, with the same candidates and different answers.
    """
    cells: dict[tuple, list[tuple[int, str]]] = defaultdict(list)
    for i, prompt in enumerate(material.prompts):
        if len(prompt) > 80:
            continue
        own = {word for option in material.options[i] for word in option}
        for place, word in enumerate(prompt):
            if word not in own:
                cells[(place, prompt[:place], prompt[place + 1 :], material.options[i])].append((i, word))
    found = [""] * len(material)
    for cell in cells.values():
        if len({word for _, word in cell}) > 1 and len({int(material.answers[i]) for i, _ in cell}) > 1:
            for i, word in cell:
                found[i] = found[i] or word
    return found


def agreement(material: Material, folds: Sequence[Fold]) -> Answers:
    """The ending of the deciding word, tested on words never trained on: *cansad-a* goes with the feminine noun.

    Folds hold out deciding words instead of groups, so nothing but an ending can carry over. An ending (its last one,
    two or three letters) is a pattern where at least two *other* words share it. Questions without a deciding word are
    guessed.
    """
    if "agreement" not in material.designs:
        material.designs["agreement"] = _by_endings(material)
    answers: Answers = material.designs["agreement"]
    tested = np.zeros(len(material), dtype=bool)
    for _, test in folds:
        tested[test] = True
    return replace(answers, credit=np.where(tested, answers.credit, np.nan))


def _by_endings(material: Material) -> Answers:
    words = contrast_words(material)
    kinds = sorted({word for word in words if word})
    if not material.two_way or len(kinds) < 4:
        return nothing(len(material))
    n = min(len(kinds), 8)
    # Words with one ending are neighbours when sorted from the end; they go to different folds, never all at once.
    rank = {word: k % n for k, word in enumerate(sorted(kinds, key=lambda w: w[::-1]))}
    side = np.array([rank[word] if word else -1 for word in words])
    margin = np.where(side < 0, 0.0, np.nan)
    for train, test in folds_of(side, n):
        known = {words[i] for i in train if words[i]}
        shared = Counter(ending for word in known for ending in _endings(word))
        rows = _ending_rows(material, words, {ending for ending, count in shared.items() if count >= 2}).rows
        margin[test] = rows[test] @ fit_two(rows[train])
    everywhere = Counter(ending for word in kinds for ending in _endings(word))
    design = _ending_rows(material, words, {ending for ending, count in everywhere.items() if count >= 3})
    weights = heaviest(design.names, fit_two(design.rows)) if design.names else ()
    return from_margin(margin, weights=weights, note=f"{len(kinds)} deciding words, each held out in turn")


def _ending_rows(material: Material, words: Sequence[str], known: set[str]) -> Design:
    """Each candidate with each ending of the question's deciding word that is a pattern."""

    def features(m: Material, i: int) -> list[Features]:
        endings = [ending for ending in _endings(words[i]) if ending in known] if words[i] else []
        return [{f"{' '.join(o)} × …{ending}": 1.0 for ending in endings} for o in m.options[i]]

    return differences(material, features, keep=False)


def _endings(word: str) -> list[str]:
    """The last one, two and three letters.

    >>> _endings("cansada")
    ['a', 'da', 'ada']
    """
    return [word[-k:] for k in (1, 2, 3) if len(word) > k]


def fixed_order(material: Material, folds: Sequence[Fold]) -> Answers:
    """Guess from the names alone which candidate stands first (a ranking), then read the words as if that were seen.

    A ranking is learned from who precedes whom (Bradley and Terry 1952). A candidate that stands in one place only is a
    category, not a rank; two of these are guessed, because "the animal" needs no ranking and is the bag of words' find.
    """
    if not material.two_way or any(len(m) != 2 for m in material.mentions):
        return nothing(len(material))
    places = [m if NO_ROLE not in m and m[0] != m[1] else None for m in material.mentions]
    margin = np.full(len(material), np.nan)
    rows = []
    for train, test in folds:
        seen: dict[str, set[int]] = defaultdict(set)
        for i in train:
            if m := places[i]:
                for option, rank in zip(material.options[i], np.argsort(np.argsort(m)), strict=True):
                    seen[" ".join(option)].add(int(rank))
        mixed = {name for name, ranks in seen.items() if len(ranks) == 2}
        first = _ranking(material, train, places)

        ahead: dict[int, bool] = {int(i): m[0] < m[1] for i in train if (m := places[i])}
        for i in test:
            names = [" ".join(option) for option in material.options[i]]
            gap = first.get(names[0], 0.0) - first.get(names[1], 0.0)
            if abs(gap) >= CLEAR and mixed & set(names) and set(names) <= set(seen):
                ahead[int(i)] = gap > 0

        def features(m: Material, i: int, ahead: dict[int, bool] = ahead) -> list[Features]:
            if i not in ahead:
                return [{}, {}]
            labels = ("first", "second") if ahead[i] else ("second", "first")
            return [{f"{label} × {word}": 1.0 for word in sorted(set(m.prompts[i]))} for label in labels]

        design = differences(material, features, keep=False)
        margin[test] = design.rows[test] @ fit_two(design.rows[train])
        rows.append(design.rows)
    return replace(from_margin(margin), rows=tuple(rows))


def _ranking(material: Material, train: Indices, places: Sequence[tuple[int, ...] | None]) -> dict[str, float]:
    """Name -> strength: the higher of two is expected first."""
    names = sorted({" ".join(option) for i in train for option in material.options[i]})
    index = {name: j for j, name in enumerate(names)}
    rows, columns, data = [], [], []
    count = 0
    for i in train:
        if m := places[i]:
            a, b = (index[" ".join(option)] for option in material.options[i])
            sign = 1.0 if m[0] < m[1] else -1.0
            rows += [count, count]
            columns += [a, b]
            data += [sign, -sign]
            count += 1
    if not count:
        return {}
    matrix = sparse.csr_matrix((data, (rows, columns)), shape=(count, len(names)))
    return dict(zip(names, fit_two(matrix), strict=True))
