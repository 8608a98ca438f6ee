"""Activations by name: cached, replaced, swept. The engine of every causal claim; it leaves no hook behind.

A plain `Transformer` is read and changed through its tap, without importing transformer_lens; any other model through
`run_with_hooks`. Every activation that is asked for must be computed, and every edit must fire: a silent gap would look
like a result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from probe.models.transformer import NO_TAP, Transformer

Edit = Callable[[Tensor], Tensor]
"""From an activation to what stands in its place; must not write into what it is given."""


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


class _EditingTap:
    """Replaces the activations that have an edit, keeps a copy of those named, and counts what happened."""

    def __init__(self, names: Sequence[str], edits: Mapping[str, Edit]) -> None:
        self.names, self.edits = frozenset(names), edits
        self.seen: dict[str, Tensor] = {}
        self.fired: set[str] = set()

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        if name in self.edits:
            tensor = self.edits[name](tensor)
            self.fired.add(name)
        if name in self.names:
            self.seen[name] = tensor.clone()
        return tensor

    def wants(self, name: str) -> bool:
        return name in self.names or name in self.edits


@torch.no_grad()
def intervened(
    model: Transformer | HookedModel,
    tokens: Int[Tensor, "batch pos"],
    edits: Mapping[str, Edit],
    names: Sequence[str] = (),
) -> tuple[Tensor, dict[str, Tensor]]:
    """Run the model with activations replaced, and keep the named ones as they were after the edits.

    Returns:
        logits [batch, pos, d_vocab], and name -> copy of the activation.

    Raises:
        KeyError: an edit never fired, or a name was never computed.
    """
    tap = _EditingTap(names, edits)
    if isinstance(model, Transformer):
        logits = model(tokens, tap)
    else:
        # by the name that was asked for: a bridge fires aliases under names of its own
        hooks = [(name, lambda tensor, hook, name=name: tap(name, tensor)) for name in sorted({*names, *edits})]
        try:
            logits = model.run_with_hooks(tokens, fwd_hooks=hooks)
        except AttributeError as error:  # how TransformerLens says that there is no such hook point
            raise KeyError(f"the model has no such activation ({error})") from None
    missing = [name for name in names if name not in tap.seen] + [name for name in edits if name not in tap.fired]
    if missing:
        raise KeyError(f"the model computes no activation {', '.join(missing)}")
    return logits, tap.seen


def cached(
    model: Transformer | HookedModel, tokens: Int[Tensor, "batch pos"], names: Sequence[str]
) -> tuple[Tensor, dict[str, Tensor]]:
    """Run the model and keep the named activations (TransformerLens's names), each a copy."""
    return intervened(model, tokens, {}, names)


def shape_of(model: Transformer | HookedModel) -> tuple[int, int]:
    """Number of layers and heads, of ours or any hooked model."""
    sizes = model.config if isinstance(model, Transformer) else model.cfg
    return sizes.n_layers, sizes.n_heads


# -- sweeps ------------------------------------------------------------------------------------------------------

ROWS = 256
"""Sentences that run as one batch of a sweep; more no longer fit the caches of a small machine."""

Kind = Literal["resid_pre", "resid_mid", "resid_post", "attn_out", "mlp_out", "z", "q", "k", "v", "pattern"]
HEADED: frozenset[str] = frozenset({"z", "q", "k", "v", "pattern"})
"""Kinds with an axis of heads."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """One place in a model: a kind of activation, in a layer, of a head or all, at a position or all."""

    kind: Kind
    layer: int
    head: int | None = None
    position: int | None = None

    @property
    def name(self) -> str:
        """The activation's name.

        >>> Site(kind="z", layer=1, head=2).name
        'blocks.1.attn.hook_z'
        """
        inside = "attn." if self.kind in HEADED else ""
        return f"blocks.{self.layer}.{inside}hook_{self.kind}"


@torch.no_grad()
def sweep(
    model: Transformer | HookedModel,
    tokens: Int[Tensor, "example pos"],
    sites: Sequence[Site],
    values: Mapping[str, Tensor],
    rows: int = ROWS,
) -> Float[Tensor, "site example d_vocab"]:
    """For every site by itself: run on `tokens`, put the value of `values` there, and read the next-word logits.

    Patching and ablation are the same act: `values` holds another run's activations (patching), zeros, means, or those
    of other sentences, each [example, …] as the model computes them, or [1, …] for the same value everywhere.

    Many sites run as one batch of up to `rows` sentences. On a plain `Transformer` the run resumes at the patched
    layer, from a stream computed once, the last block works for the last position alone, and what can change nothing
    is not run at all: what that block holds for other queries, which nobody reads, and a value that is to the bit what
    stands there already, as at every position before the first word in which two sentences differ.

    Raises:
        KeyError: no value for a site, or a site that this model never computes.
    """
    n_layers, _ = shape_of(model)
    for site in sites:
        if site.name not in values:
            raise KeyError(f"no value is given for {site.name}")
        if not 0 <= site.layer < n_layers:
            raise KeyError(f"the model has no layer {site.layer}")
    n, d_vocab = len(tokens), 0
    streams: list[Tensor] = []
    results: dict[int, Tensor] = {}
    if isinstance(model, Transformer) and sites:
        own = _EditingTap([site.name for site in sites], {})
        x = model.embedded(tokens)
        for block in model.blocks:
            streams.append(x)
            x = block(x, own, last=block is model.blocks[-1])
        untouched = model.unembedded(x[:, -1])
        for i, site in enumerate(sites):
            if site.name not in own.seen:
                raise KeyError(f"the model computes no activation {site.name}")
            if _changes_nothing(site, values[site.name], own.seen[site.name]):
                results[i] = untouched
    for layer in sorted({site.layer for site in sites}):
        for name in sorted({site.name for site in sites if site.layer == layer}):
            chosen = [i for i, site in enumerate(sites) if site.name == name and i not in results]
            each = max(1, rows // n)
            for first in range(0, len(chosen), each):
                part = chosen[first : first + each]
                edit = _edit([sites[i] for i in part], values[name], n)
                if isinstance(model, Transformer):
                    logits = resumed(model, streams[layer].repeat(len(part), 1, 1), layer, {name: edit})
                else:
                    logits = intervened(model, tokens.repeat(len(part), 1), {name: edit})[0][:, -1]
                d_vocab = logits.shape[-1]
                results |= dict(zip(part, logits.view(len(part), n, d_vocab), strict=True))
    return torch.stack([results[i] for i in range(len(sites))]) if sites else torch.empty(0, n, d_vocab)


def _place(site: Site, value: Tensor, held: int) -> tuple[Any, ...] | None:
    """The index of a site in an activation of one sentence, of which the last `held` positions are computed.

    None where the site's position is not: then nothing that is read depends on it.
    """
    length = value.shape[_asking_axis(site)]
    at: Any = slice(None) if site.position is None else site.position % length - (length - held)
    if isinstance(at, int) and at < 0:
        return None
    head = slice(None) if site.head is None else site.head
    return (head, at) if site.kind == "pattern" else (at, head) if site.kind in HEADED else (at,)


def _asking_axis(site: Site) -> int:
    """The axis of the positions: of a pattern, of those that ask."""
    return 2 if site.kind == "pattern" else 1


def _changes_nothing(site: Site, value: Tensor, own: Tensor) -> bool:
    """Whether nothing that is read depends on a site, or the value is to the bit what stands there already."""
    axis, held = _asking_axis(site), own.shape[_asking_axis(site)]
    place = _place(site, value, held)
    if place is None:
        return True
    where = (slice(None), *place)
    return bool((value.narrow(axis, value.shape[axis] - held, held)[where] == own[where]).all())


def _edit(sites: Sequence[Site], value: Tensor, n: int) -> Edit:
    """Put `value` at each site's place, in that site's own n rows of a batch."""

    def edit(tensor: Tensor) -> Tensor:
        axis, shape = _asking_axis(sites[0]), tensor.shape[1:]
        mask = torch.zeros(len(sites), *shape, dtype=torch.bool, device=tensor.device)
        for number, site in enumerate(sites):
            place = _place(site, value, tensor.shape[axis])
            if place is not None:
                mask[(number, *place)] = True
        cut = value.narrow(axis, value.shape[axis] - tensor.shape[axis], tensor.shape[axis])
        own = tensor.view(len(sites), n, *shape)
        return torch.where(mask[:, None], cut[None].to(tensor.dtype), own).flatten(0, 1)

    return edit


def resumed(
    model: Transformer, stream: Float[Tensor, "row pos d_model"], layer: int, edits: Mapping[str, Edit]
) -> Float[Tensor, "row d_vocab"]:
    """Next-word logits from the stream that a layer reads on, with edits in that layer.

    The last block works for the last position alone: there, activations of queries have one position. Gradients reach
    the edits, so that one can be learned; a sweep asks for none.

    Raises:
        KeyError: an edit never fired.
    """
    tap, x = _EditingTap((), edits), stream
    for number, block in enumerate(model.blocks):
        if number >= layer:
            x = block(x, tap if number == layer else NO_TAP, last=number == len(model.blocks) - 1)
    missing = [name for name in edits if name not in tap.fired]
    if missing:
        raise KeyError(f"the model computes no activation {', '.join(missing)}")
    return model.unembedded(x[:, -1])


def sites_of(
    kind: Kind, n_layers: int, n_heads: int, positions: Sequence[int] | None = None, by_head: bool | None = None
) -> list[Site]:
    """Every site of a kind: layer by layer, head by head where there are heads, position by position where given."""
    heads: Sequence[int | None] = range(n_heads) if kind in HEADED and by_head is not False else [None]
    places: Sequence[int | None] = [None] if positions is None else list(positions)
    return [
        Site(kind=kind, layer=layer, head=head, position=position)
        for layer in range(n_layers)
        for head in heads
        for position in places
    ]
