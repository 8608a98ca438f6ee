"""A result says what its numbers mean, in JSON."""

import json

import pandas as pd

from probe.result import AnalysisResult, Provenance, versions


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
