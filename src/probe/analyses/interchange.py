"""Interchange interventions on declared variables: does the model answer what a causal model says it must?

At one place the run on a *base* sentence sees the activation of a *source* sentence (Geiger et al. 2021). If that place
carries one variable and no other, the answer becomes the one that the causal model gives for the base with this
variable alone taken from the source. Where a place carries several, a *subspace* of it may still carry one: such a
subspace is learned (distributed alignment search, Geiger et al. 2024), beside two controls that must fail, because a
rotation of many dimensions can be made to say what no part of the model means (Arora et al. 2024).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor

from probe.activations import Site, cached, resumed, sweep
from probe.models.transformer import Transformer
from probe.result import AnalysisResult, Provenance
from probe.swaps import Row, Swap, shares, stream_sites

EPOCHS, BATCH, LEARNING_RATE = 20, 32, 0.02
"""Of a learned subspace. Fewer steps, or larger ones, miss the subspaces of the hand-made models."""
PILOT = 3
"""Epochs after which the place is chosen."""
SCREENED = 64
"""Training pairs by which places that do nothing are left out."""


def interchange(models: Mapping[str, Transformer], swaps: Sequence[Swap], provenance: Provenance) -> AnalysisResult:
    """Swap the residual stream at every layer and position, by itself, and count the answers.

    Args:
        models: condition -> model: `trained`, and `untrained` as the control.
        swaps: the variables, over held-out sentences.
        provenance: of the run.

    Returns:
        Rows `kind, layer, position, role, variable, metric, condition, floor, value, low, high, n`. `value` is the
        share of pairs in which the word with the largest logit is the predicted one (`interchange accuracy`), still the
        base's (`answer unchanged`), or the source's (`source's answer`); `floor` the share when nothing is swapped.
    """
    rows: list[Row] = []
    for condition, model in models.items():
        for swap in swaps:
            sites = stream_sites(model, list(swap.roles))
            said, alone = _said(model, swap.base, swap.source, sites), _alone(model, swap.base)
            wanted = {"interchange accuracy": swap.predicted, "answer unchanged": swap.answer}
            for metric, answer in {**wanted, "source's answer": swap.source_answer}.items():
                floor = float((alone == answer).double().mean())
                common = {"variable": swap.variable, "metric": metric, "condition": condition, "floor": floor}
                rows += shares(sites, said == answer, swap, **common)
    return _collected("interchange", rows, "", provenance)


def subspaces(
    models: Mapping[str, Transformer],
    training: Sequence[Swap],
    held_out: Sequence[Swap],
    provenance: Provenance,
    seed: int = 0,
) -> AnalysisResult:
    """For each variable learn the directions of one place whose interchange gives the predicted answers.

    Distributed alignment search by TransformerLens's `fit_das`, with one dimension less than the variable has values.
    The place is the one with the smallest loss after a few epochs, of those where swapping everything changes most
    answers, words aside; it is chosen on training pairs, and accuracy is that on held-out pairs.

    Returns:
        `subspace accuracy` in three conditions: `trained`; `control`, arbitrary labels, where each word that gives the
        variable its value gets an answer by lot, the same in training and in held-out pairs; and `untrained`. A
        variable has no rows where no place but the words matters.
    """
    from transformer_lens.tools.analysis.interchange import arbitrary_targets

    rows: list[Row] = []
    for train, test in zip(training, held_out, strict=True):
        trained, untrained = models["trained"], models["untrained"]
        candidates = _places_that_matter(trained, train)
        if not candidates:
            continue
        pilots = [_fit(trained, site, train, train.predicted, PILOT, seed)[0] for site in candidates]
        site = candidates[min(range(len(pilots)), key=pilots.__getitem__)]
        nouns = torch.cat([train.answer, train.source_answer]).unique()
        by_lot = [nouns[arbitrary_targets(swap.keys.tolist(), len(nouns), seed)] for swap in (train, test)]
        fits = {
            "trained": (trained, train.predicted, test.predicted),
            "control": (trained, *by_lot),
            "untrained": (untrained, train.predicted, test.predicted),
        }
        for condition, (model, targets, wanted) in fits.items():
            _, basis = _fit(model, site, train, targets, EPOCHS, seed)
            own, other = (cached(model, tokens, [site.name])[1][site.name] for tokens in (test.base, test.source))
            said = sweep(model, test.base, [site], {site.name: own + (other - own) @ basis @ basis.T}).argmax(-1)
            floor = float((_alone(model, test.base) == wanted).double().mean())
            common = {"variable": test.variable, "metric": "subspace accuracy", "condition": condition}
            common |= {"dimension": basis.shape[1], "of": basis.shape[0]}
            rows += shares([site], said == wanted, test, **common, floor=floor)
    return _collected("subspaces", rows, "; a subspace that was not learned may be there all the same", provenance)


def _collected(name: str, rows: Sequence[Row], but: str, provenance: Provenance) -> AnalysisResult:
    return AnalysisResult(
        name=name,
        table=pd.DataFrame(rows),
        unit="share of pairs",
        maximum=1.0,
        floor="the share when nothing is swapped: 0 where the model answers right",
        convention="largest logit of the whole vocabulary; held-out pairs whose prediction is not the base's answer "
        "nor, but for the answer itself, the source's; 95 % cluster bootstrap over the bases' noun pairs" + but,
        provenance=provenance,
    )


def _said(model: Transformer, base: Tensor, source: Tensor, sites: Sequence[Site]) -> Int[Tensor, "site pair"]:
    """The word with the largest logit, each site by itself taken from the source."""
    _, sources = cached(model, source, sorted({site.name for site in sites}))
    return sweep(model, base, sites, sources).argmax(-1)


def _alone(model: Transformer, base: Tensor) -> Int[Tensor, " pair"]:
    """The word with the largest logit, nothing swapped."""
    return cached(model, base, [])[0][:, -1].argmax(-1)


def _places_that_matter(model: Transformer, swap: Swap) -> list[Site]:
    """Places, words aside, where swapping everything changes most answers."""
    base, source = swap.base[:SCREENED], swap.source[:SCREENED]
    sites = [site for site in stream_sites(model, list(swap.roles)) if (site.kind, site.layer) != ("resid_pre", 0)]
    changed = (_said(model, base, source, sites) != _alone(model, base)).double().mean(-1)
    return [site for site, share in zip(sites, changed.tolist(), strict=True) if share > 0.5]


def _fit(model: Transformer, site: Site, train: Swap, targets: Tensor, epochs: int, seed: int) -> tuple[float, Tensor]:
    """Loss on the training pairs and basis [d_model, dimension] of the subspace that makes them answer `targets`."""
    from transformer_lens import HookedRootModule
    from transformer_lens.hook_points import HookPoint
    from transformer_lens.tools.analysis.interchange import fit_das

    class FromLayer(HookedRootModule):
        """The model from the site's layer on, as far as the answer depends on it; its input is the stream there."""

        def __init__(self) -> None:
            super().__init__()
            self.model, self.site = model, HookPoint()
            self.setup()

        def forward(self, streams: Tensor) -> Tensor:
            return resumed(self.model, streams, site.layer, {site.name: self.site})

    rest = FromLayer().eval()
    entry = f"blocks.{site.layer}.hook_resid_pre"
    base, source = (cached(model, tokens, [entry])[1][entry] for tokens in (train.base, train.source))
    # counted from the end: past its attention the last block works for the last position alone
    position = torch.full((len(base),), (site.position or 0) - base.shape[1])
    fit = fit_das(
        rest, "site", base, source, targets, rest, rank=min(train.n_values - 1, base.shape[-1]),
        base_positions=position, source_positions=position, epochs=epochs, batch_size=BATCH, lr=LEARNING_RATE,
        seed=seed,
    )  # fmt: skip
    return fit.losses[-1], fit.basis
