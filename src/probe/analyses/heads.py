"""What each head does, in scores with a floor and a maximum: previous token, duplicate, first token, induction.

Scores are those of Olsson et al. 2022 ("In-context Learning and Induction Heads", appendix) on random sequences of
distinct tokens that are repeated once. The period is drawn anew for every sequence, so that no head scores by a fixed
distance; the best fixed distance is reported beside the score, and a head gets a name only where its score stands above
that control. With them the copying and composition scores of the weights (Elhage et al. 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from probe.activations import HookedModel, cached, shape_of
from probe.errors import ProbeError
from probe.models.transformer import Transformer, folded
from probe.result import AnalysisResult, Provenance

NAMED_FROM = 0.5
"""A head is named after a score from here on, if the score also exceeds its control."""


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """Random sequences of `period` distinct tokens, twice."""

    tokens: Int[Tensor, "sequence pos"]
    period: int


def repeats(d_vocab: int, longest: int, n: int, generator: Generator) -> list[Repeats]:
    """Draw `n` sequences of every possible period from 3 to `longest` / 2 (at most nine, evenly spaced).

    A period of 1 or 2 cannot identify induction: there the previous-token head looks where an induction head does.

    Raises:
        ProbeError: the model's sentences are too short for a period of 3.
    """
    largest = min(longest // 2, d_vocab)
    if largest < 3:
        raise ProbeError(f"sentences of {longest} words hold no repeated sequence of period 3; induction can't be told")
    periods = sorted({round(p) for p in np.linspace(3, largest, 9)})
    drawn = []
    for period in periods:
        rows = [torch.randperm(d_vocab, generator=generator)[:period] for _ in range(n)]
        drawn.append(Repeats(tokens=torch.stack(rows).repeat(1, 2), period=period))
    return drawn


def previous_token(pattern: Float[Tensor, "... query key"]) -> Float[Tensor, "..."]:
    """Mean of A[i, i-1] over i >= 1.

    >>> previous_token(torch.eye(3).roll(1, 0)).item()
    1.0
    """
    return pattern.diagonal(-1, -2, -1).mean(-1)


def first_token(pattern: Float[Tensor, "... query key"]) -> Float[Tensor, "..."]:
    """Mean of A[i, 0] over i >= 1."""
    return pattern[..., 1:, 0].mean(-1)


def duplicate_token(pattern: Float[Tensor, "... query key"], period: int) -> Float[Tensor, "..."]:
    """Mean attention of the second copy to the same token in the first: A[T+i, i]."""
    return pattern.diagonal(-period, -2, -1).mean(-1)


def induction(pattern: Float[Tensor, "... query key"], period: int) -> Float[Tensor, "..."]:
    """Mean attention of the second copy to what followed the same token before: A[T+i, i+1] (prefix matching).

    A head that looks at the previous token scores 0, one that looks at the same token too, for every period from 3:

    >>> perfect = torch.zeros(6, 6)
    >>> perfect[3, 1] = perfect[4, 2] = perfect[5, 3] = 1.0
    >>> induction(perfect, period=3).item(), duplicate_token(perfect, period=3).item()
    (1.0, 0.0)
    """
    return pattern.diagonal(1 - period, -2, -1)[..., 1:].mean(-1)


def uniform_floor(score: str, period: int) -> float:
    """What attention 1 / (query + 1) scores on a sequence of two copies of `period` tokens."""
    uniform = torch.ones(2 * period, 2 * period).tril()
    uniform = uniform / uniform.sum(-1, keepdim=True)
    return float(_SCORES[score](uniform, period))


_SCORES = {
    "previous token": lambda pattern, period: previous_token(pattern),
    "first token": lambda pattern, period: first_token(pattern),
    "duplicate token": duplicate_token,
    "induction": induction,
}


def head_scores(
    model: Transformer | HookedModel, d_vocab: int, longest: int, provenance: Provenance, n: int = 32, seed: int = 0
) -> AnalysisResult:
    """Score every head.

    Args:
        model: ours, or any hooked model.
        d_vocab: number of tokens to draw from.
        longest: the longest sequence that the model takes.
        provenance: of the run.
        n: sequences a period.
        seed: of the sequences.

    Returns:
        A row for each `layer, head, metric` with `value`, `floor` (uniform attention), `maximum`, `control` (the best
        fixed distance where the period varies, else the floor) and `name`, where score and control agree on one.
    """
    n_layers, n_heads = shape_of(model)
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(n_layers)]
    by_score: dict[str, list[Tensor]] = {score: [] for score in _SCORES}
    offsets: list[Tensor] = []
    drawn = repeats(d_vocab, longest, n, Generator().manual_seed(seed))
    for sample in drawn:
        _, seen = cached(model, sample.tokens, names)
        pattern = torch.stack([seen[name] for name in names]).mean(1)  # layer head query key, mean over sequences
        for score, function in _SCORES.items():
            by_score[score].append(function(pattern, sample.period))
        second = pattern[..., sample.period :, :]
        reach = torch.zeros(n_layers, n_heads, longest)
        for distance in range(longest):
            queries = [q for q in range(sample.period) if q + sample.period >= distance]
            cells = [second[..., q, q + sample.period - distance] for q in queries]
            reach[..., distance] = torch.stack(cells).mean(0) if cells else 0.0
        offsets.append(reach)
    control = torch.stack(offsets).mean(0).amax(-1)
    rows = []
    for score, values in by_score.items():
        mean = torch.stack(values).mean(0)
        floor = float(np.mean([uniform_floor(score, sample.period) for sample in drawn]))
        for layer in range(n_layers):
            for head in range(n_heads):
                value = float(mean[layer, head])
                beside = float(control[layer, head]) if score in ("induction", "duplicate token") else floor
                named = value >= NAMED_FROM and value > beside
                rows.append(
                    {"layer": layer, "head": head, "metric": score, "value": value, "floor": floor, "maximum": 1.0}
                    | {"control": beside, "name": score if named else ""}
                )
    return AnalysisResult(
        name="heads",
        table=pd.DataFrame(rows),
        unit="share of attention",
        maximum=1.0,
        floor="uniform attention, per score",
        convention=f"{n} random sequences of each period {[sample.period for sample in drawn]}, distinct in a copy",
        provenance=provenance,
        details={"n_layers": n_layers, "n_heads": n_heads},
    )


def copying_scores(model: Transformer) -> Float[Tensor, "layer head"]:
    """Eigenvalue score of W_E W_OV W_U (Elhage et al. 2021): sum of the eigenvalues over the sum of their sizes.

    1: the head raises the logit of whatever it looks at; -1: it lowers it; about 0: neither. Norms are folded in.
    """
    model = folded(model) if model.config.norm == "pre" else model
    scores = torch.zeros(model.config.n_layers, model.config.n_heads)
    with torch.no_grad():
        for layer, block in enumerate(model.blocks):
            for head in range(model.config.n_heads):
                attention = block.attn
                ov = attention.W_V[head] @ attention.W_O[head]  # pyright: ignore
                # W_E W_OV W_U has the eigenvalues of W_OV W_U W_E, which is no larger than d_model
                eigenvalues = torch.linalg.eigvals(ov @ model.W_U @ model.W_E)
                scores[layer, head] = eigenvalues.sum().real / eigenvalues.abs().sum().clamp(min=1e-12)
    return scores


def composition(first: Float[Tensor, "a b"], second: Float[Tensor, "b c"]) -> float:
    """||A B|| / (||A|| ||B||) in Frobenius norms (Elhage et al. 2021); 1 / sqrt(width) by chance at full rank."""
    return float((first @ second).norm() / (first.norm() * second.norm()))


def composition_scores(model: Transformer, provenance: Provenance) -> AnalysisResult:
    """Q-, K- and V-composition of every earlier head with every later one, beside random matrices of the same ranks.

    Row vectors: A is W_OV of the earlier head; B is W_QK, its transpose, or W_OV of the later one. Norms are folded.
    """
    model = folded(model) if model.config.norm == "pre" else model
    config = model.config
    rows = []
    generator = Generator().manual_seed(0)

    def low_rank() -> Tensor:
        shape = (config.d_model, config.d_head)
        return torch.randn(shape, generator=generator) @ torch.randn(shape, generator=generator).T

    chance = float(np.mean([composition(low_rank(), low_rank()) for _ in range(64)]))
    with torch.no_grad():
        parts = [_circuits(model, layer) for layer in range(config.n_layers)]
        for late in range(1, config.n_layers):
            for early in range(late):
                for a, earlier in enumerate(parts[early]):
                    for b, later in enumerate(parts[late]):
                        reading = {"Q": later["qk"], "K": later["qk"].T, "V": later["ov"]}
                        for kind, matrix in reading.items():
                            value = composition(earlier["ov"], matrix)
                            pair = {"sender": f"L{early}H{a}", "receiver": f"L{late}H{b}", "metric": kind}
                            rows.append({**pair, "value": value, "control": chance})
    return AnalysisResult(
        name="composition",
        table=pd.DataFrame(rows, columns=["sender", "receiver", "metric", "value", "control"]),
        unit="ratio of norms",
        maximum=1.0,
        floor=f"random matrices of rank {config.d_head}: {chance:.3f}",
        convention="Frobenius norms, row vectors, norms folded; a weight score says what could compose, not what does",
        provenance=provenance,
    )


def _circuits(model: Transformer, layer: int) -> Sequence[dict[str, Tensor]]:
    """W_QK and W_OV [d_model, d_model] of each head of a layer."""
    attention = model.blocks[layer].attn
    return [
        {"qk": attention.W_Q[h] @ attention.W_K[h].T, "ov": attention.W_V[h] @ attention.W_O[h]}  # pyright: ignore
        for h in range(model.config.n_heads)
    ]
