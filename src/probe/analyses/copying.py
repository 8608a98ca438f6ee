"""Whether a head says the word that it looks at: copying, by what it writes and by its weights.

Two definitions, and a head is called a copier where both agree. *Direct path* (after Olsson et al. 2022, appendix "Head
activation evaluators"): the values of a run on random words go through W_O and the unembedding; the score is the share
of all raised logits that falls on the attended word. *Eigenvalues* (Elhage et al. 2021, "Summarizing OV circuits"):
sum of the eigenvalues of W_E W_OV W_U over the sum of their sizes. The first knows what earlier layers wrote at the
place looked at, the second only the words' own embeddings.
"""

from __future__ import annotations

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from probe.activations import HookedModel, cached
from probe.intervals import bootstrap_interval
from probe.models.transformer import Transformer
from probe.models.weights import head_weights
from probe.result import AnalysisResult, Provenance

COPIES_FROM = 0.5
"""A head is a copier where both scores reach this."""


def raised_share(
    effect: Float[Tensor, "... key d_vocab"], tokens: Int[Tensor, "... key"], weight: Float[Tensor, "... key"]
) -> Float[Tensor, "..."]:
    """Share of the raised logits that falls on the word at the key itself, keys weighted by the attention they get.

    A constant added to all logits says nothing, so each key's mean is taken off before what is negative is dropped.
    Two keys, three words; the first raises its own word alone, the second its own and another alike:

    >>> effect = torch.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    >>> raised_share(effect, torch.tensor([0, 1]), torch.tensor([1.0, 1.0])).item()
    0.75
    """
    raised = (effect - effect.mean(-1, keepdim=True)).clamp(min=0)
    own = raised.gather(-1, tokens[..., None])[..., 0] / raised.sum(-1).clamp(min=1e-12)
    return (own * weight).sum(-1) / weight.sum(-1).clamp(min=1e-12)


def direct_copying(
    model: Transformer | HookedModel, tokens: Int[Tensor, "sequence pos"]
) -> Float[Tensor, "layer head sequence"]:
    """The direct-path score of every head in every sequence; 1: only the attended word is raised, chance 1 / d_vocab.

    The last norm's scale is a positive number at each position, which no share depends on; its mean is taken off.
    """
    weights = head_weights(model)
    n_layers, n_heads = weights.W_O.shape[:2]
    names = [f"blocks.{layer}.attn.{hook}" for layer in range(n_layers) for hook in ("hook_v", "hook_pattern")]
    _, seen = cached(model, tokens, names)
    scores = torch.zeros(n_layers, n_heads, len(tokens))
    for layer in range(n_layers):
        values, pattern = (seen[f"blocks.{layer}.attn.{hook}"] for hook in ("hook_v", "hook_pattern"))
        for head in range(n_heads):  # one at a time: [sequence, key, d_vocab] is the largest thing held
            written = values[:, :, head] @ weights.W_O[layer, head]
            written = written - written.mean(-1, keepdim=True) if weights.centred else written
            scores[layer, head] = raised_share(written @ weights.W_U, tokens, pattern[:, head].sum(-2))
    return scores


def copying_scores(model: Transformer | HookedModel) -> Float[Tensor, "layer head"]:
    """Eigenvalue score of W_E W_OV W_U (Elhage et al. 2021): sum of the eigenvalues over the sum of their sizes.

    1: the head raises the logit of whatever it looks at; -1: it lowers it; about 0: neither. Weights of norms are
    folded in; that a LayerNorm takes the mean off too is left out.
    """
    weights = head_weights(model)
    # the same eigenvalues but for zeros, in matrices no larger than a head: tr(ABC) turns round
    small = weights.W_O @ (weights.W_U @ weights.W_E) @ weights.W_V
    eigenvalues = torch.linalg.eigvals(small)
    return eigenvalues.sum(-1).real / eigenvalues.abs().sum(-1).clamp(min=1e-12)


def copying(
    model: Transformer | HookedModel, d_vocab: int, longest: int, provenance: Provenance, n: int = 32, seed: int = 0
) -> AnalysisResult:
    """Both scores of every head, and the name `copying` where they agree.

    Args:
        model: ours, or any hooked model.
        d_vocab: number of words to draw from, without replacement.
        longest: the longest sequence that the model takes; 25 words at most are drawn, as in the source.
        provenance: of the run.
        n: sequences.
        seed: of the sequences.

    Returns:
        A row for each `layer, head, metric` (`copying`, `copying eigenvalues`), as `analyses.heads.head_scores`; the
        control is chance.
    """
    generator, length = Generator().manual_seed(seed), min(25, longest, d_vocab)
    tokens = torch.stack([torch.randperm(d_vocab, generator=generator)[:length] for _ in range(n)])
    direct, eigen = direct_copying(model, tokens), copying_scores(model)
    rows = []
    for layer in range(len(eigen)):
        for head in range(eigen.shape[1]):
            place, each = {"layer": layer, "head": head}, direct[layer, head].tolist()
            share, ratio = sum(each) / n, float(eigen[layer, head])
            low, high = bootstrap_interval(each, resamples=1000)
            agreed = "copying" if min(share, ratio) >= COPIES_FROM else ""
            of_share = {"value": share, "low": low, "high": high, "floor": 1 / d_vocab, "control": 1 / d_vocab}
            of_ratio = {"value": ratio, "low": ratio, "high": ratio, "floor": 0.0, "control": 0.0}
            rows.append({**place, "metric": "copying", **of_share, "maximum": 1.0, "name": agreed})
            rows.append({**place, "metric": "copying eigenvalues", **of_ratio, "maximum": 1.0, "name": ""})
    return AnalysisResult(
        name="copying",
        table=pd.DataFrame(rows),
        unit="share of raised logits, ratio of eigenvalues",
        maximum=1.0,
        floor="1 / d_vocab; 0",
        convention=f"{n} sequences of {length} distinct random words; keys weighted by the attention they get",
        provenance=provenance,
    )
