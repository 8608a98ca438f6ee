"""A result says what its numbers mean, in JSON."""

import json

import pandas as pd

from probe.result import SHOWN, AnalysisResult, Provenance, versions


def test_the_meaning_of_a_result_is_everything_but_its_table():
    provenance = Provenance(
        task_digest="t", model_digest="m", seed=1, versions={"python": "3"}, threads=1, dtype="float32", git_commit=None
    )
    result = AnalysisResult(
        name="n",
        table=pd.DataFrame({"value": [1.0]}),
        unit="nats",
        maximum=None,
        floor="0",
        convention="c",
        provenance=provenance,
    )
    meaning = json.loads(json.dumps(result.meaning()))
    assert meaning.pop("provenance") == provenance.as_dict()
    assert meaning == {"name": "n", "unit": "nats", "maximum": None, "floor": "0", "convention": "c", "details": {}}


def test_versions_are_read_without_importing_torch():
    assert {"python", "torch", "transformer-lens", "numpy", "probe-circuits"} == set(versions())


def test_a_notebook_shows_what_the_numbers_mean_and_the_first_rows_escaped():
    provenance = Provenance(
        task_digest="t", model_digest="m", seed=1, versions={}, threads=1, dtype="float32", git_commit=None
    )
    table = pd.DataFrame({"token": ["<eos>"] * 11, "value": [0.25] * 10 + [None], "n": range(11)})
    result = AnalysisResult(
        name="a<b",
        table=table,
        unit="nats",
        maximum=2.0,
        floor="0 & no more",
        convention="c",
        provenance=provenance,
    )
    shown = result._repr_html_()
    assert "<eos>" not in shown and shown.count("&lt;eos&gt;") == SHOWN
    assert "a&lt;b" in shown and "0 &amp; no more" in shown and "Maximum: 2" in shown and "0.250" in shown
    assert f"{len(table) - SHOWN} more rows" in shown
    assert "style" not in shown  # colours are the notebook's own, light or dark


def test_a_notebook_shows_a_short_table_whole():
    provenance = Provenance(
        task_digest="t", model_digest="m", seed=1, versions={}, threads=1, dtype="float32", git_commit=None
    )
    result = AnalysisResult(
        name="n",
        table=pd.DataFrame({"layer": [0, 1], "value": [1.0, float("nan")]}),
        unit="u",
        maximum=None,
        floor="0",
        convention="c",
        provenance=provenance,
    )
    shown = result._repr_html_()
    assert "more rows" not in shown and "Maximum" not in shown
    assert "<td>0</td><td>1.000</td>" in shown and "<td>1</td><td>–</td>" in shown
