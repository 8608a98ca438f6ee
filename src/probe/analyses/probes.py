"""Linear probes: what can be read off every layer and position, and whether the model uses it there.

A probe shows presence, not use. So its accuracy stands beside those of a *control task*, whose labels are dealt by lot
to word types (Hewitt & Liang 2019: selectivity = accuracy - control accuracy), of an untrained model, and of a probe
that was trained on sentences with other words; beside the bits that its labels cost in an online code (Voita & Titov
2020); and beside what happens to the answer when only that which stands along the probe's directions is swapped, or
erased.

A position before the word that gives a target its value cannot know it, and has no probe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from probe.activations import Site, cached, shape_of, sweep
from probe.intervals import cluster_intervals
from probe.logistic import Probes, codelengths, fitted
from probe.models.transformer import Transformer
from probe.result import AnalysisResult, Provenance
from probe.swaps import Row, Swap, shares

RESAMPLES = 1_000
"""Of each interval; there are thousands."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is looked for; labels are of the training sentences, then the held-out ones."""

    name: str
    labels: Int[Tensor, " n"]
    n_labels: int
    since: int
    """The first position that can know it."""
    control: Int[Tensor, " n"] | None
    """Labels of the control task. None where the label is the word itself: there it would be the same task under other
    names, and selectivity 0 by construction."""
    splits: Mapping[str, tuple[Int[Tensor, " some"], Int[Tensor, " others"]]]
    """Name -> sentences to fit on and to score on, which share none of the words that the name tells of."""
    swap: Swap
    """What the answer must become when this is swapped."""


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """Prompts of one length: those that probes are fitted on, then those that they are scored on."""

    tokens: Int[Tensor, "n pos"]
    n_train: int
    groups: Sequence[str]
    """What is resampled together for intervals."""
    roles: Mapping[int, str]


Features = list[tuple[list[Site], Float[Tensor, "site n feature"]]]


def probes(
    models: Mapping[str, Transformer],
    sentences: Sentences,
    targets: Sequence[Target],
    provenance: Provenance,
    seed: int = 0,
) -> AnalysisResult:
    """Fit and score a probe at every site, for every target.

    Args:
        models: condition -> model: `trained`, and `untrained` as the baseline.
        sentences: to fit and to score on.
        targets: what is looked for.
        provenance: of the run.
        seed: of the order in which labels are sent, and of the random directions.

    Returns:
        `accuracy`, `selectivity` (trained), `codelength`, and accuracy on each split (`accuracy, other nouns`) of every
        site; of the residual stream also `interchange along the probe` and `lost by erasure`. The control of the first
        ones is the control task, that of the last two are random directions of the same number.
    """
    generator = Generator().manual_seed(seed)
    rows: list[Row] = []
    seen = {condition: _activations(model, sentences.tokens) for condition, model in models.items()}
    for target in targets:
        order = torch.randperm(sentences.n_train, generator=generator)
        for condition, activations in seen.items():
            for sites, features in _features(activations, target.since):
                fit, measured = _measured(sites, features, sentences, target, condition, order)
                rows += measured
                if condition == "trained" and sites[0].head is None:
                    bases = dict(zip(sites, fit.directions(), strict=True))
                    rows += _along(models["trained"], target.swap, bases, generator)
    return AnalysisResult(
        name="probes",
        table=pd.DataFrame(rows).astype({"head": "Int64"}),
        unit="share of held-out sentences or pairs; bits (codelength)",
        maximum=1.0,
        floor="the most frequent label always (accuracies), a uniform code (codelength), nothing swapped (interchange)",
        convention="multinomial logistic regression, squared weights held back by 1, fitted on the run's training "
        "sentences, scored on its held-out ones, whose noun pairs were not trained in this order: a probe that learns "
        "pairs falls below its floor; 95 % cluster bootstrap over noun pairs",
        provenance=provenance,
    )


def _activations(model: Transformer, tokens: Tensor) -> list[tuple[Site, Tensor]]:
    """The stream before each layer and after the last [n, pos, d_model], and heads' outputs [n, pos, head, d_head]."""
    n_layers, _ = shape_of(model)
    sites = [Site(kind="resid_pre", layer=layer) for layer in range(n_layers)]
    sites.append(Site(kind="resid_post", layer=n_layers - 1))
    if model.config.mixer == "attention":
        sites += [Site(kind="z", layer=layer) for layer in range(n_layers)]
    _, seen = cached(model, tokens, [site.name for site in sites])
    return [(site, seen[site.name]) for site in sites]


def _features(activations: Sequence[tuple[Site, Tensor]], since: int) -> Features:
    """Sites with a position and head, and their features; those of one width together."""
    together: Features = []
    for headed in (False, True):
        sites, columns = [], []
        for site, activation in activations:
            if (site.kind == "z") != headed:
                continue
            by_head = activation if headed else activation.unsqueeze(2)
            for position in range(since, by_head.shape[1]):
                for head in range(by_head.shape[2]):
                    chosen = head if headed else None
                    sites.append(Site(kind=site.kind, layer=site.layer, head=chosen, position=position))
                    columns.append(by_head[:, position, head])
        if sites:
            together.append((sites, torch.stack(columns)))
    return together


def _measured(
    sites: Sequence[Site], features: Tensor, sentences: Sentences, target: Target, condition: str, order: Tensor
) -> tuple[Probes, list[Row]]:
    """The probes of some sites, and their scores; of heads' outputs only accuracy and selectivity, which is fast."""
    n = sentences.n_train
    held_out, groups = sentences.groups[n:], [sentences.groups[int(i)] for i in order]
    rows: list[Row] = []

    def add(metric: str, condition: str, values: Tensor, of: Sequence[str], floor: float, times: int = 1) -> None:
        """Rows of values [site, n]: mean and interval, `times` so much."""
        array = values.double().numpy()
        means, (low, high) = array.mean(1), cluster_intervals(array, of, resamples=RESAMPLES)
        for site, *interval in zip(sites, means * times, low * times, high * times, strict=True):
            place = {"kind": site.kind, "layer": site.layer, "head": site.head, "position": site.position}
            place["role"] = sentences.roles[site.position or 0]
            what = {"target": target.name, "metric": metric, "condition": condition}
            value = dict(zip(("value", "low", "high"), map(float, interval), strict=True))
            rows.append({**place, **what, **value, "n": array.shape[1], "floor": floor})

    def scored(labels: Tensor, condition: str) -> tuple[Probes, Tensor]:
        fit = fitted(features[:, :n], labels[:n], target.n_labels)
        hits = fit.right(features[:, n:], labels[n:])
        add("accuracy", condition, hits, held_out, _most_frequent(labels[n:]))
        if sites[0].head is None:
            bits = codelengths(features[:, order], labels[order], target.n_labels)
            add("codelength", condition, bits, groups, n * float(np.log2(target.n_labels)), times=n)
        return fit, hits

    fit, hits = scored(target.labels, condition)
    if condition == "trained" and target.control is not None:
        _, by_lot = scored(target.control, "control")
        add("selectivity", condition, hits - by_lot, held_out, 0.0)
    if sites[0].head is not None:
        return fit, rows
    for name, (some, others) in target.splits.items():
        elsewhere = fitted(features[:, some], target.labels[some], target.n_labels)
        hits = elsewhere.right(features[:, others], target.labels[others])
        of = [sentences.groups[int(i)] for i in others]
        add(f"accuracy, {name}", condition, hits, of, _most_frequent(target.labels[others]))
    return fit, rows


def _most_frequent(labels: Tensor) -> float:
    """The share of the most frequent label."""
    return float(labels.bincount().max() / len(labels))


def _along(model: Transformer, swap: Swap, bases: Mapping[Site, Tensor], generator: Generator) -> list[Row]:
    """Swap, or erase, only what stands along the probes' directions [d_model, rank]; random directions as the control.

    `interchange along the probe`: h + (h_source - h) B Bᵀ; the share of pairs whose answer is the predicted one.
    `lost by erasure`: h - (h - mean) B Bᵀ, the mean over the bases; the share of bases whose right answer is gone.
    """
    sites, names = list(bases), sorted({site.name for site in bases})
    logits, own = cached(model, swap.base, names)
    _, other = cached(model, swap.source, names)
    alone = logits[:, -1].argmax(-1)
    rows: list[Row] = []
    for condition in ("trained", "control"):
        moved, erased = ({name: value.clone() for name, value in own.items()} for _ in range(2))
        for site, basis in bases.items():
            if condition == "control":
                basis, _ = torch.linalg.qr(torch.randn(basis.shape, generator=generator))
            here, there = own[site.name][:, site.position], other[site.name][:, site.position]
            moved[site.name][:, site.position] = here + (there - here) @ basis @ basis.T
            erased[site.name][:, site.position] = here - (here - here.mean(0)) @ basis @ basis.T
        common: dict[str, Any] = {"head": None, "target": swap.variable, "condition": condition}
        became = sweep(model, swap.base, sites, moved).argmax(-1) == swap.predicted
        floor = float((alone == swap.predicted).double().mean())
        rows += shares(sites, became, swap, **common, metric="interchange along the probe", floor=floor)
        lost = (sweep(model, swap.base, sites, erased).argmax(-1) != swap.answer) & (alone == swap.answer)
        rows += shares(sites, lost, swap, **common, metric="lost by erasure", floor=0.0)
    return rows
