"""What must stay together: twins, identical bags, shared candidates, templates, found from the data; and the folds.

A fold that trains on a sentence and tests on its twin measures memory. So questions are joined into components by every
relation below, and components, never questions, are dealt to folds. A relation that would join nearly everything
(one template for the whole file) says nothing and is left out; which were used is said.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from probe.audit.material import NO_ROLE, Material, Tokens

FOLDS = 5
MIN_GROUPS = 20
Indices = NDArray[np.int64]
Fold = tuple[Indices, Indices]
"""Indices to train on, indices to test on."""


def bag(tokens: Tokens) -> Hashable:
    """The words with their counts, order forgotten.

    >>> bag(("b", "a", "b")) == bag(("b", "b", "a")) != bag(("a", "b"))
    True
    """
    return tuple(sorted(tokens))


def template(material: Material, i: int) -> Tokens:
    """The prompt with every mention of a candidate masked.

    Masks are all alike: which candidate stands where is forgotten.
    """
    prompt = list(material.prompts[i])
    for option in sorted(material.options[i], key=len, reverse=True):
        for part in (option, option[1:]):
            for start in range(len(prompt) - len(part) + 1) if part else ():
                if tuple(prompt[start : start + len(part)]) == part:
                    prompt[start : start + len(part)] = ["_"] * len(part)
    squeezed = [token for j, token in enumerate(prompt) if token != "_" or j == 0 or prompt[j - 1] != "_"]
    return tuple(squeezed)


def relations(material: Material) -> dict[str, list[list[Hashable]]]:
    """Relation -> the keys of each question; two questions with a key in common are related."""
    questions = material.questions
    found: dict[str, list[list[Hashable]]] = {"pair ids": [[q.pair_id] if q.pair_id else [] for q in questions]}
    if material.kind == "pair":
        found["identical bags"] = [[bag(option) for option in options] for options in material.options]
    else:
        found["identical bags"] = [[bag(prompt)] for prompt in material.prompts]
    found["declared groups"] = [[q.group] if q.group else [] for q in questions]
    if material.kind == "cloze":
        found["candidates"] = [[frozenset(options)] for options in material.options]
        mentioned = [all(m != NO_ROLE for m in mentions) for mentions in material.mentions]
        found["templates"] = [[template(material, i)] if mentioned[i] else [] for i in range(len(material))]
    return {name: keys for name, keys in found.items() if any(keys)}


class _Union:
    def __init__(self, n: int) -> None:
        self.parent = list(range(n))

    def find(self, i: int) -> int:
        while self.parent[i] != i:
            self.parent[i] = self.parent[self.parent[i]]
            i = self.parent[i]
        return i

    def join(self, keys: list[list[Hashable]]) -> None:
        first: dict[Hashable, int] = {}
        for i, own in enumerate(keys):
            for key in own:
                a, b = self.find(first.setdefault(key, i)), self.find(i)
                if a != b:
                    self.parent[max(a, b)] = min(a, b)


@dataclass(frozen=True, kw_only=True)
class Groups:
    """Components of related questions."""

    index: NDArray[np.int64]
    """Question -> component, numbered by first appearance."""
    used: tuple[str, ...]
    """Relations that join something."""
    left_out: tuple[str, ...]
    """Relations that would have joined nearly everything."""

    def among(self, keep: NDArray[np.bool_]) -> Groups:
        """The same groups of some of the questions."""
        return replace(self, index=np.unique(self.index[keep], return_inverse=True)[1])

    @property
    def count(self) -> int:
        """How many components."""
        return int(self.index.max()) + 1


def find_groups(material: Material) -> Groups:
    """Join questions by every relation; pair ids and identical bags always, the others while enough components remain.

    Enough is 20, or a tenth of the questions; and no component may hold more than a third of them, or a fold would
    have no other side. A training set given apart makes neither easier: both hold of the questions asked, too.
    """
    union = _Union(len(material))
    used, left_out = [], []
    for name, keys in relations(material).items():
        shared = Counter(key for own in keys for key in set(own))
        if not any(count > 1 for count in shared.values()):
            continue
        trial = _Union(len(material))
        trial.parent = list(union.parent)
        trial.join(keys)
        index = _index(trial)
        if name in ("pair ids", "identical bags") or (_spread(index) and _spread(index[material.asked])):
            union = trial
            used.append(name)
        else:
            left_out.append(name)
    return Groups(index=_index(union), used=tuple(used), left_out=tuple(left_out))


def _spread(index: NDArray[np.int64]) -> bool:
    """Whether enough components are there, and none too large."""
    sizes = np.unique(index, return_counts=True)[1]
    return len(sizes) >= min(MIN_GROUPS, max(2, len(index) / 10)) and sizes.max() <= len(index) / 3


def _index(union: _Union) -> NDArray[np.int64]:
    number: dict[int, int] = {}
    return np.array([number.setdefault(union.find(i), len(number)) for i in range(len(union.parent))], dtype=np.int64)


def grouped_folds(index: NDArray[np.int64], *, folds: int = FOLDS, seed: int = 0) -> list[Fold]:
    """Deal whole components to folds of nearly equal size: shuffled, then each to the smallest fold so far.

    >>> [sorted(test.tolist()) for _, test in grouped_folds(np.array([0, 0, 1, 1]), folds=2)]
    [[0, 1], [2, 3]]
    """
    count = int(index.max()) + 1
    folds = min(folds, count)
    if folds < 2:
        return []
    sizes = np.bincount(index)
    order = np.random.default_rng(seed).permutation(count)
    load = np.zeros(folds)
    side = np.empty(count, dtype=np.int64)
    for component in sorted(order, key=lambda c: -sizes[c]) if sizes.max() > 1 else order:
        side[component] = int(load.argmin())
        load[side[component]] += sizes[component]
    return folds_of(side[index], folds)


def folds_of(side: NDArray[np.int64], folds: int) -> list[Fold]:
    """Question -> fold as (train, test) indices; a side of −1 is trained on always and tested never."""
    return [(np.flatnonzero(side != k), np.flatnonzero(side == k)) for k in range(folds) if (side == k).any()]


def random_folds(n: int, *, folds: int = FOLDS, seed: int = 0) -> list[Fold]:
    """Questions dealt to folds at random, twins or not: what a careless split does."""
    folds = min(folds, n)
    return folds_of(np.random.default_rng(seed).permutation(n) % folds, folds) if folds > 1 else []


def shipped_fold(material: Material) -> list[Fold]:
    """Train on train, test on held_out (or else on validation), as the file is split; [] without a split."""
    sides: dict[str, list[int]] = defaultdict(list)
    for i, question in enumerate(material.questions):
        sides[question.split].append(i)
    test = sides["held_out"] or sides["validation"]
    if not sides["train"] or not test:
        return []
    return [(np.array(sides["train"]), np.array(test))]


def describe(groups: Groups, n: int) -> str:
    """One line on what was kept together."""
    text = f"{n} questions in {groups.count} groups"
    text += f" (kept together by {_and(groups.used)})" if groups.used else " (no two are related)"
    if groups.left_out:
        text += f"; {_and(groups.left_out)} would join nearly everything, so not used"
    return text


def _and(names: Iterable[str]) -> str:
    names = list(names)
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
