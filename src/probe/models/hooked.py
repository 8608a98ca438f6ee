"""The same weights behind TransformerLens's HookedRootModule: one HookPoint per named activation.

Importing this module imports transformer_lens, which takes seconds; training never does. Everything here gives
TransformerLens 4.3 what its analysis code asks of a model (caches, patching, attribution, logit lens); the numbers are
computed in `transformer.py` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from transformer_lens import ActivationCache, HookedRootModule
from transformer_lens.config import TransformerLensConfig
from transformer_lens.hook_points import HookPoint

from probe.errors import ProbeError
from probe.models.config import ModelConfig
from probe.models.transformer import Attention, Block, LayerNorm, Transformer

_POSITIONS = {"learned": "standard", "none": "none"}


@runtime_checkable
class Words(Protocol):
    """What turns words into ids: a `probe.tasks.vocabulary.Vocabulary`."""

    def encode(self, tokens: Sequence[str]) -> np.ndarray:
        """Ids of the tokens; an unknown word is an error that names it."""
        ...


class HookedTransformer(HookedRootModule):
    """A `Transformer` whose activations can be cached, replaced and differentiated by name.

    Shares its weights with the model it is given. `run_with_cache`, `run_with_hooks` and `hooks` are TransformerLens's;
    hooks live inside a call or a `with` and leave nothing behind.

    Args:
        model: the weights.
        vocabulary: needed only to pass words instead of ids.
    """

    def __init__(self, model: Transformer, vocabulary: Words | None = None) -> None:
        super().__init__()
        config = model.config
        self.transformer = model
        self.vocabulary = vocabulary
        self.cfg = _lens_config(config, next(model.parameters()))
        self.hook_embed = HookPoint()
        if config.position in ("learned", "sinusoidal"):
            self.hook_pos_embed = HookPoint()
        self.blocks = nn.ModuleList(_HookedBlock(block) for block in model.blocks)  # pyright: ignore[reportArgumentType]
        if model.ln_final is not None:
            self.ln_final = _HookedNorm(model.ln_final)
        self.unembed = _Unembed(model)
        self.setup()
        self.eval()

    # -- calling -----------------------------------------------------------------------------------------------

    def forward(
        self,
        input: Int[Tensor, "batch pos"] | str | Sequence[str],
        return_type: Literal["logits", "loss", "both"] | None = "logits",
        loss_per_token: bool = False,
    ) -> Any:
        """Run the model; `loss` is the next-token cross-entropy in nats, as TransformerLens defines it."""
        tokens = self.to_tokens(input)
        logits = self.transformer(tokens, _HookTap(self))
        if return_type is None:
            return None
        if return_type == "logits":
            return logits
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), reduction="none")
        loss = loss.view(tokens.shape[0], -1) if loss_per_token else loss.mean()
        return loss if return_type == "loss" else (logits, loss)

    def run_with_cache(self, *args: Any, return_cache_object: bool = True, **kwargs: Any) -> tuple[Any, Any]:
        """The output, and every activation by name in an ActivationCache (or a plain dict)."""
        output, cache = super().run_with_cache(*args, **kwargs)
        if not return_cache_object:
            return output, cache
        return output, ActivationCache(cache, self, has_batch_dim=not kwargs.get("remove_batch_dim", False))

    # -- words -------------------------------------------------------------------------------------------------

    def to_tokens(self, input: Int[Tensor, "batch pos"] | str | Sequence[str], **_: Any) -> Int[Tensor, "batch pos"]:
        """Ids of a sentence or several of one length. No beginning-of-sentence token is ever put in front."""
        if isinstance(input, Tensor):
            return input if input.ndim == 2 else input[None]
        sentences = [input] if isinstance(input, str) else list(input)
        rows = [self._words().encode(sentence.split()) for sentence in sentences]
        if len({len(row) for row in rows}) != 1:
            raise ProbeError(f"sentences of different lengths, {[len(row) for row in rows]} words; pass one length")
        return torch.tensor([row.tolist() for row in rows], device=self.cfg.device)

    def to_single_token(self, word: str) -> int:
        """The id of one word."""
        return int(self._words().encode([word])[0])

    def tokens_to_residual_directions(self, tokens: str | int | Tensor) -> Float[Tensor, "... d_model"]:
        """Columns of the unembedding: the direction in the stream that each word's logit reads."""
        if isinstance(tokens, str):
            tokens = self.to_single_token(tokens)
        if isinstance(tokens, Tensor) and tokens.numel() == 1:
            tokens = int(tokens)
        return self.W_U[:, tokens].movedim(0, -1)

    def _words(self) -> Words:
        if self.vocabulary is None:
            raise ProbeError(
                "this model was opened without its vocabulary; pass ids, or HookedTransformer(model, vocabulary)"
            )
        return self.vocabulary

    # -- weights, in TransformerLens's names ---------------------------------------------------------------------

    @property
    def W_E(self) -> Float[Tensor, "d_vocab d_model"]:
        """Embedding."""
        return self.transformer.W_E

    @property
    def W_U(self) -> Float[Tensor, "d_model d_vocab"]:
        """Unembedding."""
        return self.transformer.W_U

    @property
    def b_U(self) -> Float[Tensor, " d_vocab"]:
        """Unembedding bias, zeros where the model has none."""
        return self.unembed.b_U

    def _stacked(self, name: str) -> Tensor:
        return torch.stack([getattr(block.attn, name) for block in self.blocks])

    @property
    def W_Q(self) -> Float[Tensor, "layer head d_model d_head"]:
        """Query projections of all layers."""
        return self._stacked("W_Q")

    @property
    def W_K(self) -> Float[Tensor, "layer head d_model d_head"]:
        """Key projections of all layers."""
        return self._stacked("W_K")

    @property
    def W_V(self) -> Float[Tensor, "layer head d_model d_head"]:
        """Value projections of all layers."""
        return self._stacked("W_V")

    @property
    def W_O(self) -> Float[Tensor, "layer head d_head d_model"]:
        """Output projections of all layers."""
        return self._stacked("W_O")

    def accumulated_bias(self, layer: int, mlp_input: bool = False, include_mlp_biases: bool = True) -> Tensor:
        """Sum of the output biases written to the stream before `layer` (and by its attention, with `mlp_input`)."""
        total = self.W_E.new_zeros(self.cfg.d_model)
        for index, block in enumerate(self.blocks):
            if index > layer or (index == layer and not mlp_input):
                break
            total = total + getattr(block.attn, "b_O", 0)
            if include_mlp_biases and index < layer:
                total = total + getattr(getattr(block, "mlp", None), "b_out", 0)
        return total

    def blocks_with(self, submodule: str) -> list[tuple[int, nn.Module]]:
        """The blocks that have such a part (`attn`, `mlp`), with their layer."""
        return [(layer, block) for layer, block in enumerate(self.blocks) if hasattr(block, submodule)]

    # -- switches for activations that cost memory -----------------------------------------------------------------

    def set_use_attn_result(self, on: bool) -> None:
        """Whether each head's own output, `attn.hook_result`, is computed."""
        self.cfg.use_attn_result = on

    def set_use_split_qkv_input(self, on: bool) -> None:
        """Whether every head has inputs of its own, `attn.hook_{q,k,v}_input`."""
        self.cfg.use_split_qkv_input = on

    def set_use_hook_mlp_in(self, on: bool) -> None:
        """Nothing to switch: `hook_mlp_in` always fires."""
        self.cfg.use_hook_mlp_in = on  # pyright: ignore[reportAttributeAccessIssue]


class _HookTap:
    """The tap of `transformer.py` that leads through TransformerLens's hook points."""

    def __init__(self, model: HookedTransformer) -> None:
        self.points = model.hook_dict
        self.off = ("attn.hook_result",) if not model.cfg.use_attn_result else ()
        if not model.cfg.use_split_qkv_input:
            self.off += ("attn.hook_q_input", "attn.hook_k_input", "attn.hook_v_input")

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        point = self.points.get(name)
        # A hook that writes in place must not reach the parameters, so views of them are copied.
        return tensor if point is None else point(tensor.clone() if tensor._base is not None else tensor)

    def wants(self, name: str) -> bool:
        point = self.points.get(name)
        return point is not None and not name.endswith(self.off or ("\0",)) and point.has_hooks(dir="both")


def _lens_config(config: ModelConfig, parameter: Tensor) -> TransformerLensConfig:
    """What TransformerLens's analyses read of a configuration."""
    norm = {"none": None, "pre": "LN" if config.norm_affine else "LNPre", "post": "LN"}[config.norm]
    lens = TransformerLensConfig(
        d_model=config.d_model,
        d_head=config.d_head,
        n_layers=config.n_layers,
        n_ctx=config.n_ctx,
        n_heads=config.n_heads,
        d_mlp=config.d_mlp,
        d_vocab=config.d_vocab,
        device=str(parameter.device),
        dtype=parameter.dtype,
        default_prepend_bos=False,
        positional_embedding_type=_POSITIONS.get(config.position, config.position),
        attn_only=config.d_mlp == 0,
        act_fn="gelu",
        normalization_type=norm,
    )
    lens.use_hook_mlp_in = True  # pyright: ignore[reportAttributeAccessIssue]
    lens.use_attn_in = False  # pyright: ignore[reportAttributeAccessIssue]
    return lens


# Modules below hold the hook points under TransformerLens's names and show the weights of the real part; parts are kept
# out of torch's registry (in a tuple), so that each parameter is registered once, under `transformer`.


class _Shown(nn.Module):
    """Shows the attributes of a part of the transformer."""

    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self._part = (part,)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            part = self.__dict__["_part"][0]
            value = getattr(part, name, None)
            if value is None:
                raise AttributeError(f"{type(part).__name__} has no {name}") from None
            return value


class _HookedNorm(_Shown):
    def __init__(self, norm: LayerNorm) -> None:
        super().__init__(norm)
        self.hook_scale = HookPoint()
        self.hook_normalized = HookPoint()

    def forward(self, x: Tensor) -> Tensor:
        return self._part[0](x)


class _HookedAttention(_Shown):
    def __init__(self, attention: nn.Module) -> None:
        super().__init__(attention)
        self.hook_pattern = HookPoint()
        if not isinstance(attention, Attention):
            return
        for name in ("q", "k", "v", "attn_scores", "z", "q_input", "k_input", "v_input"):
            self.add_module(f"hook_{name}", HookPoint())
        if attention.config.position == "rope":
            self.hook_rot_q, self.hook_rot_k = HookPoint(), HookPoint()
        if attention.W_O is not None:
            self.hook_result = HookPoint()


class _HookedMLP(_Shown):
    def __init__(self, mlp: nn.Module) -> None:
        super().__init__(mlp)
        self.hook_pre = HookPoint()
        self.hook_post = HookPoint()


class _HookedBlock(nn.Module):
    hook_out_is_single_residual_stream = True

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.hook_resid_pre = HookPoint()
        if block.attn is not None:
            self.attn = _HookedAttention(block.attn)
            self.hook_attn_out = HookPoint()
        if block.ln1 is not None:
            self.ln1 = _HookedNorm(block.ln1)
        if block.mlp is not None:
            self.hook_resid_mid, self.hook_mlp_in, self.hook_mlp_out = HookPoint(), HookPoint(), HookPoint()
            self.mlp = _HookedMLP(block.mlp)
        if block.ln2 is not None:
            self.ln2 = _HookedNorm(block.ln2)
        self.hook_resid_post = HookPoint()


class _Unembed(nn.Module):
    """W_U and b_U, the latter zeros where the model has none."""

    def __init__(self, transformer: Transformer) -> None:
        super().__init__()
        self._part = (transformer,)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_vocab"]:
        return F.linear(x, self.W_U.T, self.b_U)

    @property
    def W_U(self) -> Float[Tensor, "d_model d_vocab"]:
        return self._part[0].W_U

    @property
    def b_U(self) -> Float[Tensor, " d_vocab"]:
        bias = self._part[0].b_U
        return bias if bias is not None else self.W_U.new_zeros(self.W_U.shape[1])
