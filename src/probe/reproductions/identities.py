"""Exact statements: a mean is blind to order, attention without positions too, and ours is everybody's attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from probe.activations import cached
from probe.models.config import ModelConfig
from probe.models.transformer import NO_TAP, Attention, UniformMean, causal_mask, initialised, rotated
from probe.reproductions.claims import Claim, Job, Measured, Reproduction, Settings, Tell, above, at_most, exactly
from probe.reproductions.taps import InTheOpen

TOLERANCE = 1e-6
"""Largest difference that float32 sums of another order may leave, on numbers of about size one."""
POS, WIDTH, HEADS = 16, 64, 4


def averaging_matrix(pos: int) -> Float[Tensor, "query key"]:
    """The running mean as attention: a softmax over equal scores, -inf where a key lies in the future.

    >>> averaging_matrix(2).tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """
    return causal_mask(pos, pos, torch.zeros(1)).softmax(-1)


def largest(a: Tensor, b: Tensor) -> float:
    """Largest absolute difference."""
    return float((a - b).abs().max())


def means() -> dict[str, Any]:
    """The mean, its matrix, and its softmax."""
    generator = Generator().manual_seed(0)
    x = torch.randn(1, POS, WIDTH, generator=generator)
    shuffled = x[:, torch.randperm(POS, generator=generator)]
    mean = UniformMean("mixer")
    running = x.cumsum(1) / torch.arange(1, POS + 1)[:, None]
    lower = torch.ones(POS, POS).tril() / torch.arange(1, POS + 1)[:, None]
    rows = averaging_matrix(6)
    expected = torch.tensor([[1 / (i + 1) if j <= i else 0.0 for j in range(6)] for i in range(6)])
    return {
        "blind": largest(mean(x, NO_TAP, None)[:, -1], mean(shuffled, NO_TAP, None)[:, -1]),
        "triangle": largest(running, lower @ x),
        "softmax": largest(running, averaging_matrix(POS) @ x),
        "ours": largest(running, mean(x, NO_TAP, None)),
        "matrix": largest(rows, expected),
        "rows": rows.tolist(),
    }


def attentions() -> dict[str, Any]:
    """Order without positions, and ours against PyTorch's two with the same weights."""
    generator = Generator().manual_seed(0)
    config = ModelConfig(d_vocab=2, n_ctx=POS, d_model=WIDTH, n_heads=HEADS, biases="no-qkv")
    ours = Attention(config, "attn").requires_grad_(False)
    for parameter in (ours.W_QKV, ours.W_ZO):
        assert parameter is not None
        parameter.uniform_(-(WIDTH**-0.5), WIDTH**-0.5, generator=generator)
    assert ours.W_ZO is not None
    x = torch.randn(1, POS, WIDTH, generator=generator)
    order = torch.randperm(POS, generator=generator)
    prefix = torch.cat([torch.randperm(POS - 1, generator=generator), torch.tensor([POS - 1])])
    q, k, v = F.linear(x, ours.W_QKV).view(1, POS, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
    open_now = F.scaled_dot_product_attention(q, k, v)
    open_shuffled = F.scaled_dot_product_attention(q[..., order, :], k[..., order, :], v[..., order, :])
    theirs = nn.MultiheadAttention(WIDTH, HEADS, bias=True, batch_first=True).requires_grad_(False)
    assert theirs.in_proj_weight is not None and theirs.in_proj_bias is not None
    theirs.in_proj_weight.copy_(ours.W_QKV)
    theirs.in_proj_bias.zero_()
    theirs.out_proj.weight.copy_(ours.W_ZO.T)
    theirs.out_proj.bias.zero_()
    out = ours(x, NO_TAP, None)
    masked = causal_mask(POS, POS, x)
    fused = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2) @ ours.W_ZO
    in_the_open = ours(x, InTheOpen(), None)
    return {
        "equivariant": largest(open_now[..., order, :], open_shuffled),
        "last row": largest(out[:, -1], ours(x[:, prefix], NO_TAP, None)[:, -1]),
        "multihead": largest(in_the_open, theirs(x, x, x, attn_mask=masked, need_weights=False)[0]),
        "fused": largest(in_the_open, fused),
        "mean size": float(out.abs().mean()),
    }


def positions() -> dict[str, Any]:
    """RoPE sees distances alone; a first layer's query sees its own word and place alone."""
    generator = Generator().manual_seed(0)
    q, k = torch.randn(2, 1, 1, 1, WIDTH, generator=generator)
    shifts = []
    for distance in range(POS):
        scores = []
        for start in (0, 1, 7, 40):
            turned_q = rotated(q, start + distance + 1)[0, 0, 0]
            turned_k = rotated(k, start + 1)[0, 0, 0]
            scores.append(float(turned_q @ turned_k))
        shifts.append((max(scores) - min(scores)) / WIDTH**0.5)
    config = ModelConfig(d_vocab=20, n_ctx=POS, d_model=WIDTH, n_heads=HEADS, n_layers=1, init_std=0.3)
    model = initialised(config, generator)
    first = torch.randint(20, (1, POS), generator=generator)
    second, changed = first.clone(), 11
    second[0, changed] = (second[0, changed] + 1) % 20
    names = [f"blocks.0.attn.{hook}" for hook in ("hook_q", "hook_attn_scores", "hook_pattern")]
    a, b = (cached(model, tokens, names)[1] for tokens in (first, second))
    kept = [key for key in range(POS) if key != changed]
    last = POS - 1
    return {
        "rope": max(shifts),
        "query": largest(a[names[0]][:, last], b[names[0]][:, last]),
        "scores": largest(a[names[1]][..., last, kept], b[names[1]][..., last, kept]),
        "weights": largest(a[names[2]][..., last, kept], b[names[2]][..., last, kept]),
    }


def _measure(settings: Settings, seed: int, tell: Tell) -> dict[str, Any]:
    with torch.no_grad():
        return means() | attentions() | positions()


def _notes(by_seed: Mapping[int, Measured]) -> Sequence[tuple[str, str]]:
    rows = by_seed[0]["identities"]["rows"]
    return [("the averaging matrix of six positions", "\n".join(" ".join(f"{w:.3f}" for w in row) for row in rows))]


def _of(number: str, statement: str, chapter: str = "", rule: Any = None) -> Claim:
    rule = at_most(TOLERANCE) if rule is None else rule
    return Claim(
        statement=statement, value=lambda m: m["identities"][number], rule=rule, chapter=chapter, form=".3g"
    )  # fmt: skip


IDENTITIES = Reproduction(
    name="identities",
    title="What is exactly so",
    setting="float32, one thread, random inputs of unit size; each number is the largest absolute difference",
    jobs=[Job(key="identities", measure=_measure, seeded=False)],
    claims=[
        _of("blind", "the mean does not see order: last row of the averaging matrix, context shuffled", "2.98e-8"),
        _of("triangle", "running mean = lower-triangular matrix product", "5.96e-8"),
        _of("softmax", "running mean = softmax over equal scores, -inf above the diagonal", "5.96e-8"),
        _of("ours", "running mean = the uniform mixer of our model"),
        _of("matrix", "the averaging matrix of six positions: 1; ½ ½; ⅓ ⅓ ⅓; …"),
        _of("equivariant", "self-attention without positions is permutation-equivariant"),
        _of("last row", "the last row of a causal layer does not see the order of its prefix"),
        _of("multihead", "our attention = nn.MultiheadAttention with the same weights", "1.79e-7"),
        _of("fused", "our attention = F.scaled_dot_product_attention with the same weights", "1.79e-7"),
        Claim(
            statement="mean size of the outputs compared", value=lambda m: m["identities"]["mean size"],
            chapter="0.159", form=".3f", why="it depends on the inputs that are drawn",
        ),
        # angles of dozens of radians have a float32 error of some 1e-6 each
        _of("rope", "RoPE scores depend on t - i alone", "", at_most(1e-5)),
        _of("query", "layer 0: the query is bit-equal when another word changes", "", exactly(0)),
        _of("scores", "layer 0: its scores on shared keys are bit-equal", "", exactly(0)),
        _of("weights", "layer 0: its weights on shared keys are not (the changed key competes)", "", above(0)),
    ],
    notes=_notes,
)  # fmt: skip
