"""Composition of the weights: what random matrices score, and what a model made by hand does."""

from __future__ import annotations

import pytest
import torch
from support import SHAPES, perturbed
from torch import Generator

from probe.analyses.composition import composition, composition_baseline, composition_scores
from probe.models.config import ModelConfig, make_config
from probe.models.handmade import induction_model
from probe.models.hooked import HookedTransformer
from probe.models.transformer import initialised
from probe.result import Provenance

NOWHERE = Provenance(task_digest="", model_digest="", seed=0, versions={}, threads=1, dtype="float32", git_commit=None)


def test_composition_of_random_square_matrices_is_one_over_the_root_of_the_width() -> None:
    generator = Generator().manual_seed(0)
    width = 256
    values = [composition(*torch.randn(2, width, width, generator=generator)) for _ in range(5)]
    assert sum(values) / 5 == pytest.approx(width**-0.5, rel=0.02)


def test_the_baseline_knows_the_rank_and_new_weights_lie_at_it() -> None:
    mean, high = composition_baseline(64, 16)
    assert mean == pytest.approx(64**-0.5, rel=0.05)
    narrow, _ = composition_baseline(64, 2)
    assert mean < high < 1.3 * mean
    assert narrow == pytest.approx(mean, rel=0.1)
    model = initialised(make_config("two-block", d_vocab=36, n_ctx=18), Generator().manual_seed(0))
    table = composition_scores(model, NOWHERE).table
    assert table["value"].mean() == pytest.approx(mean, rel=0.03)
    assert (table["value"] > high).mean() == pytest.approx(0.05, abs=0.1)


def test_the_induction_model_composes_by_keys() -> None:
    rows = composition_scores(induction_model(), NOWHERE).table.set_index("metric")["value"]
    assert rows["K"] > 2 * rows["Q"]
    assert rows["V"] == 0.0


def test_our_model_behind_its_hook_points_scores_the_same_and_one_without_w_o_is_scored() -> None:
    model = perturbed(ModelConfig(**SHAPES))
    ours, hooked = (composition_scores(m, NOWHERE).table["value"] for m in (model, HookedTransformer(model)))
    assert ours.tolist() == hooked.tolist()
    bare = perturbed(ModelConfig(**SHAPES, output_projection=False))
    assert composition_scores(bare, NOWHERE).table["value"].between(0, 1).all()
