"""What causes the answer, and by which way: nodes and edges with signed effects, and the strategy that they make up.

For pairs of sentences that differ in one thing (the adjective, or the order of the nouns) every part of the model is
taken from the other sentence in turn, by itself (nodes) or only as one other part sees it (edges; Wang et al. 2023,
IOI). A map does not enter: two models with the same map are told apart by what breaks them.

Effects are *noising*: logit difference lost when the clean run sees the other sentence's value, as a share of the
distance between the two runs, per pair and then averaged. 0: nothing lost; 1: the answer is that of the other
sentence. *Denoising* is the share gained by the other run when it sees the clean value. The two need not agree
(Heimersheim & Nanda 2024).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from probe.activations import Kind, Site, cached, sweep
from probe.intervals import cluster_interval
from probe.models.transformer import Transformer
from probe.paths import EMBEDDING, Node, Port, before, nodes_of, patched_paths, record
from probe.result import AnalysisResult, Provenance

MARGIN = 0.1
"""Effects below this share are not drawn into a circuit."""
HALF = 0.5
"""What carries more than half of the effect is called the way by which it goes."""


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Pairs of prompts of one length, and the answer of each; what makes them differ has a name."""

    name: str
    clean: Int[Tensor, "pair pos"]
    other: Int[Tensor, "pair pos"]
    answer: Int[Tensor, " pair"]
    """Of the clean prompt."""
    other_answer: Int[Tensor, " pair"]
    groups: Sequence[str]
    """What is resampled together for intervals."""
    roles: Mapping[int, str]
    """Position -> what stands there; the last position is where the answer is named."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """All that one contrast says about a model."""

    nodes: AnalysisResult
    edges: AnalysisResult
    ways: AnalysisResult
    """By which port and from whom each layer hears of the contrast; what the strategy is derived from."""
    strategy: str
    checks: Mapping[str, float]
    """The nulls, as largest errors: all must be near 0."""


def difference(logits: Float[Tensor, "... pair d_vocab"], contrast: Contrast) -> Float[Tensor, "... pair"]:
    """Logit of the clean answer minus logit of the other one."""
    rows = torch.arange(len(contrast.answer))
    return logits[..., rows, contrast.answer] - logits[..., rows, contrast.other_answer]


def trace(model: Transformer, contrast: Contrast, provenance: Provenance) -> Trace:
    """Trace one contrast through a model.

    Raises:
        ProbeError: a model whose residual stream is no sum (see `probe.paths.record`).
    """
    own, other = record(model, contrast.clean), record(model, contrast.other)
    clean, corrupted = difference(own.logits, contrast), difference(other.logits, contrast)
    distance = clean - corrupted

    def lost(logits: Tensor) -> Float[np.ndarray, "... pair"]:
        return ((clean - difference(logits, contrast)) / distance).numpy()

    def gained(logits: Tensor) -> Float[np.ndarray, "... pair"]:
        return ((difference(logits, contrast) - corrupted) / distance).numpy()

    def collected(name: str, rows: list[dict[str, Any]], unit: str) -> AnalysisResult:
        return AnalysisResult(
            name=f"trace-{name}-{contrast.name}",
            table=pd.DataFrame(rows),
            unit=unit,
            maximum=1.0,
            floor="0: a part that does not matter",
            convention="share of the logit difference, per pair, then averaged; 95 % cluster bootstrap over noun pairs",
            provenance=provenance,
            details={"contrast": contrast.name, "pairs": len(contrast.answer), "roles": dict(contrast.roles)},
        )

    node_rows = _nodes(model, contrast, lost, gained)
    edge_rows = _edges(model, contrast, own, other, lost)
    way_rows = _ways(model, contrast, own, other, lost)
    checks = {
        "clean into clean": float(np.abs(lost(patched_paths(model, own, own, [nodes_of(model)], [(EMBEDDING, "logits")]))).max()),
        "everything from the other run": float(
            np.abs(lost(patched_paths(model, own, other, [nodes_of(model)], [(EMBEDDING, "logits")])) - 1).max()
        ),
    }
    unit = "share of the logit difference"
    return Trace(
        nodes=collected("nodes", node_rows, unit),
        edges=collected("edges", edge_rows, unit),
        ways=collected("ways", way_rows, unit),
        strategy=_strategy(model, way_rows, node_rows),
        checks=checks,
    )


def _summary(effects: Float[np.ndarray, " pair"], groups: Sequence[str]) -> dict[str, float]:
    low, high = cluster_interval(effects, groups)
    return {"value": float(effects.mean()), "low": low, "high": high}


def _nodes(model: Transformer, contrast: Contrast, lost: Any, gained: Any) -> list[dict[str, Any]]:
    """Every head's and MLP's output at every position, taken from the other run, in both directions."""
    config = model.config
    kinds: list[Kind] = ["z", *(["mlp_out"] if config.d_mlp else [])]  # pyright: ignore[reportAssignmentType]
    sites = [
        Site(kind=kind, layer=layer, head=head, position=position)
        for layer in range(config.n_layers)
        for kind in kinds
        for head in (range(config.n_heads) if kind == "z" else [None])
        for position in contrast.roles
        if layer < config.n_layers - 1 or position == max(contrast.roles)
    ]
    names = sorted({site.name for site in sites})
    values = {which: cached(model, tokens, names)[1] for which, tokens in (("c", contrast.clean), ("o", contrast.other))}
    effects = {
        "noising": lost(sweep(model, contrast.clean, sites, values["o"])),
        "denoising": gained(sweep(model, contrast.other, sites, values["c"])),
    }
    rows = []
    for direction, by_site in effects.items():
        for site, of_site in zip(sites, by_site, strict=True):
            rows.append(
                {
                    "node": str(Node(site.layer, site.head)),
                    "position": site.position,
                    "role": contrast.roles[site.position if site.position is not None else -1],
                    "metric": direction,
                    **_summary(of_site, contrast.groups),
                }
            )
    return rows


def _edges(model: Transformer, contrast: Contrast, own: Any, other: Any, lost: Any) -> list[dict[str, Any]]:
    """Every sender, as every port of every later part sees it."""
    nodes = nodes_of(model)
    ports: list[tuple[Node, Port]] = [(node, port) for node in nodes if node.head is not None for port in ("q", "k",
    "v")] ports += [(node, "mlp") for node in nodes if node.head is None and node.layer >= 0] ports.append((EMBEDDING,
    "logits")) rows = [] for receiver, port in ports:
        senders = [node for node in nodes if before(node, receiver, port)]
        effects = lost(patched_paths(model, own, other, [[sender] for sender in senders], [(receiver, port)]))
        for sender, of_edge in zip(senders, effects, strict=True):
            rows.append(
                {
                    "sender": str(sender),
                    "receiver": "logits" if port == "logits" else str(receiver),
                    "port": port,
                    "metric": "noising",
                    **_summary(of_edge, contrast.groups),
                }
            )
    return rows


def _ways(model: Transformer, contrast: Contrast, own: Any, other: Any, lost: Any) -> list[dict[str, Any]]:
    """Per layer: what is lost when its heads see the other sentence's *words*, or what earlier *parts* made of them."""
    nodes = nodes_of(model)
    parts = [node for node in nodes if node.layer >= 0]
    rows = []
    for layer in range(model.config.n_layers):
        heads = [Node(layer, head) for head in range(model.config.n_heads)]
        together: dict[str, list[tuple[Node, Port]]] = {port: [(head, port) for head in heads] for port in ("q", "k",
        "v")}  # pyright: ignore together["all"] = [(head, port) for head in heads for port in ("q", "k", "v")]  #
        pyright: ignore for port, receivers in together.items():
            effects = lost(patched_paths(model, own, other, [[EMBEDDING], parts], receivers))
            for source, of_way in zip(("words", "earlier parts"), effects, strict=True):
                rows.append(
                    {"layer": layer, "port": port, "source": source, "metric": "noising", **_summary(of_way,
                    contrast.groups)}
                )
        if model.config.d_mlp:
            receiver: list[tuple[Node, Port]] = [(Node(layer), "mlp")]
            effects = lost(patched_paths(model, own, other, [[EMBEDDING], parts], receiver))
            for source, of_way in zip(("words", "earlier parts"), effects, strict=True):
                rows.append(
                    {"layer": layer, "port": "mlp", "source": source, "metric": "noising", **_summary(of_way,
                    contrast.groups)}
                )
    return rows


def _strategy(model: Transformer, ways: list[dict[str, Any]], nodes: list[dict[str, Any]]) -> str:
    """Name the way by which the contrast reaches the answer, from the effects alone.

    Two hops: later heads lose more than half when they no longer see what *earlier parts* made of the contrast, named
    after the port through which most of it goes. One hop: they lose it when they see the other *words*; gated, where
    the keys carry it (softmax competition). Selected in the MLP: no head that late, but an MLP's output carries more
    than half.
    """

    def share(source: str, port: str, layers: Sequence[int]) -> tuple[float, int]:
        found = [(w["value"], w["layer"]) for w in ways if w["source"] == source and w["port"] == port and w["layer"] in layers]
        return max(found, default=(0.0, -1))

    layers = range(model.config.n_layers)
    composed, late = share("earlier parts", "all", layers[1:])
    if composed > HALF:
        by_port = {port: share("earlier parts", port, [late])[0] for port in ("q", "k", "v")}
        port = max(by_port, key=by_port.__getitem__)
        named = {"q": "query", "k": "key", "v": "value"}[port]
        if by_port[port] <= HALF:
            return f"two hops: heads of layer {late} depend on earlier parts by several ports together"
        return f"two hops: heads of layer {late} hear of it from earlier parts, by their {named}s"
    mlp = max(
        (n["value"] for n in nodes if n["node"].startswith("MLP") and n["metric"] == "noising"), default=0.0
    )
    read, layer = share("words", "all", layers)
    if read <= HALF and mlp <= HALF:
        return "no circuit of one or two hops: no single layer's reading carries half of it"
    keys, values = share("words", "k", [layer])[0], share("words", "v", [layer])[0]
    if mlp > HALF:
        return f"one hop: heads of layer {layer} read the words, an MLP selects"
    if keys > HALF and keys >= values:
        return f"one hop: heads of layer {layer} read the words, gated by the keys (softmax competition)"
    return f"one hop: heads of layer {layer} read the words, by their values"
