"""What causes the answer, and by which way: nodes and edges with signed effects, and the strategy that they make up.

For pairs of sentences that differ in one thing (the adjective, or the order of the nouns) every part of the model is
taken from the other sentence in turn, by itself (nodes) or only as one other part sees it (edges; Wang et al. 2023,
IOI). A map does not enter: two models with the same map are told apart by what breaks them.

Effects are *noising*: logit difference lost when the clean run sees the other sentence's value, as a share of the
distance between the two runs, per pair and then averaged. 0: nothing lost; 1: the answer is that of the other
sentence. *Denoising* is the share gained by the other run when it sees the clean value. The two need not agree
(Heimersheim & Nanda 2024), unless every pair counts both ways: then they are one measurement, and it is made once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch

from probe.activations import Site, cached, sweep
from probe.circuits import ATTENTION_PORTS
from probe.contrasts import FEWEST, Contrast, Scale, answered, patched
from probe.models.transformer import Transformer
from probe.paths import EMBEDDING, Node, Port, Recording, apart, before, nodes_of, patched_paths, record
from probe.result import AnalysisResult, Provenance

HALF = 0.5
"""What carries more than half of the effect is called the way by which it goes."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """All that one contrast says about a model.

    In every table `value` is a share of the logit difference (0: nothing, 1: all of it), with `low, high` (95 % over
    noun pairs) and `ratio_of_means`. The tables are empty where too few pairs are answered right.
    """

    nodes: AnalysisResult
    """Rows `node, position, role, metric`: what one part at one place loses (`noising`) or gains (`denoising`, where
    it is another number: see `Contrast.both_ways`)."""
    edges: AnalysisResult
    """Rows `sender, receiver, port, metric`: what is lost when this reader alone sees the other sentence's sender."""
    ways: AnalysisResult
    """Rows `layer, port, source, metric`: what a layer loses when it sees the other sentence's `words` (in place:
    themselves, and what MLPs made of them there), or what `earlier heads` moved; the strategy is derived from these."""

    @property
    def strategy(self) -> str:
        """The way by which the contrast reaches the answer, or why it is not told."""
        return self.nodes.details["strategy"]

    @property
    def checks(self) -> Mapping[str, float]:
        """The nulls, as largest errors: all must be near 0. None where nothing was traced."""
        return self.nodes.details["checks"]


def trace(model: Transformer, contrast: Contrast, provenance: Provenance) -> Trace:
    """Trace one contrast through a model.

    Returns:
        Nodes, edges and ways, in shares of the logit difference; empty, and the strategy says so, where the model
        answers fewer than eight pairs right, both ways.

    Raises:
        ProbeError: a model whose residual stream is no sum (see `probe.paths.record`).
    """
    asked, contrast = len(contrast), answered(model, contrast)
    n = len(contrast)
    if n < FEWEST:
        said = f"not traced: the model answers {n} of {asked} pairs right both ways, {FEWEST} are needed"
        return _traced(contrast, provenance, said, {})
    own, other = record(model, contrast.clean), record(model, contrast.other)
    scale = Scale.of(contrast, own.logits, other.logits)
    nodes, ways, checks = _nodes(model, scale), _ways(model, scale, own, other), _checks(model, scale, own, other)
    said = strategy(model.config.n_layers, ways, nodes)
    return _traced(contrast, provenance, said, checks, nodes, _edges(model, scale, own, other), ways)


Row = dict[str, Any]


def _traced(
    contrast: Contrast,
    provenance: Provenance,
    said: str,
    checks: Mapping[str, float],
    nodes: Sequence[Row] = (),
    edges: Sequence[Row] = (),
    ways: Sequence[Row] = (),
) -> Trace:
    """What was found, as results."""

    def result(name: str, rows: Sequence[Row]) -> AnalysisResult:
        about = {"contrast": contrast.name, "pairs": len(contrast), "roles": dict(contrast.roles)}
        about |= {"changed": list(contrast.changed)}
        return AnalysisResult(
            name=f"trace-{name}-{contrast.name}",
            table=pd.DataFrame(rows),
            unit="share of the logit difference",
            maximum=1.0,
            floor="0: a part that does not matter",
            convention="share of the logit difference, per pair, then averaged; pairs answered right both ways; 95 % "
            "cluster bootstrap over noun pairs",
            provenance=provenance,
            details=about | {"strategy": said, "checks": dict(checks)},
        )

    return Trace(nodes=result("nodes", nodes), edges=result("edges", edges), ways=result("ways", ways))


def _nodes(model: Transformer, scale: Scale) -> list[Row]:
    """Every head's and MLP's output at every position, taken from the other run; in both directions if they differ."""
    config, contrast = model.config, scale.contrast
    last = max(contrast.roles)
    sites = [
        Site(kind="mlp_out" if node.head is None else "z", layer=node.layer, head=node.head, position=position)
        for node in nodes_of(model)[1:]
        for position in contrast.roles
        if node.layer < config.n_layers - 1 or position == last
    ]
    names = sorted({site.name for site in sites})
    from_clean, from_other = (cached(model, tokens, names)[1] for tokens in (contrast.clean, contrast.other))
    rows = []
    for direction, by_site in patched(model, scale, sites, from_clean, from_other).items():
        for site, of_site in zip(sites, by_site, strict=True):
            place = {"position": site.position, "role": contrast.roles[site.position or 0]}
            node = str(Node(site.layer, site.head))
            rows.append({"node": node, **place, "metric": direction, **scale.summary(of_site)})
    return rows


def _edges(model: Transformer, scale: Scale, own: Recording, other: Recording) -> list[Row]:
    """Every sender, as every port of every later part sees it."""
    nodes = nodes_of(model)
    ports: list[tuple[Node, Port]] = [(EMBEDDING, "logits")]
    for node in nodes[1:]:
        if node.head is None:
            ports.append((node, "mlp"))
        else:
            ports.extend((node, port) for port in ATTENTION_PORTS)
    rows = []
    for receiver, port in ports:
        senders = [node for node in nodes if before(node, receiver, port)]
        effects = scale.lost(patched_paths(model, own, other, [[sender] for sender in senders], [(receiver, port)]))
        name = "logits" if port == "logits" else str(receiver)
        for sender, of_edge in zip(senders, effects, strict=True):
            edge = {"sender": str(sender), "receiver": name, "port": port, "metric": "noising"}
            rows.append({**edge, **scale.summary(of_edge)})
    return rows


def _ways(model: Transformer, scale: Scale, own: Recording, other: Recording) -> list[Row]:
    """Per reading: what is lost when it sees the other sentence's *words* in place, or what *earlier heads* moved."""
    in_place, moved = apart(model, own, other)
    everything = nodes_of(model)
    rows = []
    for layer, port, receivers in _readings(model):
        for source, recording in (("words", in_place), ("earlier heads", moved)):
            [of_way] = scale.lost(patched_paths(model, own, recording, [everything], receivers))
            rows.append({"layer": layer, "port": port, "source": source, "metric": "noising", **scale.summary(of_way)})
    return rows


def _readings(model: Transformer) -> list[tuple[int, str, list[tuple[Node, Port]]]]:
    """Layer, name and ports of what can be patched together: one port of all heads, all three of them, the MLP."""
    found: list[tuple[int, str, list[tuple[Node, Port]]]] = []
    for layer in range(model.config.n_layers):
        heads = [Node(layer, head) for head in range(model.config.n_heads)]
        for port in ATTENTION_PORTS:
            found.append((layer, port, [(head, port) for head in heads]))
        found.append((layer, "all", [(head, port) for head in heads for port in ATTENTION_PORTS]))
        if model.config.d_mlp:
            found.append((layer, "mlp", [(Node(layer), "mlp")]))
    return found


def _checks(model: Transformer, scale: Scale, own: Recording, other: Recording) -> dict[str, float]:
    """The nulls, as largest errors in shares of the logit difference; they go by the way that the effects go.

    Clean into clean: a reading that is computed anew from the clean run's own writing loses nothing. Everything from
    the other run, at the first layer: all is lost. Paths as patches: a layer that sees all that the other run
    wrote before it writes what it wrote there, so that both engines must name one number.
    """
    n_layers, everything = model.config.n_layers, nodes_of(model)
    logits: list[tuple[Node, Port]] = [(EMBEDDING, "logits")]
    readings = [*_readings(model), (0, "logits", logits)]
    nothing = torch.cat([patched_paths(model, own, own, [everything], ports) for _, _, ports in readings])
    sites = [Site(kind="resid_pre", layer=0), *(Site(kind="z", layer=layer) for layer in range(n_layers))]
    whole = ["all"]
    if model.config.d_mlp:
        sites += [Site(kind="mlp_out", layer=layer) for layer in range(n_layers)]
        whole += ["mlp"]
    from_other = cached(model, scale.contrast.other, [site.name for site in sites])[1]
    by_patch = scale.lost(sweep(model, scale.contrast.clean, sites, from_other))
    by_path = [
        patched_paths(model, own, other, [everything], ports)
        for name in whole
        for _, port, ports in readings
        if port == name
    ]
    return {
        "clean into clean": float(scale.lost(nothing).abs().max()),
        "everything from the other run": float((by_patch[0] - 1).abs().max()),
        "paths as patches": float((scale.lost(torch.cat(by_path)) - by_patch[1:]).abs().max()),
    }


def strategy(n_layers: int, ways: Sequence[Row], nodes: Sequence[Row]) -> str:
    """Name the way by which the contrast reaches the answer, from the effects alone.

    Two hops: the heads of a later layer lose more than half when they no longer see what *earlier heads* moved of the
    contrast. One hop: heads lose it when they see the other *words* in place instead. Either is named after the port
    that carries the most, if that is more than half: keys (which word is looked at changes: softmax competition),
    queries (who asks changes) or values (what is fetched changes); by several ports together, if none does. An MLP
    whose output carries more than half is named too: it moves nothing, so that it wrote the words anew before they were
    read, or it comes after the hop. Neither: no single layer's reading carries half of it.
    """

    def share(source: str, port: str, layer: int) -> float:
        fitting = (w["value"] for w in ways if (w["source"], w["port"], w["layer"]) == (source, port, layer))
        return next(fitting, 0.0)

    def by_port(source: str, layer: int, keys: str) -> str:
        port = max(ATTENTION_PORTS, key=lambda port: share(source, port, layer))
        if share(source, port, layer) <= HALF:
            return "by several ports together"
        return f"by their {({'q': 'queries', 'k': keys, 'v': 'values'})[port]}"

    late = max(range(1, n_layers), key=lambda layer: share("earlier heads", "all", layer), default=0)
    if late and share("earlier heads", "all", late) > HALF:
        return (
            f"two hops: heads of layer {late} hear of it from earlier heads, {by_port('earlier heads', late, 'keys')}"
        )
    reader = max(range(n_layers), key=lambda layer: share("words", "all", layer))
    if share("words", "all", reader) <= HALF:
        return "no circuit of one or two hops: no single layer's reading carries half of it"
    loud = [n for n in nodes if n["node"].startswith("MLP") and n["metric"] == "noising" and n["value"] > HALF]
    end = max((n["position"] for n in nodes), default=0)
    after = any(int(n["node"][3:]) >= reader and n["position"] == end for n in loud)
    what = "what an MLP made of the words" if any(int(n["node"][3:]) < reader for n in loud) else "the words"
    then = ", then through an MLP" if after else ""
    return (
        f"one hop: heads of layer {reader} read {what}, {by_port('words', reader, 'keys (softmax competition)')}{then}"
    )
