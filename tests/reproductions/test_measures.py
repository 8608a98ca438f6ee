"""What single reproductions measure, on numbers that are known."""

from __future__ import annotations

import json
import math

import pytest
import torch
from torch import Generator

from probe.lab.reproducing import reproduction_of
from probe.lab.tracing import contrasts_of
from probe.models.config import make_config
from probe.models.transformer import parameter_count
from probe.reproductions import MINUTES, answering, cost, ladder, norms, scaling, winograd
from probe.reproductions.claims import Claim, NotRun, Settings, judge
from probe.reproductions.cost import exponent, matrix_bytes
from probe.reproductions.language import started


@pytest.mark.parametrize("name", MINUTES)
def test_every_reproduction_is_declared_alike(name: str) -> None:
    found = reproduction_of(name)
    assert found.name == name
    keys = [job.key for job in found.jobs]
    assert len(set(keys)) == len(keys)
    statements = [claim.statement for claim in found.claims]
    assert len(set(statements)) == len(statements)
    unexplained = Claim(statement="", value=lambda m: 0.0).why
    assert all(claim.rule is not None or claim.why != unexplained for claim in found.claims if claim.chapter)


@pytest.mark.parametrize("name", MINUTES)
def test_nothing_agrees_before_it_was_run(name: str) -> None:
    """A claim that needs no measurement could not differ."""
    found = reproduction_of(name)
    for by_seed in ({}, {0: {}}):
        assert {judge(claim, by_seed).verdict for claim in found.claims} == {"not run"}
    assert found.figures({0: {}}) is not None  # an interruption before the first row draws nothing, and says nothing


@pytest.mark.parametrize("name", MINUTES)
def test_a_row_says_what_it_was_made_of(name: str) -> None:
    """Model and training of every trained row; a quick one is made of something else."""
    for job in reproduction_of(name).jobs:
        whole, quick = (dict(job.made_of(Settings(quick=quick))) for quick in (False, True))
        assert json.loads(json.dumps(whole)) == whole
        if "training" in whole:
            assert whole["model"]["d_vocab"] > 0 and whole["training"] != quick["training"]


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_an_exponent_is_found_with_its_interval(power: float) -> None:
    exact = exponent([(n, 3 * n**power) for n in (1024, 2048, 4096, 8192)])
    assert exact["exponent"] == pytest.approx(power)
    assert exact["high"] - exact["low"] < 1e-6
    noisy = exponent([(n, 3 * n**power * (1.3 if n == 2048 else 1)) for n in (1024, 2048, 4096, 8192)])
    assert noisy["low"] < power < noisy["high"]


def test_cost_stops_before_memory_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "free_bytes", lambda: int(cost.COPIES * matrix_bytes(256) / cost.SHARE))
    found = cost._measure("explicit attention", Settings(quick=True), 0, lambda said: None)
    assert [n for n, _ in found["time"]] == [128, 256]
    assert "stopped before n = 512" in found["stopped"]
    fused = cost._measure("fused attention", Settings(quick=True), 0, lambda said: None)
    assert [n for n, _ in fused["time"]] == [128, 256, 512, 1024]


def test_cost_is_judged_by_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quick look stops at 1,024 tokens, and not every system says what memory was used: no fault, and not run."""
    monkeypatch.setattr(cost, "peak_bytes", lambda work: None)
    found = {job.key: job.measure(Settings(quick=True), 0, lambda said: None) for job in cost.COST.jobs}
    verdicts = {claim.statement: judge(claim, {0: found}, quick=True).verdict for claim in cost.COST.claims}
    assert [verdicts[s] for s in verdicts if "memory: exponent" in s] == ["not run", "not run"]
    assert verdicts["projections: time at 8,192 over time at 1,024"] == "not run"
    assert set(verdicts.values()) == {"agrees", "not run", "not judged"}


def test_the_explicit_way_holds_the_matrix_and_the_fused_does_not() -> None:
    explicit = cost.peak_bytes(cost._work("explicit attention", 1024))
    fused = cost.peak_bytes(cost._work("fused attention", 1024))
    if explicit is None or fused is None:
        pytest.skip("this system has no high-water mark of memory")
    assert explicit >= matrix_bytes(1024) > fused


def test_the_matrix_is_read_from_the_layer() -> None:
    found = cost._matrix(Settings(), 0, lambda said: None)
    assert found == {str(n): matrix_bytes(n) for n in cost.LENGTHS}


def test_rows_of_the_ladder_grow() -> None:
    """Every learned piece adds parameters; the mean has none."""
    counts = ladder._parameters(Settings(), 0, lambda said: None)
    assert counts["no-context"] == counts["uniform"] == counts["uniform-residual"] == 2 * 1024 * 128
    later = [counts[row] for row in ("one-head", "heads", "heads-mlp", "one-block", "two-block")]
    assert later == sorted(later)
    assert counts["heads"] == parameter_count(
        started(make_config("heads", d_vocab=1024, n_ctx=128, d_model=128), Generator())
    )


def test_gradient_norms_are_those_of_the_blocks() -> None:
    model = started(make_config("3-block", d_vocab=9, n_ctx=8, d_model=8, n_heads=2), Generator().manual_seed(0))
    tokens = torch.randint(9, (4, 9), generator=Generator().manual_seed(1))
    found = norms.gradient_norms(model, tokens)
    squares = [float(p.grad.pow(2).sum()) for p in model.blocks[1].parameters() if p.grad is not None]
    assert found["blocks"][1] == pytest.approx(math.sqrt(sum(squares)), rel=1e-5)
    assert all(0 < part < whole for part, whole in zip(found["W_QKV"], found["blocks"], strict=True))
    assert len(found["streams"]) == 3
    assert min(found["streams"]) > 0


def test_scores_of_a_model_that_looks_everywhere_alike() -> None:
    model = started(make_config("one-head", d_vocab=9, n_ctx=16, d_model=8), Generator().manual_seed(0))
    torch.nn.init.zeros_(model.blocks[0].attn.W_QKV)
    tokens = torch.randint(9, (2, 16), generator=Generator().manual_seed(1))
    found = scaling.scores_of(model, tokens)
    assert found["score std"] == 0
    assert found["frozen"] == 0
    assert found["entropy"] == pytest.approx(sum(math.log(n) for n in range(9, 17)) / 8, rel=1e-5)


@pytest.mark.parametrize("task", winograd.TASKS)
def test_the_eight_sentences_about_the_animal_and_the_street(task: str) -> None:
    prompts = answering.prompts_of(answering.dataset_of(task))
    assert set(prompts) == {*winograd.CROSSER, *winograd.CROSSED}
    for adjective, prompt in prompts.items():
        assert len(prompt) == 15
        said = {what: prompt[place] for what, place in winograd.PLACES.items()}
        assert (said["the first noun"], said["the second noun"]) == (answering.FIRST, answering.SECOND)
        assert (said["too"], said["the adjective"], said["the comma"]) == ("too", adjective, ",")
        assert winograd.PLACES["itself"] == len(prompt) - 1


def test_every_sentence_stands_once_in_an_epoch() -> None:
    draw = answering.epochs(torch.arange(10)[:, None], batch=4, seed=0)
    drawn = torch.cat([draw(step) for step in range(1, 6)]).flatten().tolist()
    assert sorted(drawn[:10]) == sorted(drawn[10:]) == list(range(10))


def test_what_cannot_be_traced_is_not_counted_as_a_mechanism() -> None:
    value = winograd._uses("two-block", "chapter", "two hops")
    key = winograd.key_of("hard", "two-block", "chapter")
    assert value({key: {"strategy": "two hops: heads of layer 1"}}) == 1
    assert value({key: {"strategy": "one hop: heads of layer 0"}}) == 0
    with pytest.raises(NotRun):
        value({key: {"strategy": "not traced: the model answers 0 of 60 pairs"}})


@pytest.mark.parametrize("way", answering.WAYS)
def test_a_winograd_row_keeps_what_happens_along_training(way: str) -> None:
    found = answering.measure("hard", "two-block", way, contrasts_of, Settings(quick=True), 0, lambda said: None)
    assert found["along"][-1][0] == 20
    assert found["last"] == found["along"][-1][1]
    assert all(sum(row) == pytest.approx(1, abs=1e-2) for rows in found["rows"].values() for row in rows)
    assert "strategy" in found
