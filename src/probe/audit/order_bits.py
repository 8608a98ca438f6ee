"""What order is worth, in bits: H(answer | bag) − H(answer | sequence), by online codelength.

Voita and Titov 2020, section 3.2: send the answers block by block, each coded with a model trained on the blocks before
it. The first block costs log₂ k an answer. A mixture with 2 % of the uniform code keeps one confident mistake from
costing the earth. Blocks are made of whole groups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from probe.audit import bags, local_order
from probe.audit.choice import Features, choose
from probe.audit.groups import Groups
from probe.audit.material import Material
from probe.audit.statistics import Clusters, cluster_bootstrap

SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
UNIFORM = 0.02


@dataclass(frozen=True, kw_only=True)
class OrderBits:
    """Bits an answer; the difference with its 95 % interval over clusters."""

    bag: float
    sequence: float
    difference: float
    low: float
    high: float


def codelength(material: Material, features, groups: Groups, *, seed: int = 0) -> NDArray[np.float64]:
    """Bits each answer costs."""
    order = np.random.default_rng(seed).permutation(groups.count)
    rank = np.empty(groups.count, dtype=np.int64)
    rank[order] = np.arange(groups.count)
    block_of = np.searchsorted(np.ceil(np.array(SHARES) * groups.count), rank[groups.index], side="right")
    bits = np.full(len(material), math.log2(2))
    folds = [(np.flatnonzero(block_of < k), np.flatnonzero(block_of == k)) for k in range(1, len(SHARES))]
    answers = choose(material, [fold for fold in folds if len(fold[0]) and len(fold[1])], features)
    known = ~np.isnan(answers.probability)
    bits[known] = -np.log2((1 - UNIFORM) * answers.probability[known] + UNIFORM / 2)
    return bits


def sequence(material: Material, i: int) -> list[Features]:
    """Bag, n-grams, places, order of mention together: a linear reader; what the sequence holds at least."""
    parts = [bags.words(material, i), local_order.ngrams(material, i), local_order.places(material, i)]
    if material.kind == "cloze":
        parts.append(local_order.mention_and_word(material, i))
    names = ("bag", "ngram", "place", "mention")
    return [
        {
            f"{name}: {feature}": value
            for name, part in zip(names, parts, strict=False)
            for feature, value in part[k].items()
        }
        for k in range(len(parts[0]))
    ]


def order_bits(material: Material, groups: Groups) -> OrderBits | None:
    """None where the question is not two-way, or the groups are too few for blocks."""
    if not material.two_way or groups.count < 2 * len(SHARES):
        return None
    bag, whole = (codelength(material, features, groups) for features in (bags.words, sequence))
    interval = cluster_bootstrap_of(bag - whole, groups)
    return OrderBits(
        bag=float(bag.mean()), sequence=float(whole.mean()), difference=interval[0], low=interval[1], high=interval[2]
    )


def cluster_bootstrap_of(values: NDArray[np.float64], groups: Groups) -> tuple[float, float, float]:
    """Mean and interval of a quantity that is no share: scaled into 0 … 1 for the bootstrap, and back."""
    low, high = float(values.min()), float(values.max())
    if high - low < 1e-12:
        return low, low, low
    interval = cluster_bootstrap((values - low) / (high - low), Clusters(index=groups.index))
    return tuple(low + (high - low) * x for x in (interval.mean, interval.low, interval.high))  # type: ignore[return-value]
