"""Head scores on maps whose value is known, and the control of a fixed distance."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support import SHAPES, perturbed
from torch import Generator

from probe.analyses.heads import (
    duplicate_token,
    entropy,
    first_token,
    head_scores,
    in_context_score,
    induction,
    previous_token,
    repeats,
    scores_by_sequence,
    uniform_floor,
)
from probe.errors import ProbeError
from probe.models.config import ModelConfig
from probe.models.handmade import induction_model
from probe.models.hooked import HookedTransformer
from probe.models.transformer import Transformer
from probe.result import Provenance

NOWHERE = Provenance(task_digest="", model_digest="", seed=0, versions={}, threads=1, dtype="float32", git_commit=None)


@given(st.integers(3, 40))
def test_a_perfect_head_scores_1_and_every_other_kind_0(period: int) -> None:
    n = 2 * period
    shifted = {"previous": 1, "duplicate": period, "induction": period - 1}
    maps = {name: torch.diag(torch.ones(n - k), -k) for name, k in shifted.items()} | {"self": torch.eye(n)}
    sink = torch.zeros(n, n)
    sink[:, 0] = 1.0
    scores = {name: induction(pattern, period).item() for name, pattern in maps.items()}
    assert scores == {"previous": 0.0, "duplicate": 0.0, "induction": 1.0, "self": 0.0}
    assert induction(sink, period).item() == 0.0
    assert duplicate_token(maps["duplicate"], period).item() == previous_token(maps["previous"]).item() == 1.0
    assert first_token(sink).item() == 1.0
    by_hand = sum(1 / (q + 1) for q in range(period, n)) / period
    assert uniform_floor("induction", period) == pytest.approx(by_hand, abs=1e-6)


def test_copies_hold_distinct_tokens_and_periods_vary() -> None:
    drawn = repeats(24, 48, 5, Generator().manual_seed(0))
    assert len({sample.period for sample in drawn}) > 3
    for sample in drawn:
        first, second = sample.tokens.split(sample.period, dim=1)
        assert torch.equal(first, second)
        assert all(len(set(row.tolist())) == sample.period for row in first)
    with pytest.raises(ProbeError, match="period 3"):
        repeats(24, 5, 5, Generator())


def five_back() -> Transformer:
    """The induction model, whose second layer looks five tokens back whatever they are."""
    model = induction_model()
    for parameter in (model.blocks[1].attn.W_QKV, model.blocks[1].attn.b_QKV):
        parameter.data.zero_()
    q, k, _ = model.blocks[1].attn.projections().data[:, 0]
    positions = slice(24, 24 + 48)
    for position in range(5, 48):
        q[position - 5, positions.start + position] = 40.0
    k[:48, positions] = torch.eye(48)
    return model


def induction_of(model: Transformer, periods: tuple[int, int] | None) -> dict[str, Any]:
    rows = head_scores(model, 24, 48, NOWHERE, n=8, periods=periods).table.to_dict("records")
    return next(row for row in rows if row["layer"] == 1 and row["metric"] == "induction")


def test_a_head_by_fixed_distance_is_perfect_with_one_period_and_told_by_its_control_with_many() -> None:
    fixed = induction_of(five_back(), (6, 6))
    assert fixed["value"] == pytest.approx(1.0, abs=1e-4)
    assert fixed["control"] == pytest.approx(1.0, abs=1e-4)
    assert fixed["name"] == "", "one period cannot tell a fixed distance from induction, so nothing is named"
    varied = induction_of(five_back(), None)
    assert varied["value"] < 0.3
    assert varied["control"] > 0.9
    assert varied["name"] == ""
    real = induction_of(induction_model(), None)
    assert real["value"] == pytest.approx(1.0, abs=1e-4)
    assert real["control"] < 0.2
    assert real["name"] == "induction"


def test_periods_that_a_model_has_seen_can_be_asked_for_and_are_cut_at_its_length() -> None:
    drawn = repeats(64, 32, 4, Generator().manual_seed(0), (17, 28))
    assert [drawn[0].period, drawn[-1].period] == [17, 28]
    for sample in drawn:
        assert sample.tokens.shape == (4, 32)
        assert torch.equal(sample.tokens[:, sample.period :], sample.tokens[:, : 32 - sample.period])


@given(st.integers(2, 30), st.integers(0, 1000))
def test_entropy_lies_between_one_token_and_all_alike(n: int, seed: int) -> None:
    pattern = torch.randn(n, n, generator=Generator().manual_seed(seed)).tril().exp().tril()
    pattern /= pattern.sum(-1, keepdim=True)
    found = entropy(pattern)
    assert (found >= -1e-6).all()
    assert (found <= torch.arange(1, n + 1).log() + 1e-5).all()
    assert entropy(torch.eye(n)).abs().max() == 0.0


def test_every_score_lies_between_its_floor_and_maximum_where_a_head_is_perfect_or_knows_nothing() -> None:
    table = head_scores(induction_model(), 24, 48, NOWHERE, n=4).table
    assert (table["low"] <= table["value"] + 1e-9).all()
    assert (table["value"] <= table["high"] + 1e-9).all()
    assert (table["value"] <= table["maximum"] + 1e-4).all()
    uniform = induction_model()
    for block in uniform.blocks:
        block.attn.W_QKV.data.zero_()
        block.attn.b_QKV.data.zero_()
    table = head_scores(uniform, 24, 48, NOWHERE, n=2).table
    alike = table["maximum"].where(table["metric"].isin(["entropy", "effective tokens"]), table["floor"])
    assert table["value"].to_numpy() == pytest.approx(alike.to_numpy(), abs=1e-4)
    assert set(table["name"]) == {""}


def test_in_context_score_is_0_for_a_model_that_does_not_look_back() -> None:
    drawn = repeats(24, 48, 4, Generator().manual_seed(0))
    blind = induction_model()
    blind.blocks[1].attn.W_ZO.data.zero_()
    assert in_context_score(blind, drawn) == pytest.approx(0.0, abs=1e-5)
    assert in_context_score(induction_model(), drawn) < -10


def test_scores_by_sequence_do_not_depend_on_their_company() -> None:
    drawn = repeats(24, 20, 6, Generator().manual_seed(0))
    model = induction_model()
    together, _ = scores_by_sequence(model, drawn)
    alone, _ = scores_by_sequence(model, drawn[:1])
    assert torch.equal(together["induction"][..., :6], alone["induction"])


def test_any_hooked_model_is_scored_alike() -> None:
    model = perturbed(ModelConfig(**SHAPES))
    ours, hooked = (head_scores(m, 11, 7, NOWHERE, n=4).table for m in (model, HookedTransformer(model)))
    assert ours["value"].to_numpy() == pytest.approx(hooked["value"].to_numpy(), abs=1e-6)
