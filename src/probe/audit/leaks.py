"""Cheat: memory. What a test side shares with its train side, and what a plain lookup table makes of it.

A lookup far *below* chance is a leak too: each test question's twin was trained on with the other answer, and a model's
score is then no measure of the rule. It is never read as clean, and never flipped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from probe.audit.groups import Groups, Indices, bag, relations
from probe.audit.material import NO_ROLE, Material
from probe.audit.statistics import Clusters, Interval, cluster_bootstrap

MIN_COVERED = 0.05
MIN_SHARED = 0.01
"""From this share of the test questions on, what stands on both sides is a leak. It lifts a score by its share at most,
and nearly every large set has a handful: these are noted, and make no verdict. Not `--margin`, which is how much better
than chance an answer may be."""
BOTH_SIDES = {
    "word for word": "stand in train word for word",
    "pair ids": "have their pair's other half in train",
}
"""Relations that are leaks whatever a lookup of them scores."""
AKIN = ("identical bags", "candidates", "templates")
"""What the two halves of a pair have in common."""


@dataclass(frozen=True, kw_only=True)
class Leak:
    """One kind of thing that train and test may share."""

    relation: str
    shared: float
    """Share of the test questions that have a relative in train."""
    flipped: float
    """Among these, the share whose relatives mostly have another answer."""
    lookup: Interval
    """Accuracy, on these, of the table relation -> most frequent answer learned from train."""
    leaked: bool = False
    reason: str = ""


def find_leaks(material: Material, groups: Groups, train: Indices, test: Indices, *, files: int = 1) -> list[Leak]:
    """Every relation with its share, flip rate and lookup accuracy; `judge` decides which are leaks.

    Of several `files`, whose pair ids may each start anew, only those ids count that join what is akin besides.
    """
    keys = {"word for word": [[_whole(material, i)] for i in range(len(material))]}
    keys |= {name: own for name, own in relations(material).items() if name not in groups.left_out}
    if files > 1 and "pair ids" in keys:
        keys["pair ids"] = _akin(keys, train, test)
    clusters = Clusters(index=groups.index)
    found = []
    for name, own in keys.items():
        table: dict[Hashable, Counter[Hashable]] = defaultdict(Counter)
        for i in train:
            for key, answer in _entries(material, int(i), own[int(i)], name):
                table[key][answer] += 1
        credit = np.full(len(material), np.nan)
        flipped = []
        for i in test:
            scores = _scores(material, int(i), own[int(i)], name, table)
            if scores is None:
                continue
            best = scores >= scores.max() - 1e-9
            credit[i] = best[material.answers[i]] / best.sum()
            flipped.append(not best[material.answers[i]])
        covered = len(flipped)
        found.append(
            Leak(
                relation=name,
                shared=covered / len(test),
                flipped=float(np.mean(flipped)) if covered else 0.0,
                lookup=cluster_bootstrap(credit, clusters),
            )
        )
    return found


def _akin(keys: dict[str, list[list[Hashable]]], train: Indices, test: Indices) -> list[list[Hashable]]:
    """The pair ids, without those of test questions that share no bag, candidates or template with their namesake."""
    ids = keys["pair ids"]
    marks = [{(name, key) for name in AKIN if name in keys for key in keys[name][i]} for i in range(len(ids))]
    namesakes: dict[Hashable, set[Hashable]] = defaultdict(set)
    for i in train:
        for name in ids[i]:
            namesakes[name] |= marks[i]
    found = list(ids)
    for i in test:
        found[i] = [name for name in ids[i] if namesakes[name] & marks[i]]
    return found


def judge(leaks: list[Leak], *, chance: float, margin: float, best: float, declared_split: str) -> list[Leak]:
    """Which of them are leaks.

    The same question or the other half of a pair on both sides is one from a hundredth of the test questions on; fewer
    are noted. Another relation is, where a lookup of it does better than anything that generalises (`best`, grouped
    folds) by the margin, or falls below chance by it. One exception: our own tasks that declare `reversed-pair` put the
    reversed twin in train on purpose.
    """
    judged = []
    for leak in leaks:
        leaked, reason = False, ""
        if leak.relation in BOTH_SIDES and leak.shared:
            leaked = leak.shared >= MIN_SHARED
            share = f"{leak.shared:.0%}" if leaked else f"{100 * leak.shared:.2g}%"
            reason = f"{share} of the test questions {BOTH_SIDES[leak.relation]}"
            reason += "" if leaked else f": fewer than {MIN_SHARED:.0%}, so no leak"
        elif leak.shared >= MIN_COVERED and leak.lookup.low > max(chance, best) + margin:
            leaked, reason = (
                True,
                f"a table of {leak.relation} learned from train answers {leak.lookup.mean:.2f} of those it knows",
            )
        elif leak.shared >= MIN_COVERED and leak.lookup.high < chance - margin:
            if declared_split == "reversed-pair":
                reason = (
                    f"far below chance ({leak.lookup.mean:.2f}) by the declared design: each reversed twin was trained"
                )
            else:
                leaked = True
                reason = (
                    f"far below chance: a table of {leak.relation} answers {leak.lookup.mean:.2f}; the twins in train "
                    f"have the other answer ({leak.flipped:.0%})"
                )
        judged.append(replace(leak, leaked=leaked, reason=reason))
    return judged


def _whole(material: Material, i: int) -> Hashable:
    return (material.prompts[i], frozenset(material.options[i]))


def _entries(material: Material, i: int, keys: list[Hashable], relation: str) -> list[tuple[Hashable, Hashable]]:
    """What a table learns from one training question."""
    answer = int(material.answers[i])
    if material.kind == "pair" and relation == "identical bags":
        return [(bag(option), k == answer) for k, option in enumerate(material.options[i])]
    return [(key, _name(material, i, answer, relation)) for key in keys]


def _name(material: Material, i: int, k: int, relation: str) -> Hashable:
    """How a table names option k: the candidate, its place of mention (templates), the class, the sentence."""
    if material.kind == "label":
        return k
    if relation == "templates":
        mentions = material.mentions[i]
        return sorted(mentions).index(mentions[k]) if NO_ROLE not in mentions else k
    return material.options[i][k]


def _scores(
    material: Material, i: int, keys: list[Hashable], relation: str, table: dict[Hashable, Counter[Hashable]]
) -> NDArray[np.float64] | None:
    """How often the table has seen each option be right; None where it knows nothing of the question."""
    if material.kind == "pair" and relation == "identical bags":
        bags = [bag(option) for option in material.options[i]]
        if not any(b in table for b in bags):
            return None
        return np.array([float(table[b][True] - table[b][False]) if b in table else 0.0 for b in bags])
    known = [key for key in keys if key in table]
    if not known:
        return None
    count = len(material.classes) if material.kind == "label" else len(material.options[i])
    return np.array([float(sum(table[key][_name(material, i, k, relation)] for key in known)) for k in range(count)])
