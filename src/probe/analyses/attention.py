"""Attention of every head, and the scores it comes from: where a model looks. A map is no mechanism.

Weights and scores are those of one forward pass: weight = softmax over keys of score, score = q·k / sqrt(d_head)
(Vaswani et al. 2017, section 3.2.1). At layer 0 a query depends on its own word and index alone, so in two sentences
that share them the scores on shared keys are bit-equal; the weights need not be, because a changed word's key
competes in the softmax.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from probe.activations import HookedModel, cached, shape_of
from probe.errors import ProbeError
from probe.models.transformer import Transformer
from probe.result import AnalysisResult, Provenance


def attention(
    model: Transformer | HookedModel,
    sentences: Sequence[Sequence[str]],
    ids: Sequence[np.ndarray],
    provenance: Provenance,
) -> AnalysisResult:
    """Read every head's attention in each sentence.

    Args:
        model: ours, or any hooked model.
        sentences: the words, for `details`.
        ids: the word ids of each sentence.
        provenance: of the run.

    Returns:
        A table with a row for each `sentence, layer, head, query, key` with key <= query, and `metric` `weight` (share
        of attention) or `score` (logits before the softmax; absent for a uniform mixer).

    Raises:
        ProbeError: the model has no block that joins positions.
    """
    n_layers, n_heads = shape_of(model)
    if n_layers == 0 or (isinstance(model, Transformer) and model.config.mixer == "none"):
        raise ProbeError("this model has no attention to look at (it has no block that joins positions)")
    has_scores = not isinstance(model, Transformer) or model.config.mixer == "attention"
    metrics = {"weight": "hook_pattern", **({"score": "hook_attn_scores"} if has_scores else {})}
    names = [f"blocks.{layer}.attn.{hook}" for layer in range(n_layers) for hook in metrics.values()]
    frames = []
    for number, row in enumerate(ids):
        _, seen = cached(model, torch.from_numpy(row)[None], names)
        query, key = np.tril_indices(len(row))
        for layer in range(n_layers):
            for metric, hook in metrics.items():
                values = seen[f"blocks.{layer}.attn.{hook}"][0].cpu().numpy()[:, query, key]
                for head in range(n_heads):
                    columns = {"sentence": number, "layer": layer, "head": head, "query": query, "key": key}
                    frames.append(pd.DataFrame({**columns, "metric": metric, "value": values[head]}))
    return AnalysisResult(
        name="attention",
        table=pd.concat(frames, ignore_index=True),
        unit="share of attention (weight), logits (score)",
        maximum=1.0,
        floor="uniform attention: 1 / (query + 1)",
        convention="weight = softmax of score over the keys up to the query; positions count from 0",
        provenance=provenance,
        details={"sentences": [list(sentence) for sentence in sentences], "n_layers": n_layers, "n_heads": n_heads},
    )
