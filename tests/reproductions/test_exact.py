"""What is exactly so: every statement of the identities, and every size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from probe.errors import ProbeError
from probe.models.config import ModelConfig
from probe.reproductions import identities, sizes
from probe.reproductions.claims import Settings, judge
from probe.reproductions.identities import IDENTITIES
from probe.reproductions.sizes import GPT2_SMALL, SIZES, closed_form, counted

GPT2 = {"model_type": "gpt2", "vocab_size": 70, "n_positions": 9, "n_layer": 2, "n_head": 2, "n_embd": 12}


def silent(said: str) -> None:
    """Progress that nobody reads."""


@pytest.fixture(scope="module")
def numbers() -> dict:
    return {0: {job.key: job.measure(Settings(), 0, silent) for job in IDENTITIES.jobs}}


@pytest.mark.parametrize("claim", IDENTITIES.claims, ids=lambda claim: claim.statement)
def test_identity(claim, numbers: dict) -> None:
    verdict = judge(claim, numbers).verdict
    assert verdict == ("agrees" if claim.rule else "not judged")


def test_the_averaging_matrix_is_printed(numbers: dict) -> None:
    ((_, text),) = IDENTITIES.notes(numbers)
    assert text.splitlines()[1].split() == ["0.500", "0.500", "0.000", "0.000", "0.000", "0.000"]


def test_another_attention_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison with PyTorch's attention fails where ours is wrong: here its mask lets the next word through."""
    monkeypatch.setattr("probe.models.transformer.causal_mask", lambda q, k, like: torch.zeros(q, k))
    found = {0: {"identities": identities._measure(Settings(), 0, silent)}}
    failed = [claim.statement for claim in IDENTITIES.claims if judge(claim, found).failed]
    assert any("MultiheadAttention" in statement for statement in failed)


@settings(max_examples=40, deadline=None)
@given(
    d_vocab=st.integers(1, 300), n_ctx=st.integers(1, 50), n_layers=st.integers(0, 4), n_heads=st.integers(1, 4),
    d_head=st.integers(1, 9), d_model=st.integers(1, 40), d_mlp=st.integers(0, 70),
    biases=st.sampled_from(["all", "no-qkv", "none"]), tied=st.booleans(), unembed_bias=st.booleans(),
    position=st.sampled_from(["learned", "none", "alibi"]),
)  # fmt: skip
def test_the_closed_form_is_what_is_counted(**config) -> None:
    model = ModelConfig(**config)
    assert closed_form(model)["total"] == counted(model)


def test_no_closed_form_is_given_where_it_does_not_hold() -> None:
    with pytest.raises(ProbeError, match="pre-norm"):
        closed_form(ModelConfig(d_vocab=3, n_ctx=3, norm="post"))


def test_gpt2_small_to_the_digit() -> None:
    found = {0: {job.key: job.measure(Settings(), 0, silent) for job in SIZES.jobs}}
    verdicts = {claim.statement: judge(claim, found).verdict for claim in SIZES.claims}
    own = [statement for statement in verdicts if statement.startswith("your own")]
    assert {verdicts.pop(statement) for statement in own} == {"not run"}
    assert set(verdicts.values()) == {"agrees"}


def test_a_config_of_the_users(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(GPT2))
    found = sizes._measure_own(Settings(config=path), 0, silent)
    assert found["closed form"] == found["ours"] == found["theirs"]
    path.write_text(json.dumps(GPT2_SMALL.as_dict()))
    found = sizes._measure_own(Settings(config=path), 0, silent)
    assert found == {"closed form": 124_439_808, "ours": 124_439_808}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"model_type": "llama"}, "gpt2"),
        ({"vocab_size": 7}, "n_positions is missing"),
        ({"d_vocab": 7, "n_ctx": 4, "d_modle": 8}, "d_modle"),
        (GPT2 | {"n_layer": True}, "n_layer is missing or no number"),
        (GPT2 | {"n_inner": "x"}, "n_inner 'x' is no number"),
        (GPT2 | {"n_head": 5}, "n_heads|d_model"),
        (GPT2 | {"tie_word_embeddings": None}, "neither true nor false"),
        (GPT2 | {"activation_function": "no such"}, "transformers cannot build it"),
        (GPT2 | {"add_cross_attention": True}, "add_cross_attention"),
    ],
)
def test_a_config_that_does_not_fit_is_named(content: dict, message: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ProbeError, match=message) as caught:
        sizes._measure_own(Settings(config=path), 0, silent)
    assert str(path) in str(caught.value)
