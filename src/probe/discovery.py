"""A circuit found and measured: how faithful some edges are to the model on one contrast, and which are enough.

What is found on some pairs is judged on others (`halves`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from probe.activations import Site, cached, sweep
from probe.circuits import ABLATIONS, Ablation, absent_values, edges_of, run_circuits
from probe.contrasts import Contrast, difference, only
from probe.models.transformer import Transformer
from probe.paths import Node, nodes_of, record

ENOUGH = 0.9
"""Share of every contrast that a circuit has to keep."""
MATTERS = 0.02
"""A node is kept at the positions where it carries more than this share of a contrast."""


class Bench:
    """One contrast in one model: the logit difference of any circuit, and how faithful it is."""

    def __init__(self, model: Transformer, contrast: Contrast, generator: Generator) -> None:
        self.model, self.contrast = model, contrast
        self.own, other = record(model, contrast.clean), record(model, contrast.other)
        self.absent = {name: absent_values(name, self.own, other, generator) for name in ABLATIONS}
        self.whole = difference(self.own.logits, contrast)
        nothing = torch.zeros(1, len(edges_of(model)), dtype=torch.bool)
        self.empty = {name: self.metric(nothing, name)[0] for name in ABLATIONS}

    def metric(
        self, kept: Bool[Tensor, "circuit edge"], ablation: Ablation, places: Mapping[Node, Sequence[int]] | None = None
    ) -> Float[Tensor, "circuit pair"]:
        """Logit difference of every circuit on every pair."""
        return difference(run_circuits(self.model, self.own, self.absent[ablation], kept, places), self.contrast)

    def faithfulness(
        self, kept: Bool[Tensor, "circuit edge"], ablation: Ablation = "other"
    ) -> Float[np.ndarray, " circuit"]:
        """(m(C) - m(none)) / (m(M) - m(none)), ratio of means over pairs (Wang et al. 2023, section 4)."""
        empty = self.empty[ablation].mean()
        return ((self.metric(kept, ablation).mean(-1) - empty) / (self.whole.mean() - empty)).numpy()


@dataclass(frozen=True, kw_only=True)
class Circuit:
    """Edges that were found, and where their senders matter."""

    kept: Bool[Tensor, " edge"]
    """A mark for each of `edges_of`."""
    order: Sequence[int]
    """All edges, strongest first; the circuit's are the first ones."""
    positions: Mapping[Node, Sequence[int]]


def found_circuit(benches: Sequence[Bench], size: int | None = None) -> Circuit:
    """The strongest edges for some contrasts at once: as many as keep `ENOUGH` of each, or as many as are asked for.

    An edge is as strong as the largest share of any contrast that is lost when it alone is cut.
    """
    model = benches[0].model
    n = len(edges_of(model))
    alone = ~torch.eye(n, dtype=torch.bool)
    strength = np.max([abs(1 - bench.faithfulness(alone)) for bench in benches], axis=0)
    order = [int(i) for i in np.argsort(-strength, kind="stable")]
    nested = first_of(order, range(n + 1))
    if size is None:
        worst = np.min([bench.faithfulness(nested) for bench in benches], axis=0)
        size = next(k for k in range(n + 1) if worst[k] >= ENOUGH)
    return Circuit(kept=nested[size], order=order, positions=_positions(benches))


def first_of(order: Sequence[int], sizes: Sequence[int]) -> Bool[Tensor, "size edge"]:
    """The first k edges of an order, for every size k."""
    kept = torch.zeros(len(sizes), len(order), dtype=torch.bool)
    for row, k in enumerate(sizes):
        kept[row, list(order[:k])] = True
    return kept


def of_senders(model: Transformer, kept: Bool[Tensor, " edge"]) -> Bool[Tensor, " edge"]:
    """The circuit of whole nodes: every edge out of a node that sends along a kept one."""
    edges = edges_of(model)
    senders = {edge.sender for edge, is_kept in zip(edges, kept.tolist(), strict=True) if is_kept}
    return torch.tensor([edge.sender in senders for edge in edges])


def random_like(
    model: Transformer, kept: Bool[Tensor, " edge"], n: int, generator: Generator
) -> Bool[Tensor, "circuit edge"]:
    """Random circuits with as many edges into queries, keys, values, MLPs and logits as a given one."""
    ports = [edge.port for edge in edges_of(model)]
    drawn = torch.zeros(n, len(ports), dtype=torch.bool)
    for port in dict.fromkeys(ports):
        own = torch.tensor([i for i, other in enumerate(ports) if other == port])
        for row in drawn:
            row[own[torch.randperm(len(own), generator=generator)[: int(kept[own].sum())]]] = True
    return drawn


def halves(contrasts: Sequence[Contrast]) -> list[tuple[Contrast, Contrast]]:
    """Every other group of words of each contrast, and the rest: nothing is judged on what it was found on.

    One circuit is found for all contrasts, so that all are split alike: a group that one of them is searched on is
    judged in none. Groups that the same contrasts have are halved by themselves, so that each contrast is.
    """
    having = {group: [group in contrast.groups for contrast in contrasts] for one in contrasts for group in one.groups}
    first = set(sorted(having, key=lambda group: (having[group], group))[::2])
    split = []
    for contrast in contrasts:
        rows: tuple[list[int], list[int]] = ([], [])
        for i, group in enumerate(contrast.groups):
            rows[group not in first].append(i)
        split.append((only(contrast, rows[0]), only(contrast, rows[1])))
    return split


def _positions(benches: Sequence[Bench]) -> dict[Node, list[int]]:
    """Where each head and MLP matters to any contrast."""
    places: dict[Node, list[int]] = {}
    for bench in benches:
        contrast, pos = bench.contrast, bench.contrast.clean.shape[1]
        sites = {
            (node, p): Site(kind="mlp_out" if node.head is None else "z", layer=node.layer, head=node.head, position=p)
            for node in nodes_of(bench.model)[1:]
            for p in range(pos)
        }
        _, others = cached(bench.model, contrast.other, sorted({site.name for site in sites.values()}))
        patched = difference(sweep(bench.model, contrast.clean, list(sites.values()), others), contrast).mean(-1)
        lost = (bench.whole.mean() - patched) / (bench.whole.mean() - bench.empty["other"].mean())
        for (node, p), share in zip(sites, lost.tolist(), strict=True):
            known = places.setdefault(node, [])
            if abs(share) > MATTERS and p not in known:
                known.append(p)
    return places
