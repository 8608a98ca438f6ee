"""From result tables to arrays: every weight at its own layer, head, query and key."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from probe.figures.view import attention_view
from probe.result import AnalysisResult, Provenance

SOURCE = Provenance(task_digest="", model_digest="", seed=0, versions={}, threads=1, dtype="", git_commit=None)


def value(layer: int, head: int, query: int, key: int) -> float:
    return layer * 0.5 + head * 0.1 + query * 0.01 + key * 0.001


@pytest.fixture
def results() -> tuple[AnalysisResult, AnalysisResult]:
    rows = [
        {
            "sentence": 0,
            "layer": i,
            "head": h,
            "query": q,
            "key": k,
            "metric": metric,
            "value": value(i, h, q, k) + more,
        }
        for i, h, q, k in itertools.product(range(2), range(3), range(4), range(4))
        for metric, more in (("weight", 0.0), ("score", 9.0))
        if k <= q
    ]
    rest = {"unit": "", "maximum": None, "floor": "", "convention": "", "provenance": SOURCE}
    details = {"sentences": [["a", "b", "a", "c"]], "n_layers": 2, "n_heads": 3}
    table = pd.DataFrame(rows).sample(frac=1, random_state=0)
    said = pd.DataFrame(
        {"sentence": 0, "query": 3, "word": ["c", "a", "b"] * 2, "metric": ["logit"] * 3 + ["probability"] * 3}
        | {"value": [2.0, 1.0, 0.0, 0.7, 0.2, 0.1]}
    )
    attention = AnalysisResult(name="attention", table=table, details=details, **rest)
    return attention, AnalysisResult(name="prediction", table=said, **rest)


def test_weights_stand_where_the_table_says_whatever_the_order_of_its_rows(results):
    view = attention_view("t", *results, [3], [("a", "b")], ["a"])
    (sentence,) = view.sentences
    for layer, head, query, key in itertools.product(range(2), range(3), range(4), range(4)):
        expected = value(layer, head, query, key) if key <= query else 0
        assert sentence.weights[layer, head, query, key] == pytest.approx(expected)
    assert np.allclose(sentence.block_means, sentence.weights.mean(axis=1))
    assert sentence.predictions == (("c", 0.7), ("a", 0.2), ("b", 0.1))
    assert sentence.candidates == (("a", 1.0), ("b", 0.0))


def test_a_head_alone_keeps_its_name_and_its_blocks_mean(results):
    everything = attention_view("t", *results, [3], [()], [None])
    one = attention_view("t", *results, [3], [()], [None], layers=[1], heads=[2])
    assert (one.layers, one.heads) == ((1,), (2,))
    assert np.array_equal(one.sentences[0].weights[0, 0], everything.sentences[0].weights[1, 2])
    assert np.array_equal(one.sentences[0].block_means[0], everything.sentences[0].block_means[1])


def test_means_alone_have_no_heads(results):
    view = attention_view("t", *results, [3], [()], [None], heads=[])
    assert view.sentences[0].weights.shape == (2, 0, 4, 4)
    assert view.sentences[0].block_means.shape == (2, 4, 4)
