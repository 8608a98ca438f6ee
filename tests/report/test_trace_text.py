"""A trace and its evidence in the terminal, letter by letter on tables made by hand: 80 columns, no colour."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from probe.report.evidence import attribution_text, evidence_text
from probe.report.trace import trace_text
from probe.report.training import sparkline
from probe.result import AnalysisResult, Provenance

NOWHERE = Provenance(task_digest="", model_digest="", seed=0, versions={}, threads=1, dtype="float32", git_commit=None)


def result(rows: list[dict[str, Any]], **details: Any) -> AnalysisResult:
    return AnalysisResult(
        name="", table=pd.DataFrame(rows), unit="", maximum=None, floor="", convention="", provenance=NOWHERE,
        details={"contrast": "adjective", "pairs": 24, **details},
    )  # fmt: skip


def spread(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.05, "high": value + 0.05}


def test_a_trace_from_its_sentence_to_its_checks() -> None:
    place = {"node": "L1H1", "position": 14, "role": "answer's place"}
    nodes = [{**place, "metric": metric, **spread(0.9)} for metric in ("noising", "denoising")]
    nodes += [{**place, "node": "L0H0", "metric": metric, **spread(0.0)} for metric in ("noising", "denoising")]
    edges = [
        {"sender": "embedding", "receiver": "L1H1", "port": "k", **spread(1.0)},
        {"sender": "L1H1", "receiver": "logits", "port": "logits", **spread(0.9)},
        {"sender": "L0H0", "receiver": "L1H1", "port": "q", **spread(0.01)},
    ]
    ways = [
        {"layer": 1, "port": "k", "source": "words", **spread(1.0)},
        {"layer": 1, "port": "k", "source": "earlier heads", **spread(-0.001)},
    ]
    said = trace_text("one hop", result(nodes), result(edges), result(ways), {"clean into clean": 2e-7})
    assert said == (
        "adjective (24 pairs): one hop\n"
        "\n"
        "  path: words → L1H1.k → logits   (weakest edge 0.90)\n"
        "\n"
        "  lost (95 %) when a layer sees the other sentence's words in place (an MLP may\n"
        "  have written them anew there), or what earlier heads moved of them:\n"
        "                            words                   earlier heads\n"
        "    layer 1, keys           +1.00 [+0.95, +1.05]    +0.00 [-0.05, +0.05]\n"
        "\n"
        "  parts, taken from the other sentence (noising: lost) or given to it\n"
        "  (denoising: gained):            noising                denoising\n"
        "    L1H1 at answer's place (14)   +0.90 [+0.85, +0.95]   +0.90 [+0.85, +0.95]\n"
        "\n"
        "  edges (lost when this reader alone sees the other sentence's sender):\n"
        "    embedding → L1H1 (keys)       +1.00 [+0.95, +1.05]\n"
        "    L1H1 → logits                 +0.90 [+0.85, +0.95]\n"
        "\n"
        "  checks: clean into clean:\n"
        "          largest error 2.0e-07 (hold)"
    )
    one = trace_text("one hop", result(nodes[::2]), result(edges), result(ways), {"clean into clean": 2e-7})
    assert (
        "  parts, lost when taken from the other sentence (every pair counts both ways,\n"
        "  so that denoising, what is gained when given to it, is the same number):\n"
        "    L1H1 at answer's place (14)   +0.90 [+0.85, +0.95]\n"
    ) in one


def test_where_nothing_is_to_be_explained_there_is_no_range() -> None:
    how = {"level": "edge", "ablation": "other", "positions": "all"}
    rows = [{"circuit": name, **how, "metric": "logits to explain", **spread(0.0)} for name in ("found", "untrained")]
    none = {"value": math.nan, "low": math.nan, "high": math.nan}
    for level in ("edge", "node"):
        for circuit, positions in (("found", "all"), ("found", "by role"), ("random", "all")):
            where = {"circuit": circuit, "level": level, "positions": positions, "metric": "faithfulness"}
            rows.append({**how, **where, **none})
    subsets = [
        {"metric": "completeness", "subset": name, "value": 0.0}
        for name in ("4 random halves", "into logits", "greedy: ")
    ]
    areas = {f"area, {name}, {axis}": 0.5 for name in ("found", "random") for axis in ("linear", "logarithmic")}
    said = evidence_text(result(rows, circuit=["a"], edges=3), result(subsets), result([], **areas))
    assert "nan" not in said and "range" not in said and said.count("nothing to explain") == 6


def test_evidence_is_a_range_beside_chance() -> None:
    how = {"level": "edge", "ablation": "other", "positions": "all"}
    rows = [{"circuit": "found", **how, "metric": "logits to explain", **spread(9.0)}]
    rows += [{"circuit": "untrained", **how, "metric": "logits to explain", **spread(-0.001)}]
    for level in ("edge", "node"):
        for positions in ("all", "by role"):
            where = {"level": level, "ablation": "other", "positions": positions, "metric": "faithfulness"}
            rows.append({"circuit": "found", **where, **spread(0.9 if level == "edge" else 1.1)})
        rows.append({"circuit": "random", **where, "positions": "all", **spread(0.0)})
    subsets = [
        {"metric": "completeness", "subset": "4 random halves", "value": 0.01},
        {"metric": "completeness", "subset": "into logits", "value": 0.02},
        {"metric": "completeness", "subset": "greedy: MLP0 → logits", "value": 0.3},
        {"metric": "minimality", "subset": "embedding → MLP0", "value": 0.9},
        {"metric": "minimality", "subset": "MLP0 → logits", "value": 0.001},
    ]
    areas = {f"area, {name}, {axis}": 0.5 for name in ("found", "random") for axis in ("linear", "logarithmic")}
    circuit = ["embedding → MLP0", "MLP0 → logits"]
    said = evidence_text(result(rows, circuit=circuit, edges=3), result(subsets), result([], **areas))
    assert said == (
        "evidence, adjective (24 pairs that the circuit was not found on)\n"
        "\n"
        "  circuit: 2 of 3 edges; the contrast moves the answer by 9.0 logits\n"
        "  (untrained: 0.00)\n"
        "\n"
        "  faithfulness (1: all of it) where what is cut carries the other sentence's\n"
        "  value, zero, a mean, the mean for its role, or another sentence's:\n"
        "                    all positions       by role             random, same size\n"
        "  edges: other      0.90 [0.85,0.95]    0.90 [0.85,0.95]    0.00 [-0.05,0.05]\n"
        "  nodes: other      1.10 [1.05,1.15]    1.10 [1.05,1.15]    0.00 [-0.05,0.05]\n"
        "  range over all of these: 0.90 to 1.10\n"
        "\n"
        "  completeness (0: without a subset the circuit loses what the model loses)\n"
        "    4 random halves: 0.01 on average\n"
        "    worst class, into logits: 0.02\n"
        "    greedy: MLP0 → logits: 0.30\n"
        "  minimality (largest effect that an edge has on any part of the circuit)\n"
        "    largest: embedding → MLP0 +0.90, MLP0 → logits +0.00\n"
        "    below 0.01 for this contrast: MLP0 → logits\n"
        "  size curve, area (random circuits)\n"
        "    linear axis: 0.50 (0.50)\n"
        "    logarithmic axis: 0.50 (0.50)"
    )


def test_effects_sum_and_the_largest_stands_first() -> None:
    rows = [
        {"node": "L0H0", "metric": "direct", **spread(0.5)},
        {"node": "L0H0", "metric": "direct, beyond the mean", **spread(0.4)},
        {"node": "L0H0", "metric": "total", **spread(0.3)},
        {"node": "MLP0", "metric": "direct", **spread(1.5)},
    ]
    assert attribution_text(result(rows)) == (
        "effects in logits, adjective: the direct ones sum to the difference, 2.00\n"
        "\n"
        "              direct                beyond the mean       total\n"
        "  MLP0        1.50 [1.45,1.55]\n"
        "  L0H0        0.50 [0.45,0.55]      0.40 [0.35,0.45]      0.30 [0.25,0.35]"
    )


def test_a_sparkline_keeps_first_and_last_and_its_width() -> None:
    assert sparkline([0.0, 1.0]) == "▁█"
    assert sparkline([i / 999 for i in range(1000)], width=8) == "▁▂▃▄▅▆▇█"
    assert sparkline([0.5]) == "▅"
    assert sparkline([2.0, -1.0]) == "█▁"
