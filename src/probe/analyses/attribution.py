"""Direct logit attribution, and beside it the total effect: what a part says itself, and what is lost without it.

The logit difference is a sum of what every part wrote at the last position, once the last LayerNorm's scale is held
(Elhage et al. 2021, "Residual Stream"); that the parts sum to it is checked. A part's *total* effect is what the
difference loses when its output is the mean for its position: with it goes what others made of it, and some comes back
through the norm and later parts (self-repair: McGrath et al. 2023; Rushing & Nanda 2024). Direct and total are two
questions, so both stand in the table.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import torch
from jaxtyping import Float
from torch import Generator, Tensor

from probe.circuits import edges_of
from probe.contrasts import FEWEST, Contrast, answered
from probe.discovery import Bench
from probe.errors import ProbeError
from probe.intervals import cluster_interval
from probe.models.transformer import EPSILON, Transformer
from probe.paths import nodes_of
from probe.result import AnalysisResult, Provenance


@torch.no_grad()
def attribution(model: Transformer, contrast: Contrast, provenance: Provenance) -> AnalysisResult:
    """Attribute the logit difference of the clean sentences to nodes, over the pairs answered right both ways.

    Returns:
        Rows `node, metric, value, low, high` in logits; metric is `direct` (these sum to the difference; `biases` is
        the rest), `direct, beyond the mean` (what of it goes when the output is the mean for its position) and `total`.

    Raises:
        ProbeError: a model whose stream is no sum, or parts that do not sum to the difference.
    """
    contrast = answered(model, contrast)
    rows: list[dict[str, Any]] = []
    error = 0.0
    if len(contrast) >= FEWEST:
        bench = Bench(model, contrast, Generator().manual_seed(0))
        direction, constant = answer_direction(model, contrast, bench.own.final[:, -1])
        nodes, edges = nodes_of(model), edges_of(model)
        written = bench.own.written

        def said(values: Float[Tensor, "pair pos d_model"]) -> Float[Tensor, " pair"]:
            return (values[:, -1] * direction).sum(-1)

        direct = {str(node): said(written[node]) for node in nodes}
        rest = bench.own.final - torch.stack([written[node] for node in nodes]).sum(0)
        direct["biases"] = said(rest) + constant
        error = float((torch.stack(list(direct.values())).sum(0) - bench.whole).abs().max() / bench.whole.abs().max())
        if error > 1e-3:
            raise ProbeError(f"what the parts say does not sum to the logit difference (relative error {error:.1e})")
        without = torch.tensor([[edge.sender != node for edge in edges] for node in nodes])
        total = bench.whole - bench.metric(without, "mean by role")
        beyond = [said(written[node] - bench.absent["mean by role"][node]) for node in nodes]
        for metric, values in (
            ("direct", direct),
            ("direct, beyond the mean", {str(node): value for node, value in zip(nodes, beyond, strict=True)}),
            ("total", {str(node): value for node, value in zip(nodes, total, strict=True)}),
        ):
            for node, by_pair in values.items():
                low, high = cluster_interval(by_pair.tolist(), contrast.groups)
                rows.append({"node": node, "metric": metric, "value": float(by_pair.mean()), "low": low, "high": high})
    return AnalysisResult(
        name=f"attribution-{contrast.name}",
        table=pd.DataFrame(rows),
        unit="logits",
        maximum=None,
        floor="0: a part that says nothing of the answer",
        convention="last LayerNorm's scale held for direct effects; total: output replaced by its mean for its place, "
        "everything after it computed anew; 95 % cluster bootstrap over noun pairs",
        provenance=provenance,
        details={"contrast": contrast.name, "pairs": len(contrast), "relative error of the sum": error},
    )


def answer_direction(
    model: Transformer, contrast: Contrast, final: Float[Tensor, "pair d_model"]
) -> tuple[Float[Tensor, "pair d_model"], Float[Tensor, " pair"]]:
    """The direction of the stream that raises the answer's logit over the other's, and what is added whatever it holds.

    With a last LayerNorm of weight w and scale s (held at `final`'s): the unembedding's difference u becomes
    (w u - mean(w u)) / s, because the norm takes the mean away.
    """
    u = (model.W_U[:, contrast.answer] - model.W_U[:, contrast.other_answer]).T
    constant = torch.zeros(len(contrast))
    if model.b_U is not None:
        constant = constant + model.b_U[contrast.answer] - model.b_U[contrast.other_answer]
    norm = model.ln_final
    if norm is None:
        return u, constant
    if norm.b is not None and norm.w is not None:
        constant, u = constant + u @ norm.b, u * norm.w
    spread = (final - final.mean(-1, keepdim=True)).pow(2).mean(-1, keepdim=True)
    return (u - u.mean(-1, keepdim=True)) / (spread + EPSILON).sqrt(), constant
