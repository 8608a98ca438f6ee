"""Activations by name: cached, and only those asked for. Thin, and it leaves no hook behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from probe.models.transformer import Transformer


@runtime_checkable
class HookedModel(Protocol):
    """What every analysis asks of a model: ours behind its hook points, or any that TransformerLens runs."""

    @property
    def cfg(self) -> Any:
        """Sizes, in TransformerLens's names."""
        ...

    def run_with_cache(self, *args: Any, **kwargs: Any) -> Any:
        """The output, and activations by name."""
        ...

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """The output, with hooks in place during the call."""
        ...

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The output."""
        ...


class _Recorder:
    """A tap that keeps what it is asked to keep and changes nothing."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = frozenset(names)
        self.seen: dict[str, Tensor] = {}

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        if name in self.names:
            self.seen[name] = tensor.clone()
        return tensor

    def wants(self, name: str) -> bool:
        return name in self.names


@torch.no_grad()
def cached(
    model: Transformer | HookedModel, tokens: Int[Tensor, "batch pos"], names: Sequence[str]
) -> tuple[Tensor, dict[str, Tensor]]:
    """Run the model and keep the named activations (TransformerLens's names), each a copy.

    A plain `Transformer` is read through its tap, without importing transformer_lens; any other model through
    `run_with_cache`.

    Returns:
        logits [batch, pos, d_vocab], and name -> activation.

    Raises:
        KeyError: a name that the model never computed; a silent gap would look like a result.
    """
    if isinstance(model, Transformer):
        recorder = _Recorder(names)
        logits, seen = model(tokens, recorder), recorder.seen
    else:
        logits, cache = model.run_with_cache(tokens, names_filter=list(names))
        seen = {name: cache[name].clone() for name in names if name in cache}
    missing = [name for name in names if name not in seen]
    if missing:
        raise KeyError(f"the model computes no activation {', '.join(missing)}")
    return logits, seen


def shape_of(model: Transformer | HookedModel) -> tuple[int, int]:
    """Number of layers and heads, of ours or any hooked model."""
    sizes = model.config if isinstance(model, Transformer) else model.cfg
    return sizes.n_layers, sizes.n_heads
