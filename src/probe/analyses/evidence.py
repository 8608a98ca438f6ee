"""What stands behind a circuit: faithfulness, completeness, minimality, and what random circuits of its size reach.

One figure would be no evidence: the same circuit's faithfulness runs from below 0 to far above 1 with what cut edges
carry, whether edges or whole nodes are cut, and where (Miller et al. 2024, "Transformer Circuit Faithfulness Metrics
Are Not Robust"). So the whole range is shown, beside size-matched random circuits and the same search on an untrained
model; and the circuit is judged on noun pairs that it was not found on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from probe.circuits import ABLATIONS, Ablation, edges_of
from probe.contrasts import FEWEST, Contrast, answered
from probe.discovery import Bench, Circuit, first_of, found_circuit, halves, of_senders, random_like
from probe.intervals import cluster_interval, ratio_interval
from probe.models.transformer import Transformer
from probe.result import AnalysisResult, Provenance

GREEDY = 5
"""Edges that the greedy search for what is missing takes away."""

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What stands behind the circuit, for one contrast.

    In every table `value` is a share of the logit difference (0: what is left when every edge is cut, 1: all of it),
    with `low, high`. `details` hold the circuit's edges, and how many there are in all.
    """

    faithfulness: AnalysisResult
    """Rows `circuit` (found, untrained, random), `level` (edge, node), `ablation` (what cut edges carry), `positions`
    (all, by role), `metric, value, low, high, n`. One metric, `logits to explain`, is in logits. No value where there
    is nothing to be faithful to."""
    subsets: AnalysisResult
    """Rows `metric, subset, edges, value, low, high`: what the circuit misses (`completeness`, 0: nothing), and the
    most that each of its edges does (`minimality`, 0: it is idle)."""
    sizes: AnalysisResult
    """Rows `circuit` (found, random), `edges, metric, value, low, high`: faithfulness of the strongest edges, so many;
    the areas under both curves are in `details`."""


def evidence(
    model: Transformer,
    untrained: Transformer,
    contrasts: Sequence[Contrast],
    provenance: Provenance,
    draws: int = 40,
    seed: int = 0,
) -> list[Evidence]:
    """Find one circuit for all contrasts of a model, and put it to every test, contrast by contrast.

    Args:
        model: whose circuit.
        untrained: the same before training.
        contrasts: those are left out of which either half, the one to find the circuit on or the one to judge it on,
            has fewer than `FEWEST` pairs that are answered right both ways, or fewer than two groups.
        provenance: of the run.
        draws: random circuits beside the one found; completeness tries a third as many random subsets.
        seed: of all draws.

    Returns:
        An `Evidence` for each contrast that is left.

    Raises:
        ProbeError: a model whose residual stream is no sum (see `probe.paths.record`).
    """
    generator = Generator().manual_seed(seed)
    right = [answered(model, contrast) for contrast in contrasts]
    asked = [split for split in halves(right) if all(len(h) >= FEWEST and len(set(h.groups)) >= 2 for h in split)]
    if not asked:
        return []
    searched, judged = zip(*asked, strict=True)
    circuit = found_circuit([Bench(model, contrast, generator) for contrast in searched])
    size = int(circuit.kept.sum())
    control = found_circuit([Bench(untrained, contrast, generator) for contrast in searched], size)
    edges = [str(edges_of(model)[i]) for i in circuit.order[:size]]
    results = []
    for contrast in judged:
        bench, beside = Bench(model, contrast, generator), Bench(untrained, contrast, generator)
        collect = _collected(contrast, edges, len(edges_of(model)), provenance)
        ranges = _ranges(bench, circuit, "found") + _ranges(beside, control, "untrained")
        ranges += _random(bench, circuit, draws, generator)
        subsets = _completeness(bench, circuit.kept, draws // 3, generator) + _minimality(
            bench, circuit.kept, draws // 10, generator
        )
        sizes, areas = _sizes(bench, circuit.order, draws // 4, generator)
        results.append(
            Evidence(
                faithfulness=collect("evidence", ranges),
                subsets=collect("subsets", subsets),
                sizes=collect("sizes", sizes, areas),
            )
        )
    return results


def _collected(
    contrast: Contrast, edges: Sequence[str], of: int, provenance: Provenance
) -> Callable[..., AnalysisResult]:
    """What makes a result of rows."""

    def collect(name: str, rows: list[Row], more: Mapping[str, Any] | None = None) -> AnalysisResult:
        details = {"contrast": contrast.name, "pairs": len(contrast), "circuit": list(edges), "edges": of}
        return AnalysisResult(
            name=f"{name}-{contrast.name}",
            table=pd.DataFrame(rows),
            unit="share of the logit difference",
            maximum=None,
            floor="0: what is left when every edge is cut; random circuits of the same size beside it",
            convention="(m(C) - m(none)) / (m(M) - m(none)), ratio of means; found on half of the noun pairs, judged "
            "on the other half; 95 % cluster bootstrap over noun pairs, for random circuits the middle 95 % of them; "
            "no value where m(M) - m(none) cannot be told from 0: there is nothing to be faithful to",
            provenance=provenance,
            details=details | dict(more or {}),
        )

    return collect


# -- faithfulness ------------------------------------------------------------------------------------------------


def _ranges(bench: Bench, circuit: Circuit, name: str) -> list[Row]:
    """One circuit, at everything that one can do to what is no part of it."""
    rows = [_to_explain(bench, name)]
    for ablation in ABLATIONS:
        for level, kept in (("edge", circuit.kept), ("node", of_senders(bench.model, circuit.kept))):
            for positions, places in (("all", None), ("by role", circuit.positions)):
                metric = bench.metric(kept[None], ablation, places)[0]
                how = {"circuit": name, "level": level, "ablation": ablation, "positions": positions}
                rows.append({**how, "metric": "faithfulness", **_share(bench, metric, ablation)})
    return rows


def _share(bench: Bench, metric: Float[Tensor, " pair"], ablation: Ablation) -> Row:
    """Faithfulness with its interval; none where there is nothing to be faithful to."""
    above, below = ((m - bench.empty[ablation]).tolist() for m in (metric, bench.whole))
    groups = bench.contrast.groups
    if _nothing_to_explain(bench, ablation):
        return {"value": math.nan, "low": math.nan, "high": math.nan, "n": len(groups)}
    low, high = ratio_interval(above, below, groups)
    return {"value": sum(above) / sum(below), "low": low, "high": high, "n": len(groups)}


def _nothing_to_explain(bench: Bench, ablation: Ablation) -> bool:
    """Whether what the whole model adds to an empty circuit cannot be told from 0."""
    least, most = cluster_interval((bench.whole - bench.empty[ablation]).tolist(), bench.contrast.groups)
    return least <= 0 <= most


def _to_explain(bench: Bench, name: str) -> Row:
    """What the contrast moves the logits by: what there is to be faithful to."""
    moved = (bench.whole - bench.empty["other"]).tolist()
    low, high = cluster_interval(moved, bench.contrast.groups)
    how = {"circuit": name, "level": "edge", "ablation": "other", "positions": "all", "metric": "logits to explain"}
    return {**how, "value": sum(moved) / len(moved), "low": low, "high": high, "n": len(moved)}


def _random(bench: Bench, circuit: Circuit, draws: int, generator: Generator) -> list[Row]:
    """Random circuits of the same size: edges by what they read into, nodes by kind; as `_share`, or no value."""
    rows = []
    hollow = [ablation for ablation in ABLATIONS if _nothing_to_explain(bench, ablation)]
    drawn = {"edge": random_like(bench.model, circuit.kept, draws, generator)}
    drawn["node"] = _random_nodes(bench, circuit.kept, draws, generator)
    for level, kept in drawn.items():
        for ablation in ABLATIONS:
            values = np.full(len(kept), math.nan) if ablation in hollow else bench.faithfulness(kept, ablation)
            low, high = np.quantile(values, [0.025, 0.975])
            how = {"circuit": "random", "level": level, "ablation": ablation, "positions": "all"}
            spread = {"value": float(values.mean()), "low": float(low), "high": float(high), "n": len(values)}
            rows.append({**how, "metric": "faithfulness", **spread})
    return rows


def _random_nodes(
    bench: Bench, kept: Bool[Tensor, " edge"], draws: int, generator: Generator
) -> Bool[Tensor, "circuit edge"]:
    """All edges out of as many heads, MLPs and embeddings as a circuit has."""
    edges = edges_of(bench.model)
    chosen = {edge.sender for edge, is_kept in zip(edges, kept.tolist(), strict=True) if is_kept}
    kinds: dict[str, list[Any]] = {}
    for node in dict.fromkeys(edge.sender for edge in edges):
        kinds.setdefault("embedding" if node.layer < 0 else "MLP" if node.head is None else "head", []).append(node)
    rows = []
    for _ in range(draws):
        drawn = set()
        for nodes in kinds.values():
            order = torch.randperm(len(nodes), generator=generator).tolist()
            drawn |= {nodes[i] for i in order[: len(chosen & set(nodes))]}
        rows.append([edge.sender in drawn for edge in edges])
    return torch.tensor(rows)


# -- subsets -----------------------------------------------------------------------------------------------------


def _completeness(bench: Bench, kept: Bool[Tensor, " edge"], draws: int, generator: Generator) -> list[Row]:
    """|F(C without K) - F(M without K)| for subsets K of the circuit (Wang et al. 2023, section 4.2).

    A complete circuit loses what the model loses. Subsets: random halves, all edges into one port of one layer, and
    the worst that a greedy search finds, which is the one that hurts.
    """
    halved = _random_subsets(kept, draws, generator)
    classes = _classes(bench, kept)
    rows = []
    gaps = _gaps(bench, kept, halved)
    low, high = np.quantile(gaps, [0.025, 0.975])
    row = {"metric": "completeness", "subset": f"{draws} random halves", "edges": int(halved[0].sum())}
    rows.append({**row, "value": float(gaps.mean()), "low": float(low), "high": float(high)})
    for name, gap in zip(classes, _gaps(bench, kept, torch.stack(list(classes.values()))), strict=True):
        rows.append({"metric": "completeness", "subset": name, "edges": int(classes[name].sum()), "value": float(gap)})
    taken, gap = torch.zeros_like(kept), 0.0
    for _ in range(min(GREEDY, int(kept.sum()))):
        options = [i for i in kept.nonzero().flatten().tolist() if not taken[i]]
        tried = taken.repeat(len(options), 1)
        tried[range(len(options)), options] = True
        values = _gaps(bench, kept, tried)
        if values.max() <= gap:
            break
        taken, gap = tried[int(values.argmax())], float(values.max())
    names = [str(edges_of(bench.model)[i]) for i in taken.nonzero().flatten().tolist()]
    name = "greedy: " + ", ".join(names)
    return [*rows, {"metric": "completeness", "subset": name, "edges": int(taken.sum()), "value": gap}]


def _gaps(
    bench: Bench, kept: Bool[Tensor, " edge"], subsets: Bool[Tensor, "subset edge"]
) -> Float[np.ndarray, " subset"]:
    return abs(bench.faithfulness(kept & ~subsets) - bench.faithfulness(~subsets))


def _minimality(bench: Bench, kept: Bool[Tensor, " edge"], draws: int, generator: Generator) -> list[Row]:
    """Each edge's largest marginal effect F(C without K) - F(C without K and it), over K (Wang et al. 2023, 4.3).

    K: nothing, the others of its class, random subsets. An edge that never matters has no place in the circuit.
    """
    classes, edges = list(_classes(bench, kept).values()), edges_of(bench.model)
    halved = _random_subsets(kept, draws, generator)
    rows = []
    for i in kept.nonzero().flatten().tolist():
        mates = next(members for members in classes if members[i])
        without = torch.stack([torch.zeros_like(kept), mates, *halved])
        without[:, i] = False
        also = without.clone()
        also[:, i] = True
        effects = bench.faithfulness(kept & ~without) - bench.faithfulness(kept & ~also)
        largest = float(effects[abs(effects).argmax()])
        rows.append({"metric": "minimality", "subset": str(edges[i]), "edges": 1, "value": largest})
    return rows


def _classes(bench: Bench, kept: Bool[Tensor, " edge"]) -> dict[str, Bool[Tensor, " edge"]]:
    """The circuit's edges by what they read into: one port of one layer."""
    names = []
    for edge in edges_of(bench.model):
        where = "logits" if edge.port == "logits" else f"layer {edge.receiver.layer}'s {_PORT[edge.port]}"
        names.append(f"into {where}")
    classes = {name: kept & torch.tensor([other == name for other in names]) for name in dict.fromkeys(names)}
    return {name: members for name, members in classes.items() if members.any()}


_PORT = {"q": "queries", "k": "keys", "v": "values", "mlp": "MLP"}


def _random_subsets(kept: Bool[Tensor, " edge"], n: int, generator: Generator) -> Bool[Tensor, "subset edge"]:
    """Random halves of a circuit."""
    members = kept.nonzero().flatten()
    subsets = torch.zeros(n, len(kept), dtype=torch.bool)
    for row in subsets:
        row[members[torch.randperm(len(members), generator=generator)[: max(1, len(members) // 2)]]] = True
    return subsets


# -- sizes -------------------------------------------------------------------------------------------------------


def _sizes(bench: Bench, order: Sequence[int], draws: int, generator: Generator) -> tuple[list[Row], dict[str, Any]]:
    """Faithfulness of the k strongest edges and of k random ones, for k up to all, and the areas under the curves.

    The area on the linear axis rewards large circuits, that on the logarithmic one small ones (1: faithful at any
    size; after Mueller et al. 2025, MIB, section 4, with every size weighted as its axis weights it).
    """
    n = len(order)
    sizes = sorted({0, n, *(round(float(k)) for k in np.geomspace(1, n, 16))})
    found = bench.faithfulness(first_of(order, sizes))
    random = []
    for _ in range(draws):
        shuffled = torch.randperm(n, generator=generator).tolist()
        random.append(bench.faithfulness(first_of(shuffled, sizes)))
    spread = np.quantile(random, [0.025, 0.975], axis=0)
    rows = []
    for i, k in enumerate(sizes):
        rows.append({"circuit": "found", "edges": k, "metric": "faithfulness", "value": float(found[i])})
        row = {"circuit": "random", "edges": k, "metric": "faithfulness", "value": float(np.mean(random, axis=0)[i])}
        rows.append({**row, "low": float(spread[0][i]), "high": float(spread[1][i])})
    areas = {}
    for name, curve in (("found", found), ("random", np.mean(random, axis=0))):
        areas[f"area, {name}, linear"] = float(np.trapezoid(curve, np.array(sizes) / n))
        areas[f"area, {name}, logarithmic"] = float(np.trapezoid(curve[1:], np.log(sizes[1:]) / np.log(n)))
    return rows, areas
