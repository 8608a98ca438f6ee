"""Logit lens: what the model would say if it stopped here (nostalgebraist 2020, "interpreting GPT: the logit lens").

The residual stream of every layer and position goes through the last LayerNorm and the unembedding. It reads what
stands in the stream *in the directions of the output*; what is stored in others it does not see, so a lens that reads
nothing is no proof that nothing is there.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import torch

from probe.activations import cached
from probe.contrasts import Contrast, difference
from probe.intervals import cluster_interval
from probe.models.transformer import Transformer
from probe.result import AnalysisResult, Provenance


@torch.no_grad()
def lens(model: Transformer, contrast: Contrast, provenance: Provenance) -> AnalysisResult:
    """Read the stream before the first layer, and after attention and MLP of every layer.

    Returns:
        Rows `kind, layer, position, role, metric, value, low, high`; metric is `logit difference` (answer of the
        sentence minus that of its pair's other sentence, in logits), `probability` and `rank` of the answer (1: first).
    """
    config = model.config
    stages = [("resid_pre", 0)]
    for layer in range(config.n_layers):
        stages += [("resid_mid", layer)] * (config.d_mlp > 0) + [("resid_post", layer)]
    _, seen = cached(model, contrast.clean, [f"blocks.{layer}.hook_{kind}" for kind, layer in stages])
    rows: list[dict[str, Any]] = []
    for kind, layer in stages:
        logits = model.unembedded(seen[f"blocks.{layer}.hook_{kind}"])  # pair pos d_vocab
        for position, role in sorted(contrast.roles.items()):
            here = logits[:, position]
            answer = here.gather(1, contrast.answer[:, None])
            metrics = {
                "logit difference": difference(here, contrast),
                "probability": here.softmax(-1).gather(1, contrast.answer[:, None])[:, 0],
                "rank": 1.0 + (here > answer).sum(-1),
            }
            for metric, values in metrics.items():
                low, high = cluster_interval(values.tolist(), contrast.groups)
                place = {"kind": kind, "layer": layer, "position": position, "role": role, "metric": metric}
                rows.append({**place, "value": float(values.float().mean()), "low": low, "high": high})
    return AnalysisResult(
        name="lens",
        table=pd.DataFrame(rows),
        unit="logits (difference), probability, rank",
        maximum=None,
        floor=f"difference 0, probability 1/{config.d_vocab}, rank {(config.d_vocab + 1) / 2:g}: a stream that says "
        "nothing",
        convention="last LayerNorm and unembedding on the stream as it stands; 95 % cluster bootstrap over noun pairs",
        provenance=provenance,
        details={"contrast": contrast.name, "pairs": len(contrast), "roles": dict(contrast.roles)},
    )
