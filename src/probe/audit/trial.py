"""Each auditor under one tokenisation -> findings: answers out of fold, statistics, verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from probe.audit.choice import Answers
from probe.audit.groups import Fold, Groups, grouped_folds, random_folds
from probe.audit.material import Material
from probe.audit.result import Finding
from probe.audit.statistics import Array, Clusters, Interval, cluster_bootstraps, holm, permutation_p
from probe.audit.table import AUDITORS, Auditor, without_slots
from probe.audit.verdict import judge
from probe.tasks.readers import Question

UNGROUPED = ("bag-of-words", "bag-of-pairs")
"""The auditors that are also tried with twins torn apart."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What all auditors of an audit share."""

    groups: Groups
    clusters: Clusters
    shipped: list[Fold]
    """Train and test as the file is split; empty without a split."""
    target: NDArray[np.bool_]
    """Which questions are audited; the others, of a training set given apart, are only trained on."""
    margin: float
    seed: int
    progress: Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The statistics of one auditor's answers."""

    interval: Interval
    p: float
    p_above: float
    """Holm-corrected."""
    p_below: float
    """Holm-corrected."""
    comparisons: int


def try_all(current: Material, setting: Setting, *, full: bool) -> list[Finding]:
    """Let every auditor of the table answer in grouped folds; `full` also as shipped and with twins torn apart."""
    folds = grouped_folds(setting.groups.index, seed=setting.seed)
    auditors = [a for a in AUDITORS if current.kind in a.kinds]
    auditors += without_slots(current) if full else []
    tried: list[tuple[Auditor, Answers]] = []
    for auditor in auditors:
        if auditor.name == "option-index" and current.index_is_order:
            continue
        setting.progress(f"{auditor.name} ({current.tokens})")
        answers = auditor.answer(current, folds)
        credit = np.where(setting.target, answers.credit, np.nan)
        if not np.isnan(credit).all():
            tried.append((auditor, replace(answers, credit=credit)))
    evidence = weigh(current, tried, setting.clusters)
    return [
        _finding(current, auditor, answers, evidence[j], setting, full=full)
        for j, (auditor, answers) in enumerate(tried)
    ]


def weigh(current: Material, tried: list[tuple[Auditor, Answers]], clusters: Clusters) -> list[Evidence]:
    """Intervals and p-values, Holm's correction over the auditors that count and, apart, over the others."""
    credits = [answers.credit for _, answers in tried]
    raw = permutation_p([np.nan_to_num(credit - current.chance) for credit in credits], clusters)
    intervals = (
        cluster_bootstraps(credits, clusters, coins=[_broken(current, credit) for credit in credits]) if tried else []
    )
    found: dict[int, Evidence] = {}
    for counts in (True, False):
        own = [j for j, (auditor, _) in enumerate(tried) if auditor.counts == counts]
        above, below = holm([raw[j][0] for j in own]), holm([raw[j][1] for j in own])
        for k, j in enumerate(own):
            found[j] = Evidence(
                interval=intervals[j], p=raw[j][0], p_above=above[k], p_below=below[k], comparisons=len(own)
            )
    return [found[j] for j in range(len(tried))]


def _finding(
    current: Material, auditor: Auditor, answers: Answers, evidence: Evidence, setting: Setting, *, full: bool
) -> Finding:
    scored = ~np.isnan(answers.credit)
    clusters = len(np.unique(setting.groups.index[scored]))
    judgement = judge(
        evidence.interval,
        chance=current.chance,
        margin=setting.margin,
        p_above=evidence.p_above,
        p_below=evidence.p_below,
        clusters=clusters,
        comparisons=evidence.comparisons,
        below_is_leak=current.kind != "label",
    )
    torn = full and auditor.name in UNGROUPED and setting.groups.count < len(current)
    options = [len(current.classes) if current.kind == "label" else len(o) for o in current.options]
    uniform = np.log2(np.array(options))[scored]
    cost = -np.log2(np.clip(answers.probability[scored], 1e-6, 1.0))
    return Finding(
        auditor=auditor.name,
        what=auditor.what,
        counts=auditor.counts,
        tokens=current.tokens,
        n=int(scored.sum()),
        clusters=clusters,
        accuracy=evidence.interval.mean,
        low=evidence.interval.low,
        high=evidence.interval.high,
        chance=current.chance,
        p=evidence.p,
        p_holm=evidence.p_above,
        bits=float(np.mean(uniform - cost)),
        pair_accuracy=_pair_accuracy(current, answers, setting.groups),
        shipped=_mean(auditor.answer(current, setting.shipped).credit) if setting.shipped and full else None,
        ungrouped=_mean(auditor.answer(current, random_folds(len(current), seed=setting.seed)).credit)
        if torn
        else None,
        verdict=judgement.verdict,
        reason=judgement.reason,
        weights=answers.weights,
        examples=_examples(current, answers),
        note=answers.note,
    )


def _broken(current: Material, credit: Array) -> Array:
    """The credit with ties broken by each question's coin; NaN stays."""
    tie = (credit > 0) & (credit < 1)
    guess = current.coins if current.two_way else (current.coins < np.nan_to_num(credit)).astype(float)
    return np.where(tie, guess, credit)


def _mean(credit: Array) -> float | None:
    return None if np.isnan(credit).all() else float(np.nanmean(credit))


def _pair_accuracy(current: Material, answers: Answers, groups: Groups) -> float | None:
    """All questions of a pair right; a pair of sentences is one question already."""
    if current.kind == "pair":
        return float(np.nanmean(answers.credit == 1.0))
    ids = [q.pair_id for q in current.questions]
    keys = ids if any(ids) else [str(g) for g in groups.index]
    worst: dict[str, list[float]] = {}
    for key, credit in zip(keys, answers.credit, strict=True):
        if key and not np.isnan(credit):
            worst.setdefault(key, []).append(float(credit))
    twins = [min(credits) == 1.0 for credits in worst.values() if len(credits) > 1]
    return float(np.mean(twins)) if twins else None


def _examples(current: Material, answers: Answers, n: int = 5) -> tuple[str, ...]:
    """The right answers given most clearly, no text twice."""
    margin = np.where(answers.credit == 1.0, answers.margin, -np.inf)
    shown: dict[str, None] = {}
    for i in np.argsort(-np.nan_to_num(margin, nan=-np.inf), kind="stable")[: 4 * n]:
        if np.isfinite(margin[i]) and margin[i] > 0 and len(shown) < n:
            shown[_shown(current.questions[i], current.classes)] = None
    return tuple(shown)


def _shown(question: Question, classes: tuple[str, ...]) -> str:
    if classes:
        return f"{question.prompt} → {classes[question.answer]}"
    if not question.prompt:
        return f"{question.right} (not: {question.options[1 - question.answer]})"
    others = ", ".join(o for k, o in enumerate(question.options) if k != question.answer)
    return f"{question.prompt} → {question.right} (not {others})"
