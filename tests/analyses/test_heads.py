"""Head scores on maps whose value is known, the control of a fixed distance, and compositions."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support import SHAPES, perturbed
from torch import Generator

from probe.analyses.heads import (
    composition,
    composition_scores,
    copying_scores,
    duplicate_token,
    first_token,
    head_scores,
    induction,
    previous_token,
    repeats,
    uniform_floor,
)
from probe.errors import ProbeError
from probe.models.config import ModelConfig
from probe.models.handmade import induction_model
from probe.models.hooked import HookedTransformer
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


def test_a_head_by_fixed_distance_is_told_by_its_control() -> None:
    """A head that looks 5 back would be perfect with one period. Over many it is not, and it is not named."""
    model = induction_model()
    for parameter in (model.blocks[1].attn.W_QKV, model.blocks[1].attn.b_QKV):
        parameter.data.zero_()
    q, k, _ = model.blocks[1].attn.projections().data[:, 0]
    positions = slice(24, 24 + 48)
    for position in range(5, 48):
        q[position - 5, positions.start + position] = 40.0
    k[:48, positions] = torch.eye(48)
    rows = head_scores(model, 24, 48, NOWHERE, n=8).table.to_dict("records")
    late = {row["metric"]: row for row in rows if row["layer"] == 1}
    assert late["induction"]["value"] < 0.3
    assert late["induction"]["control"] > 0.9
    assert late["induction"]["name"] == ""


def test_any_hooked_model_is_scored_alike() -> None:
    model = perturbed(ModelConfig(**SHAPES))
    ours, hooked = (head_scores(m, 11, 7, NOWHERE, n=4).table for m in (model, HookedTransformer(model)))
    assert ours["value"].to_numpy() == pytest.approx(hooked["value"].to_numpy(), abs=1e-6)


def test_copying_is_1_for_a_copier_and_minus_1_for_its_opposite() -> None:
    model = induction_model()
    assert copying_scores(model)[1, 0].item() == pytest.approx(1.0, abs=1e-4)
    model.blocks[1].attn.W_ZO.data.neg_()
    assert copying_scores(model)[1, 0].item() == pytest.approx(-1.0, abs=1e-4)


def test_composition_of_random_square_matrices_is_one_over_the_root_of_the_width() -> None:
    generator = Generator().manual_seed(0)
    width = 256
    values = [composition(*torch.randn(2, width, width, generator=generator)) for _ in range(5)]
    assert sum(values) / 5 == pytest.approx(width**-0.5, rel=0.02)


def test_the_induction_model_composes_by_keys() -> None:
    rows = composition_scores(induction_model(), NOWHERE).table.set_index("metric")["value"]
    assert rows["K"] > 2 * rows["Q"]
    assert rows["V"] == 0.0
