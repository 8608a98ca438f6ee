"""Heads of two runs matched by what they do, not by their index, which a seed deals at random.

What a head does is written as a row of numbers: its effect on each contrast at each position (noising), and its scores
on repeated words. The pairing with the smallest total distance is taken (Kuhn 1955, the assignment problem), and its
distance stands beside that of a pairing at random, without which a match says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from probe.report.material import Material

Does = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Matching:
    """The heads of one run laid beside those of a reference."""

    pairs: tuple[tuple[str, str, float], ...]
    """Reference head, matched head, distance of what they do."""
    distance: float
    """Mean of the pairs."""
    at_random: float
    """The same for a pairing at random: the mean over all pairs of heads."""


def behaviour(material: Material) -> dict[str, dict[Does, float]]:
    """Head -> what it does -> how much."""
    found: dict[str, dict[Does, float]] = {}
    for contrast in material.named("trace-nodes-"):
        for row in material.rows(f"trace-nodes-{contrast}"):
            if row["metric"] == "noising" and "H" in row["node"]:
                found.setdefault(row["node"], {})[contrast, str(row["position"])] = row["value"]
    for row in material.rows("heads"):
        found.setdefault(f"L{row['layer']}H{row['head']}", {})[("score", row["metric"])] = row["value"]
    return found


def matched(reference: Material, other: Material) -> Matching | None:
    """Match the heads of `other` to those of `reference`; None where they have nothing in common to be compared by."""
    from scipy.optimize import linear_sum_assignment

    ours, theirs = behaviour(reference), behaviour(other)
    common = sorted(_done(ours) & _done(theirs))
    if not common or not ours or not theirs:
        return None
    a, b = _table(ours, common), _table(theirs, common)
    distances = np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))
    rows, columns = linear_sum_assignment(distances)
    names, other_names = list(ours), list(theirs)
    pairs = tuple(
        (names[i], other_names[j], float(distances[i, j])) for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
    )
    return Matching(pairs=pairs, distance=float(distances[rows, columns].mean()), at_random=float(distances.mean()))


def main_effect(does: dict[Does, float]) -> tuple[Does, float] | None:
    """The contrast and position at which a head matters most, and how much; None for one that was not traced."""
    traced = {what: value for what, value in does.items() if what[0] != "score"}
    if not traced:
        return None
    where = max(traced, key=lambda what: abs(traced[what]))
    return where, traced[where]


def _done(heads: dict[str, dict[Does, float]]) -> set[Does]:
    return {what for does in heads.values() for what in does}


def _table(heads: dict[str, dict[Does, float]], common: list[Does]) -> Float[np.ndarray, "head feature"]:
    return np.array([[does.get(what, 0.0) for what in common] for does in heads.values()])
