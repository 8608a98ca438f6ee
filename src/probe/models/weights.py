"""The matrices of every head, of ours or of any hooked model, in TransformerLens's shapes: what weight scores read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from probe.models.transformer import Attention, Transformer, folded


@dataclass(frozen=True, kw_only=True)
class HeadWeights:
    """Row-vector convention: a stream x is read as x W_Q and written to by z W_O."""

    W_E: Float[Tensor, "d_vocab d_model"]
    W_Q: Float[Tensor, "layer head d_model d_head"]
    W_K: Float[Tensor, "layer head d_model d_head"]
    W_V: Float[Tensor, "layer head d_model d_head"]
    W_O: Float[Tensor, "layer head d_head d_model"]
    W_U: Float[Tensor, "d_model d_vocab"]
    centred: bool
    """Whether the last norm takes the mean off the stream before W_U reads it."""


def head_weights(model: Transformer | Any) -> HeadWeights:
    """The weights that circuits are made of.

    Ours come with the weights of their LayerNorms folded in (pre-norm; a post-norm model has none to fold). A foreign
    model is taken as it stands: fold it first where the library can (`TransformerBridge.enable_compatibility_mode`).
    """
    inside = getattr(model, "transformer", None)  # ours behind its hook points
    model = inside if isinstance(inside, Transformer) else model
    if not isinstance(model, Transformer):
        names = ("W_E", "W_Q", "W_K", "W_V", "W_O", "W_U")
        weights = {name: getattr(model, name).detach() for name in names}
        centred = getattr(model.cfg, "normalization_type", None) in ("LN", "LNPre")  # an RMSNorm takes no mean off
        return HeadWeights(**weights, centred=centred)
    config = model.config
    model = folded(model) if config.norm == "pre" else model
    heads = [block.attn for block in model.blocks if isinstance(block.attn, Attention)]
    # where the heads' results are laid side by side, each one writes to coordinates of its own
    own = torch.eye(config.n_heads * config.d_head).view(config.n_heads, config.d_head, -1)
    return HeadWeights(
        W_E=model.W_E.detach(),
        W_Q=torch.stack([attention.W_Q.detach() for attention in heads]),
        W_K=torch.stack([attention.W_K.detach() for attention in heads]),
        W_V=torch.stack([attention.W_V.detach() for attention in heads]),
        W_O=torch.stack([own if attention.W_O is None else attention.W_O.detach() for attention in heads]),
        W_U=model.W_U.detach(),
        centred=config.norm == "pre",
    )
