"""Rows of the answer's place: what a solver made by hand looks at, and that rows are rows."""

from __future__ import annotations

import pytest
import torch
from support import perturbed
from torch import Generator

from probe.analyses.answer_rows import ELSEWHERE, MEAN, VARIES, answer_rows, head_roles
from probe.lab.heads import prompts_of
from probe.models.config import ModelConfig
from probe.models.handmade import two_hop_solver
from probe.models.hooked import HookedTransformer
from probe.models.transformer import initialised
from probe.result import Provenance
from probe.tasks.dataset import make_dataset
from probe.tasks.spec import load_task

NOWHERE = Provenance(task_digest="", model_digest="", seed=0, versions={}, threads=1, dtype="float32", git_commit=None)
HARD = make_dataset(load_task("winograd-hard"))
PROMPTS = prompts_of(HARD)


def random_model(dataset):
    config = ModelConfig(d_vocab=len(dataset.vocabulary), n_ctx=40, d_model=16, n_heads=2)
    return perturbed(config)


def test_a_solver_looks_at_the_adjective_or_at_the_second_noun_as_the_filler_says() -> None:
    ids, lexicon = HARD.vocabulary.ids, HARD.spec.lexicon
    crosser, nouns = ([ids[word] for word in lexicon[name]] for name in ("crosser", "noun"))
    model = two_hop_solver(len(ids), 18, HARD.train[0].positions, crosser, nouns)
    table = answer_rows(model, PROMPTS, NOWHERE).table
    deciding = table[(table["layer"] == 1) & (table["head"] == 1) & (table["value"] > 0.5)]
    assert len(deciding) == 8, "one place for each adjective"
    for row in deciding.to_dict("records"):
        assert row["value"] == pytest.approx(1.0, abs=1e-5)
        assert row["role"] == {"crosser": "adjective", "crossed": "y"}[row["filler_group"]]
        assert row["filler"] in lexicon[row["filler_group"]]


def test_every_row_sums_to_1_and_the_mean_is_the_mean_of_the_heads() -> None:
    table = answer_rows(random_model(HARD), PROMPTS, NOWHERE).table
    sums = table.groupby(["layer", "head", "filler"])["value"].sum()
    assert sums.to_numpy() == pytest.approx(1.0, abs=1e-5)
    wide = table.pivot(index=["layer", "filler", "position"], columns="head", values="value")
    assert wide[MEAN].to_numpy() == pytest.approx(wide[[0, 1]].mean(axis=1).to_numpy(), abs=1e-6)
    assert ((table["low"] <= table["value"] + 1e-9) & (table["value"] <= table["high"] + 1e-9)).all()


def test_roles_are_the_mean_over_fillers_and_new_weights_look_everywhere() -> None:
    """Fillers have equally many prompts, so a head's roles are the mean of its rows."""
    model = random_model(HARD)
    models = {"trained": model, "untrained": initialised(model.config, Generator().manual_seed(0))}
    roles = head_roles(models, PROMPTS, NOWHERE).table
    rows = answer_rows(model, PROMPTS, NOWHERE).table
    expected = rows[rows["head"] >= 0].groupby(["layer", "head", "position"])["value"].mean()
    trained = roles[roles["condition"] == "trained"].set_index(["layer", "head", "position"])["value"]
    assert trained.sort_index().to_numpy() == pytest.approx(expected.sort_index().to_numpy(), abs=1e-6)
    untrained = roles.loc[roles["condition"] == "untrained", "value"]
    assert untrained.to_numpy() == pytest.approx(1 / 15, abs=0.01)


def test_where_a_role_varies_its_position_says_so_and_the_rest_is_elsewhere() -> None:
    dataset = make_dataset(load_task("induction"))
    prompts = prompts_of(dataset)
    table = head_roles({"trained": random_model(dataset)}, prompts, NOWHERE).table
    assert set(zip(table["role"], table["position"], strict=True)) == {
        ("source", VARIES),
        ("query", 30),
        (ELSEWHERE, VARIES),
    }
    assert table.groupby(["layer", "head"])["value"].sum().to_numpy() == pytest.approx(1.0, abs=1e-5)


def test_any_hooked_model_is_read_alike() -> None:
    model = random_model(HARD)
    ours, hooked = (answer_rows(m, PROMPTS, NOWHERE).table["value"] for m in (model, HookedTransformer(model)))
    assert torch.allclose(torch.tensor(ours), torch.tensor(hooked), atol=1e-6)
