"""The trace on models whose circuit is known: it finds that circuit, names its strategy, and finds no other."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Generator

from probe import lab
from probe.analyses.attention import attention
from probe.analyses.trace import Trace, strategy, trace
from probe.contrasts import Contrast, only
from probe.models.handmade import SHARP, gated_solver, two_hop_solver
from probe.models.transformer import Transformer
from probe.report.trace import strategies_text, trace_text
from probe.result import Provenance
from probe.tasks.dataset import Dataset, make_dataset
from probe.tasks.spec import load_task

NOWHERE = Provenance(task_digest="", model_digest="", seed=0, versions={}, threads=1, dtype="float32", git_commit=None)


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return make_dataset(load_task("winograd-hard"))


@pytest.fixture(scope="module")
def contrasts(dataset: Dataset) -> list[Contrast]:
    return lab.contrasts_of(dataset, pairs=60)


def solver(dataset: Dataset, build, **settings) -> Transformer:
    ids, lexicon = dataset.vocabulary.ids, dataset.spec.lexicon
    crosser, nouns = ([ids[word] for word in lexicon[name]] for name in ("crosser", "noun"))
    return build(len(ids), 18, dataset.train[0].positions, crosser, nouns, **settings)


def found(done: Trace) -> set[tuple[str, str, str]]:
    """Edges that carry anything."""
    return {
        (row["sender"], row["receiver"], row["port"])
        for row in done.edges.table.to_dict("records")
        if abs(row["value"]) > 0.01
    }


KNOWN = {
    "two hops": (
        two_hop_solver,
        {},
        "two hops: heads of layer 1 hear of it from earlier heads, by their queries",
        {("embedding", "L0H1", "v"), ("L0H1", "L1H1", "q"), ("L1H1", "logits", "logits")},
    ),
    "gated, one layer": (
        gated_solver,
        {},
        "one hop: heads of layer 0 read the words, by their keys (softmax competition)",
        {("embedding", "L0H1", "k"), ("L0H1", "logits", "logits")},
    ),
    "gated, in layer 1": (
        gated_solver,
        {"layer": 1},
        "one hop: heads of layer 1 read the words, by their keys (softmax competition)",
        {("embedding", "L1H1", "k"), ("L1H1", "logits", "logits")},
    ),
    "gated, in layer 1, by what an MLP wrote in place": (
        gated_solver,
        {"layer": 1, "rewritten": True},
        "one hop: heads of layer 1 read what an MLP made of the words, by their keys (softmax competition)",
        {("embedding", "MLP0", "mlp"), ("MLP0", "L1H1", "k"), ("L1H1", "logits", "logits")},
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_known_circuit_and_no_other(dataset: Dataset, contrasts: list[Contrast], name: str) -> None:
    build, settings, expected, edges = KNOWN[name]
    done = trace(solver(dataset, build, **settings), contrasts[0], NOWHERE)
    assert done.strategy == expected
    assert done.nodes.details["changed"] == [dataset.held_out[0].positions["adjective"]]
    assert found(done) == edges
    assert max(done.checks.values()) < 1e-5
    nodes = done.nodes.table
    decides = next(sender for sender, receiver, _ in edges if receiver == "logits")
    late = nodes[(nodes["node"] == decides) & (nodes["role"] == "answer's place")]
    assert late["value"].to_list() == pytest.approx([1.0], abs=1e-4)


FAULTS = {
    "what a receiver sees is lost": ("probe.paths._replace_heads", lambda tensor, new, heads: torch.zeros_like(tensor)),
    "what a receiver sees is its own": ("probe.paths._replace_heads", lambda tensor, new, heads: tensor),
    "an MLP sees its own": ("probe.paths._added", lambda tensor, delta: tensor),
    "a patch is not put in": ("probe.activations._edit", lambda sites, value, n: lambda tensor: tensor),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_checks_fail_where_an_engine_does(
    dataset: Dataset, contrasts: list[Contrast], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A control that holds whatever the engines do vouches for nothing."""
    model = solver(dataset, gated_solver, layer=1, rewritten=True)
    assert max(trace(model, contrasts[0], NOWHERE).checks.values()) < 1e-5
    monkeypatch.setattr(*FAULTS[fault])
    assert max(trace(model, contrasts[0], NOWHERE).checks.values()) > 0.5


def test_two_mechanisms_with_one_map_are_told_apart(dataset: Dataset, contrasts: list[Contrast]) -> None:
    """The row that names the answer is the same in the head that decides; the strategies are not."""
    two, gated = solver(dataset, two_hop_solver), solver(dataset, gated_solver, layer=1)
    sentences = [dataset.held_out[0].prompt, dataset.held_out[4].prompt]
    ids = [dataset.vocabulary.encode(sentence) for sentence in sentences]
    rows = []
    for model in (two, gated):
        table = attention(model, sentences, ids, NOWHERE).table
        chosen = (table["metric"] == "weight") & (table["layer"] == 1) & (table["head"] == 1) & (table["query"] == 14)
        rows.append(table[chosen]["value"].to_numpy())
    assert rows[0] == pytest.approx(rows[1], abs=1e-6)
    assert trace(two, contrasts[0], NOWHERE).strategy != trace(gated, contrasts[0], NOWHERE).strategy


def test_denoising_is_asked_for_where_it_is_another_number(dataset: Dataset, contrasts: list[Contrast]) -> None:
    """Over pairs that count both ways it is noising again: what (b, a) gains is what (a, b) loses."""
    model = solver(dataset, two_hop_solver)
    both, one = contrasts[0], only(contrasts[0], range(len(contrasts[0]) // 2))
    assert both.both_ways and not one.both_ways
    assert set(trace(model, both, NOWHERE).nodes.table["metric"]) == {"noising"}
    other = replace(one, clean=one.other, other=one.clean, answer=one.other_answer, other_answer=one.answer)
    forth, back = (trace(model, contrast, NOWHERE).nodes.table for contrast in (one, other))
    gained, lost = forth[forth.metric == "denoising"], back[back.metric == "noising"]
    assert gained["value"].to_numpy() == pytest.approx(lost["value"].to_numpy(), abs=1e-5)


def test_the_order_of_the_nouns_reaches_the_answer_by_values(dataset: Dataset, contrasts: list[Contrast]) -> None:
    done = trace(solver(dataset, two_hop_solver), contrasts[1], NOWHERE)
    assert done.strategy == "one hop: heads of layer 1 read the words, by their values"


def test_a_decoy_that_looks_without_causing_is_in_no_edge(dataset: Dataset, contrasts: list[Contrast]) -> None:
    """L1H0 looks at the adjective with all its weight, and says nothing."""
    model = solver(dataset, gated_solver, layer=1)
    attn = model.blocks[1].attn
    q, k, _ = attn.projections().data[:, 0]
    width = len(dataset.vocabulary)
    q[0, width + 14] = SHARP
    k[0, width + 11] = 1.0
    with torch.no_grad():
        assert model(contrasts[0].clean)[:, -1].argmax(-1).equal(contrasts[0].answer)
    done = trace(model, contrasts[0], NOWHERE)
    assert found(done) == KNOWN["gated, in layer 1"][3]


def test_a_cause_with_uniform_attention_is_found(dataset: Dataset) -> None:
    """A head that weighs all words alike, and whose values alone make the answer: only an intervention can tell."""
    model = solver(dataset, gated_solver)
    for parameter in (model.blocks[0].attn.W_QKV, model.blocks[0].attn.W_ZO):
        parameter.data.zero_()
    ids, lexicon = dataset.vocabulary.ids, dataset.spec.lexicon
    value = model.blocks[0].attn.projections().data[2, 0]
    out = model.blocks[0].attn.W_O.data[0]
    pair = lab.contrasts_of(dataset)[0]
    for name, sign in (("crosser", 1.0), ("crossed", -1.0)):
        for word in lexicon[name]:
            value[0, ids[word]] = sign
    first = dataset.held_out[0]
    out[0, -len(ids) + ids[first.answer]] = 100.0  # this pair's nouns, so that its own difference depends on the kind
    out[0, -len(ids) + ids[first.distractor]] = -100.0
    rows = [i for i, group in enumerate(pair.groups) if group == first.group]
    few = Contrast(
        name="adjective", clean=pair.clean[rows], other=pair.other[rows], answer=pair.answer[rows],
        other_answer=pair.other_answer[rows], groups=[pair.groups[i] for i in rows], roles=pair.roles,
    )  # fmt: skip
    done = trace(model, few, NOWHERE)
    assert done.strategy == "one hop: heads of layer 0 read the words, by their values"
    assert found(done) == {("embedding", "L0H0", "v"), ("L0H0", "logits", "logits")}


def test_a_model_that_answers_wrong_is_not_traced(contrasts: list[Contrast]) -> None:
    """Shares of a difference that is not there are no evidence."""
    from probe.models.config import make_config
    from probe.models.transformer import initialised

    model = initialised(make_config("two-block", d_vocab=36, n_ctx=18), Generator().manual_seed(0))
    done = trace(model, contrasts[0], NOWHERE)
    assert done.strategy.startswith("not traced: the model answers ")
    assert done.nodes.table.empty
    text = trace_text(done.strategy, done.nodes, done.edges, done.ways, done.checks)
    assert " ".join(text.splitlines()) == f"adjective (0 pairs): {done.strategy}"


def test_only_pairs_answered_right_both_ways_count(dataset: Dataset, contrasts: list[Contrast]) -> None:
    """Half of the pairs get the wrong answer on record: they are left out, and the circuit is the same."""
    pair = contrasts[0]
    wrong = torch.arange(len(pair.answer)) % 2 == 0
    swapped = Contrast(
        name="adjective", clean=pair.clean, other=pair.other, groups=pair.groups, roles=pair.roles,
        answer=torch.where(wrong, pair.other_answer, pair.answer),
        other_answer=torch.where(wrong, pair.answer, pair.other_answer),
    )  # fmt: skip
    done = trace(solver(dataset, two_hop_solver), swapped, NOWHERE)
    assert done.nodes.details["pairs"] == int((~wrong).sum())
    assert found(done) == KNOWN["two hops"][3]


def test_the_strategy_is_derived_from_the_effects() -> None:
    def way(layer: int, port: str, source: str, value: float) -> dict:
        return {"layer": layer, "port": port, "source": source, "value": value}

    spread = [way(1, "all", "earlier heads", 0.9), *(way(1, port, "earlier heads", 0.3) for port in "qkv")]
    assert (
        strategy(2, spread, []) == "two hops: heads of layer 1 hear of it from earlier heads, by several ports together"
    )
    shares = ({"q": 0.93, "k": 0.0, "v": 0.02}, {"q": 0.0, "k": 0.45, "v": 0.1})
    for by, said in zip(shares, ("by their queries", "by several ports together"), strict=True):
        one = [way(0, "all", "words", 0.95), *(way(0, port, "words", value) for port, value in by.items())]
        assert strategy(1, one, []) == f"one hop: heads of layer 0 read the words, {said}"
    assert strategy(2, [way(0, "all", "words", 0.3)], []).startswith("no circuit of one or two hops")
    read = [way(0, "all", "words", 0.9), way(0, "v", "words", 0.9)]
    mlp = [{"node": "MLP0", "metric": "noising", "value": 0.8, "position": 14}]
    assert strategy(1, read, mlp) == "one hop: heads of layer 0 read the words, by their values, then through an MLP"


def test_text_names_the_path_and_the_checks(dataset: Dataset, contrasts: list[Contrast]) -> None:
    done = trace(solver(dataset, two_hop_solver), contrasts[0], NOWHERE)
    text = trace_text(done.strategy, done.nodes, done.edges, done.ways, done.checks)
    assert "path: words → L0H1.v → L1H1.q → logits   (weakest edge 1.00)" in text
    assert "(hold)" in text
    assert max(map(len, text.splitlines())) <= 120
    counted = strategies_text(
        [{"contrast": "c", "strategy": "a"}, {"contrast": "c", "strategy": "a"}, {"contrast": "c", "strategy": "b"}]
    )
    assert "2 of 3" in counted
