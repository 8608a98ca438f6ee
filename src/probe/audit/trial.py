"""Each auditor under one tokenisation -> findings: answers out of fold, statistics, verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from probe.audit.choice import Answers, differences
from probe.audit.groups import Fold, Groups, grouped_folds, random_folds
from probe.audit.material import Material
from probe.audit.refit import RefitNull, refit_null
from probe.audit.result import Finding
from probe.audit.statistics import Array, Clusters, Interval, cluster_bootstraps, holm, permutation_p
from probe.audit.table import AUDITORS, Auditor, without_slots
from probe.audit.verdict import ALPHA, judge
from probe.tasks.readers import Question

FEW = 250
"""Up to this many clusters intervals are widened by what refits show."""
UNGROUPED = ("bag-of-words", "bag-of-pairs")
"""The auditors that are also tried with twins torn apart."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What all auditors of an audit share."""

    groups: Groups
    clusters: Clusters
    shipped: list[Fold]
    """Train and test as the file is split; empty without a split."""
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


@dataclass(frozen=True, kw_only=True)
class Tried:
    """An auditor's answers, averaged over the deals of folds."""

    auditor: Auditor
    answers: Answers
    broken: Array
    """The credit with ties broken by each question's coin: what the interval's width is taken from."""
    pair_accuracy: float | None


def deals(n: int) -> int:
    """How many times folds are dealt: which questions meet in a fold decides a good part of a small set's accuracy.

    >>> deals(100), deals(720), deals(1000)
    (3, 3, 1)
    """
    return 3 if n <= 800 else 1


def try_all(current: Material, setting: Setting, *, full: bool) -> list[Finding]:
    """Let every auditor of the table answer in grouped folds.

    `full`, for the tokenisation that counts: folds dealt several times, refits, as shipped, with twins torn apart.
    """
    dealt = [
        grouped_folds(setting.groups.index, seed=setting.seed + k) for k in range(deals(len(current)) if full else 1)
    ]
    auditors = [a for a in AUDITORS if current.kind in a.kinds]
    auditors += without_slots(current) if full else []
    tried: list[Tried] = []
    for auditor in auditors:
        if auditor.name == "option-index" and current.index_is_order:
            continue
        setting.progress(f"{auditor.name} ({current.tokens})")
        every = [_asked(current, auditor.answer(current, folds)) for folds in dealt]
        if not np.isnan(every[0].credit).all():
            tried.append(_averaged(current, auditor, every, setting.groups))
    evidence = weigh(current, tried, setting.clusters, dealt[0] if full else [])
    return [_finding(current, one, evidence[j], setting, full=full) for j, one in enumerate(tried)]


def _asked(current: Material, answers: Answers) -> Answers:
    """No credit for questions that are only trained on."""
    return replace(answers, credit=np.where(current.asked, answers.credit, np.nan))


def _averaged(current: Material, auditor: Auditor, every: list[Answers], groups: Groups) -> Tried:
    pairs = [_pair_accuracy(current, answers, groups) for answers in every]
    known = [share for share in pairs if share is not None]
    return Tried(
        auditor=auditor,
        answers=replace(
            every[0],
            credit=np.mean([answers.credit for answers in every], axis=0),
            probability=np.mean([answers.probability for answers in every], axis=0),
            margin=np.mean([answers.margin for answers in every], axis=0),
        ),
        broken=np.mean([_broken(current, answers.credit) for answers in every], axis=0),
        pair_accuracy=float(np.mean(known)) if known else None,
    )


def weigh(current: Material, tried: list[Tried], clusters: Clusters, folds: list[Fold]) -> list[Evidence]:
    """Intervals and p-values, Holm's correction over the auditors that count and, apart, over the others.

    With `folds`, the auditors that learn are also held against their refitting null, and the larger p-value stands.
    """
    if not tried:
        return []
    credits = [one.answers.credit for one in tried]
    p_values = permutation_p([np.nan_to_num(credit - current.chance) for credit in credits], clusters)
    intervals = cluster_bootstraps(credits, clusters, coins=[one.broken for one in tried])
    for j, one in enumerate(tried):
        if one.auditor.other is not None and not one.answers.rows:
            # outside the refitting null; but which direction is right was learned, so either would have been taken
            p_values[j] = (min(1.0, 2 * p_values[j][0]), min(1.0, 2 * p_values[j][1]))
        elif null := _refitted(current, one, intervals[j], min(p_values[j]), clusters, folds):
            p_values[j] = (max(p_values[j][0], null.p_above), max(p_values[j][1], null.p_below))
            intervals[j] = intervals[j].widened(null.inflation)
    found: dict[int, Evidence] = {}
    for counts in (True, False):
        own = [j for j, one in enumerate(tried) if one.auditor.counts == counts]
        above, below = holm([p_values[j][0] for j in own]), holm([p_values[j][1] for j in own])
        for k, j in enumerate(own):
            found[j] = Evidence(
                interval=intervals[j], p=p_values[j][0], p_above=above[k], p_below=below[k], comparisons=len(own)
            )
    return [found[j] for j in range(len(tried))]


def _refitted(
    current: Material, one: Tried, interval: Interval, p: float, clusters: Clusters, folds: list[Fold]
) -> RefitNull | None:
    """The refitting null where it can change a verdict: few clusters, or a p-value near the line.

    A gap of eight standard errors needs none; nothing that never varies does; and beyond 2,500 questions the kernel is
    too large, and the groups too many for it to matter.
    """
    if not one.auditor.counts or not current.two_way or len(current) > 2500:
        return None
    if not folds or interval.standard_error == 0 or np.isnan(one.answers.credit[current.asked]).any():
        return None
    far = abs(interval.mean - current.chance) > 8 * interval.standard_error
    if far or (len(np.unique(clusters.index[current.asked])) > FEW and p > ALPHA):
        return None
    rows = one.answers.rows
    if one.auditor.features is not None:
        rows = (differences(current, one.auditor.features).rows,) * len(folds)
    labels = current.answers if current.kind == "label" else None
    return refit_null(rows, folds, clusters, asked=current.asked, labels=labels)


def _finding(current: Material, tried: Tried, evidence: Evidence, setting: Setting, *, full: bool) -> Finding:
    auditor, answers = tried.auditor, tried.answers
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
    torn = None
    if full and auditor.name in UNGROUPED and setting.groups.count < len(current):
        torn = _asked(current, auditor.answer(current, random_folds(len(current), seed=setting.seed)))
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
        pair_accuracy=tried.pair_accuracy,
        shipped=_mean(auditor.answer(current, setting.shipped).credit) if setting.shipped and full else None,
        ungrouped=_mean(torn.credit) if torn else None,
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
    scored = ~np.isnan(answers.credit)
    if current.kind == "pair":
        return float(np.mean(answers.credit[scored] == 1.0)) if scored.any() else None
    ids = [q.pair_id if asked else "" for q, asked in zip(current.questions, current.asked, strict=True)]
    keys = ids if any(ids) else [str(g) for g in groups.index]
    worst: dict[str, list[float]] = {}
    for key, credit in zip(keys, answers.credit, strict=True):
        if key and not np.isnan(credit):
            worst.setdefault(key, []).append(float(credit))
    twins = [min(credits) == 1.0 for credits in worst.values() if len(credits) > 1]
    return float(np.mean(twins)) if twins else None


def _examples(current: Material, answers: Answers, n: int = 5) -> tuple[str, ...]:
    """The right answers given most clearly, no text twice."""
    margin = np.where(answers.credit > 0.999, answers.margin, -np.inf)
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
