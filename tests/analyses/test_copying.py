"""Copying by two definitions: on a copier, its opposite, and a head that says nothing of what it looks at."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from support import SHAPES, perturbed, tokens_for
from torch import Generator

from probe.analyses.copying import copying, copying_scores, direct_copying, raised_share
from probe.models.config import ModelConfig, make_config
from probe.models.handmade import induction_model
from probe.models.hooked import HookedTransformer
from probe.models.transformer import initialised
from probe.models.weights import head_weights
from probe.result import Provenance

NOWHERE = Provenance(task_digest="", model_digest="", seed=0, versions={}, threads=1, dtype="float32", git_commit=None)


def test_copying_is_1_for_a_copier_and_at_the_other_end_for_its_opposite() -> None:
    model = induction_model()
    tokens = torch.stack([torch.randperm(24, generator=Generator().manual_seed(i)) for i in range(3)])
    assert copying_scores(model)[1, 0].item() == pytest.approx(1.0, abs=1e-4)
    assert direct_copying(model, tokens)[1, 0].tolist() == pytest.approx([1.0] * 3, abs=1e-5)
    model.blocks[1].attn.W_ZO.data.neg_()
    assert copying_scores(model)[1, 0].item() == pytest.approx(-1.0, abs=1e-4)
    assert direct_copying(model, tokens)[1, 0].tolist() == [0.0] * 3


def test_only_the_copier_is_named() -> None:
    table = copying(induction_model(), 24, 48, NOWHERE, n=4).table
    assert table.loc[table["name"] == "copying", ["layer", "head", "metric"]].to_numpy().tolist() == [[1, 0, "copying"]]


def test_new_weights_copy_by_chance() -> None:
    model = initialised(make_config("two-block", d_vocab=36, n_ctx=18), Generator().manual_seed(0))
    table = copying(model, 36, 18, NOWHERE).table
    direct = table.loc[table["metric"] == "copying", "value"]
    assert direct.mean() == pytest.approx(1 / 36, rel=0.25)


def test_the_share_does_not_depend_on_a_constant_or_the_size_of_the_effect() -> None:
    effect = torch.randn(3, 5, 7, generator=Generator().manual_seed(0))
    tokens, weight = torch.randint(7, (3, 5), generator=Generator().manual_seed(1)), torch.ones(3, 5)
    share = raised_share(effect, tokens, weight)
    assert torch.allclose(share, raised_share(3.0 * effect + 2.0, tokens, weight), atol=1e-6)


def test_the_direct_path_and_eigenvalues_are_those_of_the_open_formula() -> None:
    """W_E W_OV W_U in full has the eigenvalues of the small matrix and zeros."""
    model = perturbed(ModelConfig(**SHAPES))
    weights = head_weights(model)
    full = weights.W_E @ weights.W_V[1, 2] @ weights.W_O[1, 2] @ weights.W_U
    values = torch.linalg.eigvals(full)
    expected = (values.sum().real / values.abs().sum()).item()
    assert copying_scores(model)[1, 2].item() == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("settings", [{}, {"output_projection": False}, {"norm": "none"}, {"norm": "post"}])
def test_any_hooked_model_is_scored_alike(settings: dict) -> None:
    model = perturbed(ModelConfig(**SHAPES, **settings))
    tokens = tokens_for(model.config)
    assert torch.allclose(direct_copying(model, tokens), direct_copying(HookedTransformer(model), tokens), atol=1e-5)


def test_a_foreign_model_is_taken_as_it_stands() -> None:
    model = induction_model()
    weights = head_weights(model)
    names = ("W_E", "W_Q", "W_K", "W_V", "W_O", "W_U")
    own = {name: getattr(weights, name) for name in names}
    norms = {"LN": True, "LNPre": True, "RMS": False, "RMSPre": False, None: False}
    for norm, centred in norms.items():
        foreign = SimpleNamespace(**own, cfg=SimpleNamespace(normalization_type=norm))
        assert torch.equal(copying_scores(foreign), copying_scores(model))
        assert head_weights(foreign).centred is centred, "an RMSNorm takes no mean off"
