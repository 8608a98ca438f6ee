"""Circuits over seeds: the number of a head is nothing, what it does is all."""

from __future__ import annotations

import itertools

import pandas as pd
import pytest

from probe.analyses.stability import deeds_of, matched, stability
from probe.lab.selftest.check import nowhere
from probe.report.trace import stability_text


def tables(first: int, second: int) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    """A circuit of two hops: head `first` of layer 0, read by the queries of head `second` of layer 1."""
    effects = {f"L0H{first}": 1.0, f"L1H{second}": 0.9}
    nodes = [
        {"node": f"L{layer}H{head}", "role": "end", "metric": "noising", "value": effects.get(f"L{layer}H{head}", 0.0)}
        for layer in range(2)
        for head in range(4)
    ]
    edges = [
        {"sender": "embedding", "receiver": f"L0H{first}", "port": "v", "value": 1.0},
        {"sender": f"L0H{first}", "receiver": f"L1H{second}", "port": "q", "value": 1.0},
        {"sender": f"L1H{second}", "receiver": "logits", "port": "logits", "value": 0.9},
    ]
    return {"adjective": (pd.DataFrame(nodes), pd.DataFrame(edges))}


def rows(result, what: str) -> dict[str, float]:
    table = result.table[result.table.what == what]
    return dict(zip(table.subject, table.value, strict=True))


def test_the_same_circuit_under_other_numbers_is_the_same_circuit() -> None:
    runs = {f"run {a}{b}": tables(a, b) for a, b in itertools.product(range(2), range(2))}
    result = stability(runs, nowhere())
    overlap = rows(result, "overlap")
    assert overlap["by what they do"] == 1.0
    assert overlap["by number"] < 0.5
    assert set(rows(result, "edge kind").values()) == {1.0}
    deeds = rows(result, "head")
    assert deeds[f"L0H{result.details['medoid'][4]}: noising at end (adjective)"] == pytest.approx(1.0)
    assert "edges that two seeds share" in stability_text(result)


def test_heads_are_matched_inside_their_layer() -> None:
    pairs = matched(deeds_of(tables(0, 3)), deeds_of(tables(2, 1)))
    assert pairs["L0H0"] == "L0H2"
    assert pairs["L1H3"] == "L1H1"
    assert all(a[:2] == b[:2] for a, b in pairs.items())
    assert len(set(pairs.values())) == 8


def test_different_circuits_share_what_they_share_and_no_more() -> None:
    other = tables(0, 0)
    nodes, edges = other["adjective"]
    edges = edges.assign(port=["v", "k", "logits"])
    result = stability({"a": tables(0, 0), "b": {"adjective": (nodes, edges)}}, nowhere())
    assert rows(result, "overlap") == {"by what they do": 0.5, "by number": 0.5}
    assert result.table[result.table.what == "overlap"].low.isna().all(), "one pair of runs has no spread"
    assert "50%\n" in stability_text(result) and "nan" not in stability_text(result)


def test_a_contrast_that_was_not_traced_says_nothing_of_a_run() -> None:
    """Two runs with one circuit, one of them traced on less: what both were asked is the same, and all that counts."""
    twice = {name: tables(0, 1)["adjective"] for name in ("adjective", "order")}
    result = stability({"a": twice, "b": tables(0, 1)}, nowhere())
    assert set(rows(result, "overlap").values()) == {1.0}
    assert set(rows(result, "edge kind").values()) == {1.0}
    kinds = result.table[result.table.what == "edge kind"]
    assert set(kinds[kinds.subject.str.contains("order")].n) == {1}
    heads = result.table[result.table.what == "head"]
    assert set(heads[heads.subject.str.contains("order")].n) == {1} and heads.value.abs().min() > 0.8
    apart = stability({"a": tables(0, 1), "b": {"order": twice["order"]}}, nowhere())
    assert not rows(apart, "overlap"), "two runs that were asked different things share no answer"
