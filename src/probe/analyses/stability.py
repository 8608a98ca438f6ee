"""The same circuit over training seeds? Heads are matched by what they do, never by their index.

A head's number is an accident of its seed: L0H2 of one run may be L0H0 of the next. So each head is described by its
causal effects (when its output comes from the other sentence, and along every kind of edge that it reads or writes),
and the heads of two runs are matched, layer by layer, so that these descriptions differ least (Kuhn 1955, the
assignment problem). What is stable is what stays after that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from probe.intervals import bootstrap_interval, share_interval
from probe.paths import EMBEDDING, Node
from probe.result import AnalysisResult, Provenance

PRESENT = 0.1
"""An edge or a head belongs to a run's circuit from this share of the effect on."""

Tables = Mapping[str, tuple[pd.DataFrame, pd.DataFrame]]
"""Contrast -> the nodes and the edges of its trace."""
Deeds = dict[str, dict[str, float]]
"""Head -> what it does -> how much of the effect goes with it."""


def stability(runs: Mapping[str, Tables], provenance: Provenance) -> AnalysisResult:
    """Compare the circuits of runs that differ in their seed.

    Args:
        runs: name of the run -> its traces; at least two. A contrast that was not traced in a run says nothing of it:
            the run does not count there.
        provenance: of one of them.

    Returns:
        Rows `what, subject, value, low, high, n`. `what` is `edge kind` (subject: readers and senders without a head's
        number; value: share of runs that have it, Wilson interval over runs), `head` (subject: head of the run that
        is most like all others, and a deed; value: its mean over the matched heads, bootstrap over runs), or `overlap`
        (subject: how heads are paired; value: Jaccard overlap of the circuits' edges, mean over pairs of runs,
        bootstrap over runs; no interval where there is one pair).
    """
    names = list(runs)
    deeds = {name: deeds_of(tables) for name, tables in runs.items()}
    likeness = {(a, b): matched(deeds[a], deeds[b]) for a in names for b in names}
    medoid = min(names, key=lambda a: sum(distance(deeds[a], deeds[b], likeness[a, b]) for b in names))
    rows = _edge_kinds(runs)
    for head, own in deeds[medoid].items():
        for deed in own:
            asked = [b for b in names if any(deed.endswith(f"({contrast})") for contrast in runs[b])]
            values = [deeds[b][likeness[medoid, b][head]].get(deed, 0.0) for b in asked]
            if max(map(abs, values)) >= PRESENT:
                low, high = bootstrap_interval(values)
                subject = {"what": "head", "subject": f"{head}: {deed}", "value": float(np.mean(values))}
                rows.append({**subject, "low": low, "high": high, "n": len(values)})
    edges = {name: _present(tables) for name, tables in runs.items()}
    for how in ("by what they do", "by number"):
        pairs = {}
        for a, b in combinations(names, 2):
            shared = runs[a].keys() & runs[b].keys()
            if shared:
                renamed = _renamed(edges[b], likeness[b, a] if how == "by what they do" else {})
                pairs[a, b] = jaccard(_of(shared, edges[a]), _of(shared, renamed))
        if not pairs:
            continue
        low, high = _over_runs(pairs, names)
        subject = {"what": "overlap", "subject": how, "value": float(np.mean(list(pairs.values())))}
        rows.append({**subject, "low": low, "high": high, "n": len(names)})
    return AnalysisResult(
        name="stability",
        table=pd.DataFrame(rows),
        unit="share",
        maximum=1.0,
        floor="0: nothing in common",
        convention=f"edges and heads from {PRESENT} of the effect on; heads matched layer by layer by what they do",
        provenance=provenance,
        details={"runs": names, "medoid": medoid, "matches": {name: likeness[medoid, name] for name in names}},
    )


def deeds_of(tables: Tables) -> Deeds:
    """What every head does: its effect where it writes, and along every kind of edge.

    The number of a head at the other end of an edge is left out, because that too is an accident.
    """
    deeds: Deeds = {}
    for contrast, (nodes, edges) in tables.items():
        for row in nodes.to_dict("records"):
            if Node.named(row["node"]).head is not None:
                _add(deeds, row["node"], f"{row['metric']} at {row['role']} ({contrast})", row["value"])
        for row in edges.to_dict("records"):
            if _is_head(row["receiver"]):
                deed = f"reads {kind(row['sender'])} by its {PORTS[row['port']]} ({contrast})"
                _add(deeds, row["receiver"], deed, row["value"])
            if _is_head(row["sender"]):
                deed = f"writes to {_reader(row)} ({contrast})"
                _add(deeds, row["sender"], deed, row["value"])
    return deeds


PORTS = {"q": "queries", "k": "keys", "v": "values"}


def kind(node: str) -> str:
    """A node without the number of its head.

    >>> kind("L0H2"), kind("MLP1"), kind("embedding")
    ('heads of layer 0', 'MLP1', 'words')
    """
    if node == str(EMBEDDING):
        return "words"
    return f"heads of layer {Node.named(node).layer}" if _is_head(node) else node


def _reader(row: Mapping[str, Any]) -> str:
    return f"the {PORTS[row['port']]} of {kind(row['receiver'])}" if row["port"] in PORTS else row["receiver"]


def _is_head(node: str) -> bool:
    return node != "logits" and Node.named(node).head is not None


def _add(deeds: Deeds, head: str, deed: str, value: float) -> None:
    own = deeds.setdefault(head, {})
    own[deed] = own.get(deed, 0.0) + value


def matched(first: Deeds, second: Deeds) -> dict[str, str]:
    """Heads of one run -> heads of another, in the same layer, so that what they do differs least."""
    pairs: dict[str, str] = {}
    for layer in sorted({Node.named(head).layer for head in first}):
        own, others = (sorted(h for h in deeds if Node.named(h).layer == layer) for deeds in (first, second))
        costs = [[_differs(first[a], second[b]) for b in others] for a in own]
        for a, b in zip(*linear_sum_assignment(np.array(costs)), strict=True):
            pairs[own[a]] = others[b]
    return pairs


def distance(first: Deeds, second: Deeds, pairs: Mapping[str, str]) -> float:
    """How much two runs differ, once their heads are matched."""
    return sum(_differs(first[a], second[b]) for a, b in pairs.items())


def _differs(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    return sum(abs(a.get(deed, 0.0) - b.get(deed, 0.0)) for deed in {*a, *b})


def jaccard(a: set[Any], b: set[Any]) -> float:
    """|A and B| / |A or B|; 1 where both are empty.

    >>> jaccard({1, 2}, {2, 3})
    0.3333333333333333
    """
    return len(a & b) / len(a | b) if a | b else 1.0


def _present(tables: Tables) -> set[tuple[str, str, str, str]]:
    """The edges of a run's circuits: contrast, sender, receiver, port."""
    return {
        (contrast, row["sender"], row["receiver"], row["port"])
        for contrast, (_, edges) in tables.items()
        for row in edges.to_dict("records")
        if abs(row["value"]) >= PRESENT
    }


def _of(contrasts: Set[str], edges: set[tuple[str, str, str, str]]) -> set[tuple[str, str, str, str]]:
    return {edge for edge in edges if edge[0] in contrasts}


def _renamed(edges: set[tuple[str, str, str, str]], names: Mapping[str, str]) -> set[tuple[str, str, str, str]]:
    return {(c, names.get(sender, sender), names.get(receiver, receiver), port) for c, sender, receiver, port in edges}


def _edge_kinds(runs: Mapping[str, Tables]) -> list[dict[str, Any]]:
    """Kinds of edges, and the share that have one of the runs in which their contrast was traced."""
    counts: dict[tuple[str, str], int] = {}
    for tables in runs.values():
        kinds = {
            (contrast, f"{kind(sender)} → {_reader({'receiver': receiver, 'port': port})} ({contrast})")
            for contrast, sender, receiver, port in _present(tables)
        }
        for one in kinds:
            counts[one] = counts.get(one, 0) + 1
    rows = []
    for (contrast, name), count in counts.items():
        n = sum(contrast in tables for tables in runs.values())
        low, high = share_interval(count, n)
        rows.append({"what": "edge kind", "subject": name, "value": count / n, "low": low, "high": high, "n": n})
    return sorted(rows, key=lambda row: (-row["value"], row["subject"]))


def _over_runs(pairs: Mapping[tuple[str, str], float], names: Sequence[str]) -> tuple[float, float]:
    """Bootstrap over runs of a mean over pairs of runs: pairs of a run with itself, drawn twice, are left out.

    One pair has no spread, and so no interval.
    """
    if len(pairs) == 1:
        return float("nan"), float("nan")
    n = len(names)
    square = np.full((n, n), np.nan)
    for (a, b), value in pairs.items():
        square[names.index(a), names.index(b)] = square[names.index(b), names.index(a)] = value
    generator = np.random.default_rng(0)
    means = []
    for _ in range(2_000):
        drawn = generator.integers(n, size=n)
        values = square[np.ix_(drawn, drawn)]
        if not np.isnan(values).all():
            means.append(np.nanmean(values))
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
