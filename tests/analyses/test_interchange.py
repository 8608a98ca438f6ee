"""Interchange on models whose variables stand at known places: it finds those, and no other."""

from __future__ import annotations

import pytest
import torch

from probe import lab
from probe.analyses.interchange import interchange, subspaces
from probe.errors import ProbeError
from probe.models.handmade import gated_solver, two_hop_solver
from probe.models.transformer import Transformer, initialised
from probe.result import Provenance
from probe.swaps import Swap, stream_sites
from probe.tasks.dataset import Dataset, make_dataset
from probe.tasks.spec import load_task

NOWHERE = Provenance(task_digest="", model_digest="", seed=0, versions={}, threads=1, dtype="float32", git_commit=None)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return make_dataset(load_task("winograd-hard"))


@pytest.fixture(scope="module")
def swaps(dataset: Dataset) -> list[Swap]:
    return lab.swaps_of(dataset, dataset.held_out, 40)


def solver(dataset: Dataset, build, **settings) -> Transformer:
    ids, lexicon = dataset.vocabulary.ids, dataset.spec.lexicon
    crosser, nouns = ([ids[word] for word in lexicon[name]] for name in ("crosser", "noun"))
    return build(len(ids), 18, dataset.train[0].positions, crosser, nouns, **settings)


def carried(model: Transformer, swaps: list[Swap]) -> dict[str, set[tuple[str, int, str]]]:
    """Variable -> the places that carry it, and no other variable."""
    table = interchange({"trained": model}, swaps, NOWHERE).table
    rows = table[table["metric"] == "interchange accuracy"].to_dict("records")
    found: dict[str, set] = {row["variable"]: set() for row in rows}
    for row in rows:
        if row["value"] == 1.0:
            found[row["variable"]].add((row["kind"], row["layer"], row["role"]))
    return found


LAST = "answer's place"
WORDS = {  # what holds for both: the words themselves, y until the last layer reads it, the answer at the end
    "first noun": {("resid_pre", 0, "x")},
    "second noun": {("resid_pre", 0, "y"), ("resid_pre", 1, "y")},
    "adjective's role": {("resid_pre", 0, "adjective")},
    "answer": {("resid_post", 1, LAST)},
}
KNOWN = {
    # the noun and the role arrive at one place: all of it carries neither by itself
    "two hops": (two_hop_solver, {}, WORDS),
    # the noun alone has arrived; the role is read from the adjective
    "gated": (
        gated_solver,
        {"layer": 1},
        WORDS
        | {
            "first noun": {("resid_pre", 0, "x"), ("resid_pre", 1, LAST)},
            "adjective's role": {("resid_pre", 0, "adjective"), ("resid_pre", 1, "adjective")},
        },
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_variables_are_found_where_they_are_and_nowhere_else(dataset: Dataset, swaps: list[Swap], name: str) -> None:
    build, settings, expected = KNOWN[name]
    assert carried(solver(dataset, build, **settings), swaps) == expected


def test_the_shares_are_of_different_outcomes_and_the_floor_is_measured(dataset: Dataset, swaps: list[Swap]) -> None:
    """Predicted, unchanged and the source's answer exclude each other; nothing swapped is unchanged."""
    table = interchange({"trained": solver(dataset, two_hop_solver)}, swaps[:3], NOWHERE).table
    total = table.groupby(["variable", "kind", "layer", "position"])["value"].sum()
    assert total.max() <= 1.0 + 1e-9
    floors = table.groupby("metric")["floor"].unique()
    assert floors["interchange accuracy"].tolist() == floors["source's answer"].tolist() == [0.0]
    assert floors["answer unchanged"].tolist() == [1.0]
    assert ((table["low"] <= table["value"]) & (table["value"] <= table["high"])).all()


def test_pairs_are_such_that_only_one_outcome_is_the_prediction(dataset: Dataset, swaps: list[Swap]) -> None:
    for swap in swaps:
        assert (swap.predicted != swap.answer).all()
        assert (swap.predicted != swap.source_answer).any() == (swap.variable != "answer")
        words = torch.stack([swap.base[:, 1], swap.base[:, 6], swap.source[:, 1], swap.source[:, 6]], 1)
        assert all(len(row.unique()) == 4 for row in words)


def test_a_place_that_reaches_no_answer_is_left_out(dataset: Dataset) -> None:
    sites = stream_sites(solver(dataset, two_hop_solver), range(15))
    assert len(sites) == 15 + 15 + 1
    assert [site.position for site in sites if site.kind == "resid_post"] == [14]


@pytest.mark.slow
def test_a_learned_subspace_carries_the_role_and_its_controls_fail(dataset: Dataset, swaps: list[Swap]) -> None:
    """Two hops: the answer's place holds noun and role; one direction of it is the role. Labels by lot find none."""
    model = solver(dataset, two_hop_solver)
    with torch.no_grad():  # attention that is 0 or 1 has no gradient to learn by
        model.blocks[1].attn.projections()[0, 1] *= 0.1
    role, training = swaps[2], lab.swaps_of(dataset, dataset.train, 384)[2]
    untrained = initialised(model.config, torch.Generator().manual_seed(0))
    table = subspaces({"trained": model, "untrained": untrained}, [training], [role], NOWHERE).table
    rows = table.set_index("condition")
    assert set(rows["dimension"]) == {1}
    assert set(rows["role"]) == {LAST}
    assert rows.loc["trained", "value"] >= 0.95
    assert rows.loc["control", "value"] < 0.5
    assert rows.loc["untrained", "value"] < 0.2


def test_a_task_without_variables_is_refused() -> None:
    with pytest.raises(ProbeError, match="induction declares no variables"):
        dataset = make_dataset(load_task("induction"))
        lab.swaps_of(dataset, dataset.held_out)


@pytest.mark.parametrize("name", ["winograd-easy", "winograd-ru", "winograd-es-agreement", "winograd-prior"])
def test_cousins_of_the_task_declare_the_same_variables(name: str) -> None:
    dataset = make_dataset(load_task(name))
    swaps = lab.swaps_of(dataset, dataset.held_out, 8)
    assert [swap.variable for swap in swaps] == ["first noun", "second noun", "adjective's role", "answer"]
