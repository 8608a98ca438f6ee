"""Which earlier head could speak to which later one, by queries, keys or values: composition of the weights.

Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", section "Two-layer attention-only models". A
weight score says what could compose, not what does; `probe trace` says what does.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Generator, Tensor

from probe.activations import HookedModel
from probe.models.transformer import Transformer
from probe.models.weights import head_weights
from probe.result import AnalysisResult, Provenance

SAMPLED = 256
"""Pairs of random matrices behind the baseline."""


def composition(first: Float[Tensor, "a b"], second: Float[Tensor, "b c"]) -> float:
    """||A B|| / (||A|| ||B||) in Frobenius norms (Elhage et al. 2021); 1 / sqrt(width) by chance at full rank.

    >>> composition(torch.tensor([[0.0, 1.0], [0.0, 0.0]]), torch.tensor([[0.0, 0.0], [1.0, 0.0]]))
    1.0
    """
    return float((first @ second).norm() / (first.norm() * second.norm()).clamp(min=1e-30))


def composition_baseline(d_model: int, d_head: int, seed: int = 0) -> tuple[float, float]:
    """Mean and 95th percentile of the score of two random matrices [d_model, d_model] of rank `d_head`.

    The mean is about 1 / sqrt(d_model) at every rank; the narrower the heads, the wider the scores spread around it.
    """
    generator = Generator().manual_seed(seed)

    def low_rank() -> Tensor:
        return torch.randn(d_model, d_head, generator=generator) @ torch.randn(d_head, d_model, generator=generator)

    scores = [composition(low_rank(), low_rank()) for _ in range(SAMPLED)]
    return float(np.mean(scores)), float(np.quantile(scores, 0.95))


def composition_scores(model: Transformer | HookedModel, provenance: Provenance) -> AnalysisResult:
    """Q-, K- and V-composition of every earlier head with every later one, beside random matrices of the same ranks.

    Row vectors: A is W_OV of the earlier head; B is W_QK, its transpose, or W_OV of the later one. Norms are folded.

    Returns:
        A row for each `sender, receiver, metric` (Q, K or V) with `value`, `control` (mean of the random pairs) and
        `control_95` (their 95th percentile).
    """
    weights = head_weights(model)
    n_layers, n_heads, d_model, d_head = weights.W_Q.shape
    chance, chance_95 = composition_baseline(d_model, d_head)
    qk = weights.W_Q @ weights.W_K.transpose(-1, -2)
    ov = weights.W_V @ weights.W_O
    rows = []
    for late in range(1, n_layers):
        for early in range(late):
            for a in range(n_heads):
                for b in range(n_heads):
                    reading = {"Q": qk[late, b], "K": qk[late, b].T, "V": ov[late, b]}
                    for kind, matrix in reading.items():
                        pair = {"sender": f"L{early}H{a}", "receiver": f"L{late}H{b}", "metric": kind}
                        value = composition(ov[early, a], matrix)
                        rows.append({**pair, "value": value, "control": chance, "control_95": chance_95})
    return AnalysisResult(
        name="composition",
        table=pd.DataFrame(rows, columns=["sender", "receiver", "metric", "value", "control", "control_95"]),
        unit="ratio of norms",
        maximum=1.0,
        floor=f"random matrices of rank {d_head}: mean {chance:.3f}, 95th percentile {chance_95:.3f}",
        convention="Frobenius norms, row vectors, norms folded; a weight score says what could compose, not what does",
        provenance=provenance,
        details={"sampled": SAMPLED},
    )
