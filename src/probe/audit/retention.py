"""What a *model* keeps when the words are shuffled: shuffle retention, and the permutation certificate.

A model that answers a shuffled prompt as well as the prompt has not used the order, whatever its attention looks like
(Pham et al. 2021, "Out of Order"; Sinha et al. 2021, "Masked language modeling and the distributional hypothesis").
The model is a function from prompts to answers, so nothing here knows torch.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from probe.audit.material import Material
from probe.audit.statistics import Clusters, Interval, cluster_bootstrap, cluster_bootstrap_values

Prompt = list[str]
Answer = str | tuple[float, float]
"""A word, or the scores of the two candidates in their order."""
Options = tuple[str, ...]
AnswerFunction = Callable[[list[Prompt], list[Options]], Sequence[Answer]]
"""Prompts and the candidates of each -> an answer each."""


@dataclass(frozen=True, kw_only=True)
class Retention:
    """How much of a model's accuracy survives a shuffle.

    `retention` is (shuffled − chance) / (intact − chance), clipped to 0 … 1: 1 for a model blind to order, 0 for one
    that falls to chance; NaN where the intact accuracy is not above chance, because nothing could be kept.
    """

    intact: Interval
    shuffled: Interval
    retention: float
    low: float
    high: float
    chance: float
    n: int
    shuffles: int


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Whether any shuffle changed any answer.

    `invariant` is the share of questions whose answer is the same under all shuffles. Where that is all of them, the
    rule of three bounds the share of (question, shuffle) at which the answer would change: below 3 / groups at 95 %
    (groups, neither questions nor shuffles, are independent).
    """

    invariant: float
    changed_at_most: float
    n: int
    shuffles: int

    @property
    def holds(self) -> bool:
        """Not one answer moved."""
        return self.invariant == 1.0


def shuffled(tokens: Sequence[str], generator: random.Random, *, keep_last: int = 1, tries: int = 200) -> Prompt | None:
    """The tokens in another order, none but equal ones at its place; the last `keep_last` stay. None if impossible.

    A permutation with fixed points is rejected: a prompt in which most words stay is not shuffled, and a short one
    would keep its decisive words one time in a few. The last token stays because a model answers *at* it; moving it
    asks another question. Words that fill half of the places or more can't all move; then the best of the tries is
    taken.

    >>> shuffled(["a", "b", "c", "d"], random.Random(0))[-1]
    'd'
    >>> shuffled(["a", "a", "b"], random.Random(0)) is None
    True
    """
    body, tail = list(tokens[: len(tokens) - keep_last]), list(tokens[len(tokens) - keep_last :])
    if len(set(body)) < 2:
        return None
    best, fewest = None, len(body)
    for _ in range(tries):
        order = body[:]
        generator.shuffle(order)
        fixed = sum(a == b for a, b in zip(order, body, strict=True))
        if fixed < fewest:
            best, fewest = order, fixed
        if fixed == 0:
            break
    return None if best is None else best + tail


def shuffle_retention(
    material: Material,
    answers: AnswerFunction,
    clusters: Clusters,
    *,
    shuffles: int = 5,
    seed: int = 0,
    keep_last: int = 1,
) -> tuple[Retention, Certificate]:
    """Ask a model every prompt intact and under several shuffles.

    Args:
        material: cloze questions; their prompts are what is shuffled. A prompt that can't be shuffled is left out.
        answers: prompts and candidates -> an answer each: a word, or the scores of the candidates. Called once per
            shuffle.
        clusters: what is resampled together.
        shuffles: how many of each prompt.
        seed: of the shuffles.
        keep_last: how many tokens at the end stay in place.
    """
    generator = random.Random(seed)
    keep = [i for i in range(len(material)) if shuffled(material.prompts[i], random.Random(seed), keep_last=keep_last)]
    prompts = [list(material.prompts[i]) for i in keep]
    intact = np.full(len(material), np.nan)
    options = [tuple(material.questions[i].options) for i in keep]
    chosen = list(answers(prompts, options))
    intact[keep] = [credit(material, i, answer) for i, answer in zip(keep, chosen, strict=True)]
    total, same = np.zeros(len(keep)), np.ones(len(keep), dtype=bool)
    for _ in range(shuffles):
        mixed = [shuffled(prompt, generator, keep_last=keep_last) or prompt for prompt in prompts]
        given = list(answers(mixed, options))
        total += [credit(material, i, answer) for i, answer in zip(keep, given, strict=True)]
        same &= [_named(material, i, a) == _named(material, i, b) for i, a, b in zip(keep, chosen, given, strict=True)]
    after = np.full(len(material), np.nan)
    after[keep] = total / max(1, shuffles)
    before, later = cluster_bootstrap(intact, clusters), cluster_bootstrap(after, clusters)
    kept, low, high = _retention(intact, after, clusters, material.chance)
    n, groups = len(keep), len(np.unique(clusters.index[keep]))
    invariant = float(same.mean()) if n else math.nan
    return (
        Retention(
            intact=before,
            shuffled=later,
            retention=kept,
            low=low,
            high=high,
            chance=material.chance,
            n=n,
            shuffles=shuffles,
        ),
        Certificate(
            invariant=invariant,
            changed_at_most=min(1.0, 3 / groups) if n and invariant == 1.0 else 1.0 - invariant,
            n=n,
            shuffles=shuffles,
        ),
    )


def credit(material: Material, i: int, answer: Answer) -> float:
    """1 for the right candidate, 1/2 for a tie of scores, 0 otherwise (also for a word that is no candidate)."""
    right = int(material.answers[i])
    if isinstance(answer, str):
        return float(answer == material.questions[i].right)
    scores = list(answer)
    best = [k for k, score in enumerate(scores) if score >= max(scores) - 1e-9]
    return (right in best) / len(best)


def _named(material: Material, i: int, answer: Answer) -> str:
    """What an answer says, to tell whether a shuffle changed it."""
    if isinstance(answer, str):
        return answer
    scores = list(answer)
    best = max(scores)
    return "|".join(o for o, s in zip(material.questions[i].options, scores, strict=True) if s >= best - 1e-9)


def _retention(intact: np.ndarray, after: np.ndarray, clusters: Clusters, chance: float) -> tuple[float, float, float]:
    """The ratio with its 95 % interval: both accuracies from the same resamples of clusters."""
    before, later = float(np.nanmean(intact)), float(np.nanmean(after))
    if not before > chance:
        return math.nan, math.nan, math.nan
    drawn = cluster_bootstrap_values([intact, after], clusters)
    above = np.maximum(drawn[:, 0] - chance, 1e-9)
    low, high = np.quantile(np.clip((drawn[:, 1] - chance) / above, 0, 1), (0.025, 0.975))
    return float(np.clip((later - chance) / (before - chance), 0, 1)), float(low), float(high)
