"""Evidence on solvers whose circuit is known: it is that circuit, nothing is missing, nothing is idle, chance fails."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Generator

from probe import lab
from probe.analyses.attribution import attribution
from probe.analyses.evidence import Evidence, _random, _ranges, evidence
from probe.analyses.lens import lens
from probe.analyses.sweeps import sweeps
from probe.circuits import edges_of
from probe.contrasts import Contrast, only
from probe.discovery import Bench, found_circuit, halves, random_like
from probe.lab.selftest.check import nowhere
from probe.models.config import make_config
from probe.models.handmade import gated_solver, two_hop_solver
from probe.models.transformer import Transformer, initialised
from probe.report.evidence import attribution_text, evidence_text
from probe.tasks.dataset import Dataset, make_dataset
from probe.tasks.spec import load_task


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return make_dataset(load_task("winograd-hard"))


@pytest.fixture(scope="module")
def contrasts(dataset: Dataset) -> list[Contrast]:
    return lab.contrasts_of(dataset, pairs=32)


def solver(dataset: Dataset, build=two_hop_solver, **settings) -> Transformer:
    ids, lexicon = dataset.vocabulary.ids, dataset.spec.lexicon
    crosser, nouns = ([ids[word] for word in lexicon[name]] for name in ("crosser", "noun"))
    return build(len(ids), 18, dataset.train[0].positions, crosser, nouns, **settings)


@pytest.fixture(scope="module")
def of_solver(dataset: Dataset, contrasts: list[Contrast]) -> Evidence:
    model = solver(dataset)
    untrained = initialised(model.config, Generator().manual_seed(1))
    return evidence(model, untrained, contrasts[:1], nowhere())[0]


def test_the_circuit_of_a_known_model_is_found_and_is_all_of_it(of_solver: Evidence) -> None:
    assert set(of_solver.faithfulness.details["circuit"]) == {
        "embedding → L0H1.v",
        "L0H1 → L1H1.q",
        "L1H1 → logits",
    }
    table = of_solver.faithfulness.table
    other = table[(table.ablation == "other") & (table.metric == "faithfulness")]
    assert other[other.circuit == "found"]["value"].to_numpy() == pytest.approx(1.0, abs=1e-4)
    assert float(other[(other.circuit == "random") & (other.level == "edge")]["value"].iloc[0]) < 0.2


def test_what_an_untrained_model_has_to_explain_is_nothing_and_so_no_share_is_given(of_solver: Evidence) -> None:
    table = of_solver.faithfulness.table
    moved = table[(table.circuit == "untrained") & (table.metric == "logits to explain")].iloc[0]
    assert moved["low"] <= 0 <= moved["high"]
    shares = table[(table.circuit == "untrained") & (table.ablation == "other") & (table.metric == "faithfulness")]
    assert shares["value"].isna().all()


def test_nothing_is_missing_and_nothing_idle(of_solver: Evidence) -> None:
    table = of_solver.subsets.table
    assert table[table.metric == "completeness"]["value"].max() < 1e-3
    assert table[table.metric == "minimality"]["value"].to_numpy() == pytest.approx(1.0, abs=1e-3)


def test_the_size_curve_jumps_where_the_circuit_is_whole(of_solver: Evidence) -> None:
    table = of_solver.sizes.table
    found = table[table.circuit == "found"]
    assert found[found.edges < 3]["value"].abs().max() < 1e-3
    assert found[found.edges >= 3]["value"].to_numpy() == pytest.approx(1.0, abs=1e-3)
    areas = of_solver.sizes.details
    assert areas["area, found, linear"] > areas["area, random, linear"]


def test_an_edge_that_is_left_out_shows_as_a_hole(dataset: Dataset, contrasts: list[Contrast]) -> None:
    """The circuit without its second edge explains nothing, although two of its three edges are right."""
    bench = Bench(solver(dataset), contrasts[0], Generator().manual_seed(0))
    circuit = found_circuit([bench])
    broken = circuit.kept.clone()
    broken[circuit.order[1]] = False
    assert abs(bench.faithfulness(broken[None])[0]) < 1e-3


def test_nothing_is_judged_on_the_pairs_it_was_found_on(contrasts: list[Contrast]) -> None:
    """By no contrast: one circuit is found for all of them, also where one lacks a group that the other has."""
    lacking = only(contrasts[0], [i for i, group in enumerate(contrasts[0].groups) if group != contrasts[0].groups[0]])
    split = halves([lacking, contrasts[1]])
    searched, judged = ({group for half in side for group in half.groups} for side in zip(*split, strict=True))
    assert searched and judged and not searched & judged
    for halved in split:
        assert abs(len(set(halved[0].groups)) - len(set(halved[1].groups))) <= 2
    assert [len(first) + len(second) for first, second in split] == [len(lacking), len(contrasts[1])]


def test_random_circuits_have_no_faithfulness_where_the_found_one_has_none(contrasts: list[Contrast]) -> None:
    """A model whose answer the contrast does not move: a share of next to nothing is no number, for any circuit."""
    model = initialised(make_config("two-block", d_vocab=36, n_ctx=18), Generator().manual_seed(0))
    bench = Bench(model, contrasts[0], Generator().manual_seed(0))
    circuit = found_circuit([bench], size=3)
    asked = (_ranges(bench, circuit, "found"), _random(bench, circuit, 4, Generator().manual_seed(0)))
    found, random = ({r["ablation"] for r in rows if math.isnan(r["value"])} for rows in asked)
    assert found and found == random


def test_random_circuits_have_the_size_of_the_one_found(dataset: Dataset) -> None:
    model = solver(dataset)
    edges = edges_of(model)
    kept = torch.rand(len(edges), generator=Generator().manual_seed(3)) < 0.3
    ports = [edge.port for edge in edges]

    def by_port(row: torch.Tensor) -> dict[str, int]:
        return {p: sum(o == p and bool(k) for o, k in zip(ports, row, strict=True)) for p in set(ports)}

    drawn = random_like(model, kept, 5, Generator().manual_seed(0))
    assert all(by_port(row) == by_port(kept) for row in drawn)
    assert len({tuple(row.tolist()) for row in drawn}) > 1


def test_a_model_that_fails_has_no_evidence(contrasts: list[Contrast]) -> None:
    model = initialised(make_config("two-block", d_vocab=36, n_ctx=18), Generator().manual_seed(0))
    assert evidence(model, model, contrasts, nowhere()) == []


def test_direct_effects_sum_to_the_difference_and_in_a_linear_model_are_the_total_ones(
    contrasts: list[Contrast],
) -> None:
    """One layer that attends evenly, no norm, no MLP: what a head says is all that it does."""
    config = make_config("two-block", d_vocab=36, n_ctx=18, n_layers=1, d_mlp=0, norm="none")
    model = initialised(config, Generator().manual_seed(0))
    width = config.n_heads * config.d_head
    with torch.no_grad():
        model.blocks[0].attn.W_QKV[: 2 * width] = 0.0
        model.W_E[contrasts[0].clean[:, 11]] *= 100.0  # the adjective decides
    contrast = preferred(model, contrasts[0])
    table = attribution(model, contrast, nowhere()).table.pivot(index="node", columns="metric", values="value")
    heads = table.drop("biases")
    heads = heads[heads.index.str.startswith("L0")]
    assert heads["total"].to_numpy() == pytest.approx(heads["direct, beyond the mean"].to_numpy(), abs=1e-6)
    assert heads["total"].abs().max() > 1e-4


def preferred(model: Transformer, contrast: Contrast) -> Contrast:
    """The same pairs, with two words as answers that the model itself prefers, each in one of the sentences."""
    with torch.no_grad():
        clean, other = (model.next_word_logits(tokens) for tokens in (contrast.clean, contrast.other))
    margins = torch.minimum(clean[:, :, None] - clean[:, None], other[:, None] - other[:, :, None]).flatten(1)
    best = margins.argmax(-1)
    return replace(contrast, answer=best // clean.shape[1], other_answer=best % clean.shape[1])


def test_attribution_of_a_trained_model_sums(run, dataset: Dataset) -> None:
    effects = lab.attribution_of(run, 32)
    table = effects.table
    assert effects.details["relative error of the sum"] < 1e-5
    assert abs(table[table.metric == "direct"]["value"].sum()) > 1
    assert "sum to the difference" in attribution_text(effects)


def test_sweeps_find_where_the_known_model_keeps_things(dataset: Dataset, contrasts: list[Contrast]) -> None:
    """Gated in layer 0: the answer's place holds all after its attention, the adjective's all before it."""
    table = sweeps(solver(dataset, gated_solver), contrasts[0], nowhere()).table
    stream = table[(table.kind == "resid_pre") & (table.layer == 0)]
    assert stream[stream.role == "adjective"]["value"].to_numpy() == pytest.approx(1.0, abs=1e-4)
    assert stream[stream.role == "answer's place"]["value"].abs().max() < 1e-4
    written = table[(table.kind == "attn_out") & (table.layer == 0) & (table.role == "answer's place")]
    assert written["value"].to_numpy() == pytest.approx(1.0, abs=1e-4)
    heads = table[(table.kind == "z") & (table.layer == 0)].groupby("head")["value"].max()
    assert heads.to_dict() == pytest.approx({0: 0.0, 1: 1.0}, abs=1e-4)


def test_the_lens_at_the_end_is_the_model_and_at_the_start_knows_no_answer(run) -> None:
    result = lab.lens_of(run, 32)
    table = result.table[(result.table.role == "answer's place") & (result.table.metric == "logit difference")]
    stages = list(zip(table.kind, table.layer, table.value, strict=True))
    assert abs(stages[0][2]) < 0.5
    model, contrast = lab.open_model(run), lab.contrasts_of(lab.run_dataset(run), 32)[0]
    from probe.contrasts import difference

    with torch.no_grad():
        said = difference(model.next_word_logits(contrast.clean), contrast).mean()
    assert stages[-1][2] == pytest.approx(float(said), abs=1e-4)


def test_lens_ranks_count_from_one(dataset: Dataset, contrasts: list[Contrast]) -> None:
    table = lens(solver(dataset), contrasts[0], nowhere()).table
    ranks = table[table.metric == "rank"]["value"]
    assert ranks.between(1, len(dataset.vocabulary)).all()


def test_evidence_reads_as_text(of_solver: Evidence) -> None:
    text = evidence_text(of_solver.faithfulness, of_solver.subsets, of_solver.sizes)
    assert "circuit: 3 of " in text
    assert "below 0.01 for this contrast: none" in text
    assert max(map(len, text.splitlines())) <= 120
    assert not math.isnan(of_solver.sizes.details["area, found, linear"])


def test_pairs_of_one_group_are_no_evidence(dataset: Dataset, contrasts: list[Contrast]) -> None:
    """A half that is judged has to be there, and to hold more than one thing that could differ."""
    model = solver(dataset)
    for groups in (1, 3):
        few = replace(contrasts[0], groups=[f"g{i % groups}" for i in range(len(contrasts[0]))])
        assert evidence(model, model, [few], nowhere(), draws=3) == []
