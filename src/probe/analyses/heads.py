"""Where each head looks, in scores with a floor and a maximum: previous, duplicate, first token, induction, entropy.

Scores are those of Olsson et al. 2022 ("In-context Learning and Induction Heads", appendix) on random sequences of
distinct tokens that are repeated once. The period is drawn anew for every sequence, so that no head scores by a fixed
distance; the best fixed distance is reported beside the score, and a head gets a name only where its score stands above
that control. On the same sequences the whole model's in-context learning score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Generator, Tensor

from probe.activations import HookedModel, cached, shape_of
from probe.errors import ProbeError
from probe.intervals import bootstrap_interval
from probe.models.transformer import Transformer
from probe.result import AnalysisResult, Provenance

NAMED_FROM = 0.5
"""A head is named after a score from here on, if the score also exceeds its control."""


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """Random sequences of `period` distinct tokens and the same again; the second copy may break off."""

    tokens: Int[Tensor, "sequence pos"]
    period: int


def repeats(
    d_vocab: int, longest: int, n: int, generator: Generator, periods: tuple[int, int] | None = None
) -> list[Repeats]:
    """Draw `n` sequences of each of at most nine periods, evenly spaced from 3 to `longest` / 2.

    A period of 1 or 2 cannot identify induction: there the previous-token head looks where an induction head does.

    Args:
        d_vocab: number of tokens to draw from.
        longest: the longest sequence; two copies that do not fit are cut there.
        n: sequences a period.
        generator: of the tokens.
        periods: lowest and highest period instead, where a model has only ever seen some.

    Raises:
        ProbeError: the model's sentences are too short for a period of 3.
    """
    low, high = periods or (3, longest // 2)
    high = min(high, d_vocab, longest - 2)
    if low < 3 or high < low:
        raise ProbeError(f"sentences of {longest} words hold no repeated sequence of period 3; induction can't be told")
    drawn = []
    for period in sorted({round(p) for p in np.linspace(low, high, 9)}):
        rows = [torch.randperm(d_vocab, generator=generator)[:period] for _ in range(n)]
        drawn.append(Repeats(tokens=torch.stack(rows).repeat(1, 2)[:, :longest], period=period))
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


def entropy(pattern: Float[Tensor, "... query key"]) -> Float[Tensor, "... query"]:
    """Entropy of each row, in nats: 0 where one token has all, ln(query + 1) where all are alike.

    >>> entropy(torch.tensor([[1.0, 0.0], [0.5, 0.5]])).exp().tolist()  # as effective tokens
    [1.0, 2.0]
    """
    return torch.special.entr(pattern).sum(-1)


SHARES = {
    "previous token": lambda pattern, period: previous_token(pattern),
    "first token": lambda pattern, period: first_token(pattern),
    "duplicate token": duplicate_token,
    "induction": induction,
}
"""Scores between 0 and 1 that a head can be named after."""
_SCORES = SHARES | {
    "entropy": lambda pattern, period: entropy(pattern)[..., 1:].mean(-1),
    "effective tokens": lambda pattern, period: entropy(pattern)[..., 1:].exp().mean(-1),
}
"""The first query sees one token and has no choice: it counts in no score."""


def uniform_floor(score: str, period: int, length: int | None = None) -> float:
    """What attention 1 / (query + 1) scores on two copies of `period` tokens, cut at `length`.

    For entropy and effective tokens this is the maximum.
    """
    length = length or 2 * period
    uniform = torch.ones(length, length).tril()
    return float(_SCORES[score](uniform / uniform.sum(-1, keepdim=True), period))


def scores_by_sequence(
    model: Transformer | HookedModel, drawn: Sequence[Repeats]
) -> tuple[dict[str, Float[Tensor, "layer head sequence"]], Float[Tensor, "layer head"]]:
    """Every score of every head in every sequence; and of every head the best that a fixed distance explains.

    That control is the mean attention of second-copy queries, over all periods, to the one distance at which it is
    largest: 1 for a head that always looks as far back, about one over the number of periods for an induction head. A
    query that has no word so far back counts as 0, so that no distance stands out by the few that have.
    """
    n_layers, n_heads = shape_of(model)
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(n_layers)]
    longest = max(sample.tokens.shape[1] for sample in drawn)
    scores: dict[str, list[Tensor]] = {score: [] for score in _SCORES}
    at_distance = torch.zeros(len(drawn), n_layers, n_heads, longest)
    for number, sample in enumerate(drawn):
        _, seen = cached(model, sample.tokens, names)
        pattern = torch.stack([seen[name].transpose(0, 1) for name in names]).cpu()  # layer head sequence query key
        for score, function in _SCORES.items():
            scores[score].append(function(pattern, sample.period))
        second = pattern[..., sample.period :, :].mean(2)
        for distance in range(second.shape[-1]):
            reached = second.diagonal(sample.period - distance, -2, -1)
            at_distance[number, ..., distance] = reached.sum(-1) / second.shape[-2]
    return {score: torch.cat(parts, -1) for score, parts in scores.items()}, at_distance.mean(0).amax(-1)


def head_scores(
    model: Transformer | HookedModel,
    d_vocab: int,
    longest: int,
    provenance: Provenance,
    n: int = 32,
    seed: int = 0,
    periods: tuple[int, int] | None = None,
) -> AnalysisResult:
    """Score every head.

    Args:
        model: ours, or any hooked model.
        d_vocab: number of tokens to draw from.
        longest: the longest sequence that the model takes.
        provenance: of the run.
        n: sequences a period.
        seed: of the sequences.
        periods: lowest and highest period, where the model has only ever seen some.

    Returns:
        A row for each `layer, head, metric` with `value`, its 95 % interval over sequences (`low`, `high`), `floor` and
        `maximum` (uniform attention is the floor of shares and the maximum of entropies, whose floor is one token),
        `control` (the best fixed distance where the period varies, else uniform attention) and `name`, where score and
        control agree on one.
    """
    drawn = repeats(d_vocab, longest, n, Generator().manual_seed(seed), periods)
    scores, control = scores_by_sequence(model, drawn)
    one = {"entropy": 0.0, "effective tokens": 1.0}
    rows = []
    for score, values in scores.items():
        uniform = float(np.mean([uniform_floor(score, each.period, each.tokens.shape[1]) for each in drawn]))
        floor, maximum = (one[score], uniform) if score in one else (uniform, 1.0)
        for layer, of_layer in enumerate(values):
            for head, each in enumerate(of_layer):
                value = float(each.mean())
                low, high = bootstrap_interval(each.tolist(), resamples=1000)
                beside = float(control[layer, head]) if score in ("induction", "duplicate token") else uniform
                named = score in SHARES and value >= NAMED_FROM and value > beside
                rows.append(
                    {"layer": layer, "head": head, "metric": score, "value": value, "low": low, "high": high}
                    | {"floor": floor, "maximum": maximum, "control": beside, "name": score if named else ""}
                )
    listed = ", ".join(str(sample.period) for sample in drawn)
    return AnalysisResult(
        name="heads",
        table=pd.DataFrame(rows),
        unit="share of attention (entropy: nats, tokens)",
        maximum=1.0,
        floor="uniform attention, per score; of entropies one token",
        convention=f"{n} random sequences of each period {listed}; words distinct in a copy, all read twice",
        provenance=provenance,
        details={"n_layers": len(control), "n_heads": control.shape[1], "n": n * len(drawn)},
    )


@torch.no_grad()
def in_context_score(model: Transformer | HookedModel, drawn: Sequence[Repeats]) -> float:
    """Loss on the second copy minus loss on the first, in nats a token: what has been seen helps by so much.

    Olsson et al. 2022 ("In-context learning score") take the 500th token minus the 50th of natural text; in a repeated
    sequence the early tokens are those of the first copy, each but the first told from words that say nothing of it,
    and the late ones those of the second, each but its first told by what followed the same word before. 0: nothing is
    learned in context; about -ln(d_vocab): everything.
    """
    differences = []
    for sample in drawn:
        logits = model(sample.tokens)[:, :-1]
        loss = F.cross_entropy(logits.flatten(0, 1), sample.tokens[:, 1:].flatten(), reduction="none")
        loss = loss.view(len(sample.tokens), -1).mean(0)
        differences.append(float(loss[sample.period :].mean() - loss[: sample.period - 1].mean()))
    return float(np.mean(differences))
