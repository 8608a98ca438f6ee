"""A report's material made by hand: no model, no training, every number known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pictures import uniform, view_of
from probe import store
from probe.models.config import make_config
from probe.report.material import Material
from probe.result import AnalysisResult, Provenance
from probe.tasks.dataset import make_dataset, order_blind_counts
from probe.tasks.spec import load_task
from probe.training.config import TrainingConfig

FIRST = "the animal did not cross the street because it was too tired , so the".split()
SECOND = "the animal did not cross the street because it was too wet , so the".split()
SOURCE = Provenance(
    task_digest="t", model_digest="m", seed=0, versions={"probe": "1"}, threads=1, dtype="float32", git_commit=None
)


def result(name: str, rows: Sequence[dict[str, Any]], **details: Any) -> AnalysisResult:
    """A table as an analysis would return it."""
    return AnalysisResult(
        name=name,
        table=pd.DataFrame(list(rows)),
        unit="share",
        maximum=1.0,
        floor="0",
        convention="by hand",
        provenance=SOURCE,
        details=details,
    )


def pattern(n: int, layers: int, heads: int, seed: int = 0) -> np.ndarray:
    """Attention whose rows differ: random, causal, each row a distribution."""
    scores = np.random.default_rng(seed).normal(size=(layers, heads, n, n)) * 2
    weights = np.exp(scores) * np.tril(np.ones((n, n)))
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


def material(
    folder: Path,
    first: Sequence[str] = FIRST,
    second: Sequence[str] | None = SECOND,
    steps: Sequence[int] = (0, 100, 200),
) -> Material:
    """What is known of a two-block model that looks at random and of which one path causes the answer."""
    dataset = make_dataset(load_task("winograd-hard"))
    view = view_of(*([first] if second is None else [first, second]))
    sentences = tuple(
        replace(sentence, weights=weights, block_means=weights.mean(axis=1))
        for number, sentence in enumerate(view.sentences)
        for weights in [pattern(len(first), 2, 4, number)]
    )
    view = replace(view, sentences=sentences)
    manifest = {
        "task": "winograd-hard", "spec": dict(dataset.spec.source), "task_digest": dataset.spec.digest, "data_seed": 0,
        "data_sha256": dataset.digest, "variant": "two-block", "training": TrainingConfig().as_dict(), "threads": 1,
        "dtype": "float32", "versions": {"python": "3"}, "git_commit": None, "argv": ["train"],
    }  # fmt: skip
    config = make_config("two-block", d_vocab=len(dataset.vocabulary), n_ctx=18).as_dict()
    run = store.create_run(folder, "by-hand", manifest, config, dataset.vocabulary)
    score = {"referent_accuracy": 0.9, "distractor_rate": 0.1, "pair_accuracy": 0.9, "ties": 0, "n": 120}
    metrics = [
        {
            "step": step,
            "loss": 3.0 - step / 100,
            "validation": {**score, "referent_accuracy": step / 200},
            "held_out": score,
        }
        for step in (0, 50, 100, 150, 200)
    ]
    summary = {"run": run.name, "steps": 200, "seed": 0, "held_out": score, "untrained": {"held_out": score}}
    return Material(
        run=run,
        dataset=dataset,
        counts=order_blind_counts(dataset),
        summary={**summary, "validation": score},
        metrics=metrics,
        parameters={"W_E": 2304, "W_pos": 1152, "blocks.0.attn.W_QKV": 12288, "blocks.1.mlp.W_in": 16384, "_W_U": 2304},
        view=view,
        along=_along(first, steps) if steps else None,
        results=_results(first),
    )


def _along(tokens: Sequence[str], steps: Sequence[int]) -> AnalysisResult:
    n = len(tokens)
    query, key = np.tril_indices(n)
    frames = []
    for step in steps:
        weights = uniform(n, 2, 4) if step == 0 else pattern(n, 2, 4, step)
        for layer in range(2):
            for head in range(4):
                columns = {"sentence": 0, "layer": layer, "head": head, "query": query, "key": key, "metric": "weight"}
                frames.append(pd.DataFrame({**columns, "value": weights[layer, head, query, key], "step": step}))
    details = {"sentences": [list(tokens)], "n_layers": 2, "n_heads": 4}
    return replace(result("attention-along", [], **details), table=pd.concat(frames, ignore_index=True))


def _results(tokens: Sequence[str]) -> dict[str, AnalysisResult]:
    """One path: words → L0H1 by its queries → MLP0 → L1H2 by its values → logits."""
    last = len(tokens) - 1
    place = min(11, last)
    roles = {str(i): token for i, token in enumerate(tokens)} | {str(place): "adjective", str(last): "answer's place"}
    rates = [
        {"split": split, "condition": condition, "metric": metric, "n": 120, "value": value}
        | {"low": max(0.0, value - 0.1), "high": min(1.0, value + 0.1), "groups": 15}
        for split in ("validation", "held_out")
        for condition, values in (("trained", (0.9, 0.1, 0.9)), ("untrained", (0.0, 0.0, 0.5)))
        for metric, value in zip(("referent accuracy", "wrong noun", "pair accuracy"), values, strict=True)
    ]
    parts = [f"L{layer}H{head}" for layer in range(2) for head in range(4)] + ["MLP0", "MLP1"]
    strong = {("L0H1", place): 0.8, ("MLP0", place): 0.9, ("L1H2", last): 0.7}
    nodes = [
        {"node": node, "position": i, "role": roles[str(i)], "metric": metric, **_effect(strong.get((node, i), 0.0))}
        for metric in ("noising", "denoising")
        for node in sorted(parts)
        for i in range(last + 1)
    ]
    path = {("embedding", "L0H1", "q"): 0.8, ("L0H1", "MLP0", "mlp"): 0.75, ("MLP0", "L1H2", "v"): 0.7}
    path |= {("L1H2", "logits", "logits"): 0.65, ("embedding", "L0H0", "k"): 0.02}
    edges = [
        {"sender": sender, "receiver": receiver, "port": port, "metric": "noising", **_effect(value)}
        for (sender, receiver, port), value in path.items()
    ]
    ways = [
        {"layer": layer, "port": port, "source": source, "metric": "noising", **_effect(value)}
        for layer, port, source, value in (
            (0, "q", "words", 0.9),
            (1, "v", "earlier heads", 0.8),
            (1, "q", "words", 0.0),
        )
    ]
    about = {"contrast": "adjective", "pairs": 60, "roles": roles, "changed": [place]}
    told = {
        "strategy": "two hops: heads of layer 1 hear of it from earlier heads, by their values",
        "checks": {"null": 1e-7},
    }
    heads = [
        {
            "layer": layer,
            "head": head,
            "metric": metric,
            "value": 0.1 * head,
            "floor": 0.2,
            "maximum": 1.0,
            "control": 0.2,
        }
        | {"name": ""}
        for metric in ("previous token", "induction")
        for layer in range(2)
        for head in range(4)
    ]
    return _further(last, place) | {
        "accuracy": result("accuracy", rates),
        "heads": result("heads", heads),
        "trace-nodes-adjective": result("trace-nodes-adjective", nodes, **about),
        "trace-edges-adjective": result("trace-edges-adjective", edges, **about),
        "trace-ways-adjective": result("trace-ways-adjective", ways, **about, **told),
    }


def _further(last: int, place: int) -> dict[str, AnalysisResult]:
    """The circuit judged, the stream swept and read, probes and swaps: a few rows of each."""
    about = {"contrast": "adjective", "pairs": 20, "circuit": ["a", "b", "c"], "edges": 9}
    evidence = [
        {"circuit": circuit, "level": level, "ablation": ablation, "positions": "all", "n": 20}
        | {"metric": "faithfulness", **_effect(value)}
        for circuit, level, ablation, value in (
            ("found", "edge", "zero", -0.1), ("found", "edge", "resample", 0.9), ("found", "node", "resample", 1.0),
            ("random", "edge", "resample", 0.02), ("random", "node", "resample", 0.5),
        )
    ]  # fmt: skip
    sizes = [
        {"circuit": circuit, "edges": edges, "metric": "faithfulness", "value": value, "low": value, "high": value}
        for circuit, values in (("found", (0.0, 0.95, 1.0)), ("random", (0.0, 0.1, 1.0)))
        for edges, value in zip((1, 3, 9), values, strict=True)
    ]
    subsets = [
        {"metric": metric, "subset": subset, "edges": 1, **_effect(value)}
        for metric, subset, value in (("completeness", "a", 0.2), ("minimality", "b", 0.01), ("minimality", "c", 0.6))
    ]
    stream = [("resid_pre", 0, place, "adjective", 0.9), ("resid_pre", 1, last, "answer's place", 0.8)]
    sweeps = [
        {
            "kind": kind,
            "layer": layer,
            "head": None,
            "position": position,
            "role": role,
            "metric": metric,
            **_effect(value),
        }
        for kind, layer, position, role, value in stream
        for metric in ("noising", "denoising")
    ]
    lens = [
        {
            "kind": kind,
            "layer": 0,
            "position": last,
            "role": "answer's place",
            "metric": "logit difference",
            **_effect(v),
        }
        for kind, v in (("resid_pre", 0.0), ("resid_mid", 4.0), ("resid_post", 5.0))
    ]
    attribution = [
        {"node": node, "metric": metric, **_effect(value)}
        for node, metric, value in (("L0H1", "direct", 0.0), ("L1H2", "direct", 4.0), ("L0H1", "total", 3.0))
    ]
    places = [{"kind": kind, "layer": layer, "position": at, "role": role} for kind, layer, at, role, _ in stream]
    probes = [
        {
            **at,
            "head": None,
            "target": "answer",
            "metric": metric,
            "condition": "trained",
            "floor": 0.5,
            **_effect(value),
        }
        for at, value in zip(places, (0.9, 0.4), strict=True)
        for metric in ("accuracy", "selectivity")
    ]
    swaps = [
        {
            **at,
            "variable": "answer",
            "metric": "interchange accuracy",
            "condition": condition,
            "floor": 0.0,
            **_effect(v),
        }
        for condition, values in (("trained", (0.0, 0.9)), ("untrained", (0.0, 0.02)))
        for at, v in zip(places, values, strict=True)
    ]
    roles = [
        {"layer": layer, "head": head, "role": role, "position": at, "condition": "trained", "metric": "attention"}
        | _effect(0.7 if head == 1 else 0.1)
        for layer in range(2)
        for head in range(4)
        for role, at in (("adjective", place), ("answer's place", last))
    ]
    fillers = [
        {"layer": layer, "head": -1, "filler": word, "filler_group": group, "role": "adjective", "position": place}
        | _effect(value if layer else 0.3)
        for layer in range(2)
        for word, group, value in (("tired", "crosser", 0.9), ("wet", "crossed", 0.2))
    ]
    return {
        "evidence-adjective": result("evidence-adjective", evidence, **about),
        "sizes-adjective": result("sizes-adjective", sizes, **about),
        "subsets-adjective": result("subsets-adjective", subsets, **about),
        "sweeps-adjective": result("sweeps-adjective", sweeps, **about),
        "lens": result("lens", lens, **about),
        "attribution-adjective": result("attribution-adjective", attribution, **about),
        "probes": result("probes", probes),
        "interchange": result("interchange", swaps),
        "head-roles": result("head-roles", roles, visible=15),
        "answer-rows": result("answer-rows", fillers, visible=15),
    }


def _effect(value: float) -> dict[str, float]:
    spread = 0.05 if value else 0.0
    return {"value": value, "low": value - spread, "high": value + spread}
