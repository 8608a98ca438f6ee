"""One variable of a causal model, swapped between two sentences: what the model must then answer, and where to swap.

A cloze task has a causal model of three variables: the first noun, the second noun, and which of the two the deciding
word speaks of (its role); the answer is the noun that the role picks. Swapping one variable alone has a known result
(Geiger et al. 2021, "Causal Abstractions of Neural Networks", section 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxtyping import Bool, Int
from torch import Tensor

from probe.activations import Kind, Site, shape_of
from probe.intervals import cluster_intervals
from probe.models.transformer import Transformer

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Swap:
    """Pairs of prompts of one length, in which one variable is taken from the source; and what must come of it."""

    variable: str
    base: Int[Tensor, "pair pos"]
    source: Int[Tensor, "pair pos"]
    answer: Int[Tensor, " pair"]
    """Of the base: nothing swapped."""
    source_answer: Int[Tensor, " pair"]
    """Of the source: everything swapped."""
    predicted: Int[Tensor, " pair"]
    """By the causal model: this variable alone swapped."""
    keys: Int[Tensor, " pair"]
    """The word of the source that gives the variable its value."""
    groups: Sequence[str]
    """What is resampled together for intervals."""
    roles: Mapping[int, str]
    """Position -> what stands there; the last one is where the answer is named."""
    n_values: int
    """How many values the variable can have."""


def stream_sites(model: Transformer, positions: Sequence[int]) -> list[Site]:
    """The residual stream before each layer, between its attention and its MLP, and after the last one.

    Past the attention of the last layer only the last position reaches the answer; the others are left out.
    """
    n_layers, _ = shape_of(model)
    kinds: list[tuple[Kind, int]] = []
    for layer in range(n_layers):
        kinds.append(("resid_pre", layer))
        if model.config.d_mlp:
            kinds.append(("resid_mid", layer))
    kinds.append(("resid_post", n_layers - 1))
    return [
        Site(kind=kind, layer=layer, position=position)
        for kind, layer in kinds
        for position in positions
        if kind == "resid_pre" or layer < n_layers - 1 or position == max(positions)
    ]


def shares(sites: Sequence[Site], hits: Bool[Tensor, "site pair"], swap: Swap, **common: Any) -> list[Row]:
    """A row a site: the share of pairs that are hits, with its 95 % interval over the bases' noun pairs."""
    values = hits.double().numpy()
    rows = []
    for site, of_site, low, high in zip(sites, values, *cluster_intervals(values, swap.groups), strict=True):
        place = {"kind": site.kind, "layer": site.layer, "position": site.position}
        place["role"] = swap.roles[site.position or 0]
        interval = {"value": float(of_site.mean()), "low": float(low), "high": float(high), "n": len(of_site)}
        rows.append({**place, **common, **interval})
    return rows
