"""The one learner behind the trained auditors: choose among options by a weighted sum of their features.

A conditional logit (McFadden 1974): P(option) ∝ exp(w · features(option)). With two options it is logistic regression
on the *difference* of their features, without an intercept, so that nothing but the features can tell the options
apart, neither their order nor anything they share. With labels it is logistic regression on the features of the text.
The learner is scikit-learn's; L2 with C = 1 throughout, chosen beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

from probe.audit.groups import Fold
from probe.audit.material import Material

Features = dict[str, float]
FeatureMap = Callable[[Material, int], Sequence[Features]]
"""(material, question) -> the features of each option; of the text alone where the question is a label."""
Rows = Any
"""A scipy.sparse.csr_matrix; its type stubs know no indexing."""
TIE = 1e-9
MANY = 10
"""Beyond this many classes naive Bayes stands in for logistic regression, a hundred times faster."""
ALWAYS = "(always)"


@dataclass(frozen=True, kw_only=True)
class Answers:
    """What an auditor answered, out of fold."""

    credit: NDArray[np.float64]
    """1 right, 0 wrong, 1/k for a tie of k that the right option is in; NaN where the question was not tested."""
    probability: NDArray[np.float64]
    """The probability given to the right option; NaN where not tested."""
    margin: NDArray[np.float64]
    """How clearly the right option was preferred, in logits; NaN where not tested."""
    weights: tuple[tuple[str, float], ...] = ()
    """The heaviest features with their weight, learned on all questions."""
    note: str = ""
    rows: tuple[Rows, ...] = ()
    """For each fold the right-minus-wrong rows it was learned on, where these differ from fold to fold."""


def nothing(n: int) -> Answers:
    """Answers to no question."""
    return Answers(credit=np.full(n, np.nan), probability=np.full(n, np.nan), margin=np.full(n, np.nan))


@dataclass(frozen=True, kw_only=True)
class Design:
    """Features as one sparse matrix, a column a name."""

    rows: Rows
    names: list[str]


def differences(material: Material, features: FeatureMap, *, at_least: int = 2, keep: bool = True) -> Design:
    """One row a question: features of the right option minus those of the wrong one. Rare features are dropped.

    A feature in fewer than `at_least` rows can't be learned in one fold and used in another. `keep` remembers the
    matrix for the next auditor with the same map.
    """
    whole = material.designs.get(features)
    if whole is None:
        whole = _differences(material, features)
        if keep:
            material.designs[features] = whole
    return _pruned(whole.rows, whole.names, at_least)


def _differences(material: Material, features: FeatureMap) -> Design:
    index: dict[str, int] = {}
    data: list[float] = []
    columns: list[int] = []
    starts = [0]
    for i in range(len(material)):
        row: dict[str, float] = {}
        answer = int(material.answers[i])
        if material.kind == "label":
            sign = 1.0 if answer else -1.0
            for name, value in features(material, i)[0].items():
                row[name] = sign * value
            row[ALWAYS] = sign
        else:
            options = features(material, i)
            row = dict(options[answer])
            for name, value in options[1 - answer].items():
                row[name] = row.get(name, 0.0) - value
        for name, value in row.items():
            if value:
                columns.append(index.setdefault(name, len(index)))
                data.append(value)
        starts.append(len(columns))
    shape = (len(material), max(1, len(index)))
    entries = (np.array(data, dtype=float), np.array(columns, dtype=np.int64), np.array(starts))
    return Design(rows=sparse.csr_matrix(entries, shape=shape), names=list(index) or [ALWAYS])


def _pruned(matrix: Rows, names: list[str], at_least: int) -> Design:
    counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
    keep = np.flatnonzero(counts >= at_least)
    return Design(rows=sparse.csr_matrix(matrix[:, keep]), names=[names[j] for j in keep])


def choose(material: Material, folds: Sequence[Fold], features: FeatureMap) -> Answers:
    """Learn on each fold's train side, answer its test side."""
    if material.two_way:
        return _choose_two(material, folds, features)
    if material.kind == "label":
        return _choose_class(material, folds, features)
    return choose_many(material, folds, features)


def fit_two(rows: Rows, seed: int = 0) -> NDArray[np.float64]:
    """Weights of the conditional logit on right-minus-wrong rows.

    Half of the rows are negated, because scikit-learn wants two classes; without an intercept nothing else changes.
    """
    n = rows.shape[0]
    if n < 2 or rows.shape[1] == 0 or rows.nnz == 0:
        return np.zeros(rows.shape[1])
    sign = np.ones(n)
    sign[np.random.default_rng(seed).permutation(n)[: n // 2]] = -1.0
    flipped = sparse.csr_matrix(rows.multiply(sign[:, None]))
    model: Any = LogisticRegression(C=1.0, solver="liblinear", fit_intercept=False, max_iter=200, tol=1e-4)
    return np.asarray(model.fit(flipped, sign).coef_)[0]


def _choose_two(material: Material, folds: Sequence[Fold], features: FeatureMap) -> Answers:
    design = differences(material, features)
    n = len(material)
    margin = np.full(n, np.nan)
    for train, test in folds:
        margin[test] = design.rows[test] @ fit_two(design.rows[train])
    key = (features, "weights")
    if key not in material.designs:
        material.designs[key] = heaviest(design.names, fit_two(design.rows)) if design.names else ()
    return from_margin(margin, weights=material.designs[key])


def from_margin(margin: NDArray[np.float64], weights: tuple[tuple[str, float], ...] = (), note: str = "") -> Answers:
    """Answers of a two-way choice from the logit of the right option over the wrong one."""
    credit = np.where(np.isnan(margin), np.nan, (margin > TIE) + 0.5 * (np.abs(margin) <= TIE))
    probability = 1 / (1 + np.exp(-np.clip(margin, -50, 50)))
    return Answers(credit=credit, probability=probability, margin=margin, weights=weights, note=note)


def heaviest(names: Sequence[str], weights: NDArray[np.float64], n: int = 8) -> tuple[tuple[str, float], ...]:
    """The features that weigh most, for or against."""
    order = [int(j) for j in np.argsort(-np.abs(weights), kind="stable")[:n]]
    return tuple((names[j], float(weights[j])) for j in order if abs(weights[j]) > 1e-6)


def _choose_class(material: Material, folds: Sequence[Fold], features: FeatureMap) -> Answers:
    index: dict[str, int] = {}
    entries: list[tuple[int, int, float]] = []
    for i in range(len(material)):
        entries += [(i, index.setdefault(name, len(index)), value) for name, value in features(material, i)[0].items()]
    i, j, value = (np.array(part) for part in zip(*entries, strict=True)) if entries else (np.zeros(0, int),) * 3
    shape = (len(material), max(1, len(index)))
    design = _pruned(sparse.csr_matrix((value.astype(float), (i, j)), shape=shape), list(index) or [ALWAYS], 2)
    n, classes = len(material), len(material.classes)
    credit, probability, margin = (np.full(n, np.nan) for _ in range(3))
    for train, test in folds:
        scores = _class_scores(design.rows[train], material.answers[train], design.rows[test], classes)
        right = scores[np.arange(len(test)), material.answers[test]]
        best = scores.max(axis=1)
        ties = (scores >= best[:, None] - TIE).sum(axis=1)
        credit[test] = np.where(right >= best - TIE, 1 / ties, 0.0)
        probability[test] = np.exp(right)
        margin[test] = right - np.log(1 / classes)
    return Answers(credit=credit, probability=probability, margin=margin)


def _class_scores(rows: Rows, answers: NDArray[np.int64], test: Rows, classes: int) -> NDArray[np.float64]:
    """Log P(class); a class unseen in training keeps what add-one smoothing would leave it."""
    floor = np.log(1 / (len(answers) + classes))
    scores = np.full((test.shape[0], classes), floor)
    seen = np.unique(answers)
    if len(seen) == 1 or rows.shape[1] == 0:
        counts = np.bincount(answers, minlength=classes) + 1
        return np.tile(np.log(counts / counts.sum()), (test.shape[0], 1))
    if classes > MANY:
        model: Any = MultinomialNB(alpha=0.1)
    else:
        model = LogisticRegression(C=1.0, solver="lbfgs", max_iter=500, tol=1e-4)
    model.fit(rows, answers)
    scores[:, model.classes_] = np.maximum(model.predict_log_proba(test), floor * 4)
    return scores


def choose_many(material: Material, folds: Sequence[Fold], features: FeatureMap) -> Answers:
    """More than two options, or a varying number: each option a row, right or not; the best row of a question wins."""
    index: dict[str, int] = {}
    entries: list[tuple[int, int, float]] = []
    owner: list[int] = []
    right: list[bool] = []
    for i in range(len(material)):
        for k, option in enumerate(features(material, i)):
            entries += [(len(owner), index.setdefault(name, len(index)), value) for name, value in option.items()]
            owner.append(i)
            right.append(k == material.answers[i])
    shape = (len(owner), max(1, len(index)))
    i, j, value = (np.array(part) for part in zip(*entries, strict=True)) if entries else (np.zeros(0, int),) * 3
    design = _pruned(sparse.csr_matrix((value.astype(float), (i, j)), shape=shape), list(index) or [ALWAYS], 2)
    owners, rights = np.array(owner), np.array(right)
    scores = np.full(len(owners), np.nan)
    for train, test in folds:
        inside, outside = np.isin(owners, train), np.isin(owners, test)
        if design.rows.shape[1] == 0:
            scores[outside] = 0.0
            continue
        model = LogisticRegression(C=1.0, solver="liblinear", max_iter=200)
        scores[outside] = design.rows[outside] @ np.asarray(model.fit(design.rows[inside], rights[inside]).coef_)[0]
    return from_scores(len(material), owners, rights, scores)


def from_scores(n: int, owners: NDArray[np.int64], rights: NDArray[Any], scores: NDArray[np.float64]) -> Answers:
    """Answers from one score per option: the best of a question wins, equal best ones share."""
    credit, probability, margin = (np.full(n, np.nan) for _ in range(3))
    starts = np.searchsorted(owners, np.arange(n + 1))
    for i in range(n):
        part = slice(starts[i], starts[i + 1])
        own = scores[part]
        if own.size == 0 or np.isnan(own).any():
            continue
        best = own >= own.max() - TIE
        credit[i] = (best & rights[part]).sum() / best.sum()
        likely = np.exp(own - own.max())
        probability[i] = float((likely / likely.sum())[rights[part]].sum())
        others = own[~rights[part]]
        margin[i] = float(own[rights[part]][0] - others.max()) if others.size else 0.0
    return Answers(credit=credit, probability=probability, margin=margin)
