"""Where the rooms are joined: what a user's words mean, and that looking shows the model's own numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from probe import lab, store
from probe.analyses.shared_scores import shared_scores
from probe.errors import NotThere, ProbeError
from probe.tasks.dataset import make_dataset, save_dataset
from probe.tasks.spec import load_task
from probe.training.config import TrainingConfig

STEM = "the animal did not cross the street because it was too"
TIRED = tuple(f"{STEM} tired , so the".split())
WET = tuple(f"{STEM} wet , so the".split())

# -- data sets -------------------------------------------------------------------------------------------------------


def test_with_nothing_generated_the_task_is_winograd_hard(tmp_path):
    data, origin = lab.open_dataset(None, tmp_path)
    assert (data.name, data.seed) == ("winograd-hard", 0)
    assert "generated with seed 0" in origin


def test_the_last_generated_task_is_taken_and_one_that_is_gone_is_not(tmp_path):
    save_dataset(make_dataset(load_task("winograd-easy"), seed=5), tmp_path / "winograd-easy")
    (tmp_path / "latest").write_text("winograd-easy\n")
    assert lab.open_dataset(None, tmp_path)[0].seed == 5
    (tmp_path / "latest").write_text("gone\n")
    assert lab.open_dataset(None, tmp_path)[0].name == "winograd-hard"


def test_a_name_means_the_generated_folder_where_there_is_one(tmp_path):
    save_dataset(make_dataset(load_task("winograd-easy"), seed=5), tmp_path / "winograd-easy")
    assert lab.open_dataset("winograd-easy", tmp_path)[0].seed == 5
    assert lab.open_dataset(str(tmp_path / "winograd-easy"), Path("nowhere"))[0].seed == 5
    assert lab.open_dataset("winograd-easy", tmp_path / "other")[0].seed == 0
    with pytest.raises(NotThere, match="winograd-easy"):
        lab.open_dataset("winograd-eazy", tmp_path)


def test_a_run_remembers_its_data_set(run):
    assert lab.run_dataset(run) == make_dataset(load_task("winograd-hard"))


# -- plans -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "model", "training", "message"),
    [
        ("two-blok", {}, {}, "did you mean 'two-block'"),
        ("two-block", {"n_heads": 3}, {}, r"n_heads = 3; try d_model = 66"),
        ("two-block", {"d_vocab": 3}, {}, r"d_vocab = 3: winograd-hard has 36 words"),
        ("two-block", {"init_std": -1.0}, {}, "init_std"),
        ("two-block", {"init_std": float("nan")}, {}, "init_std"),
        ("two-block", {"position": "rope", "d_head": 5}, {}, "even"),
        ("uniform", {"position": "alibi"}, {}, "alibi"),
        ("two-block", {}, {"batch_size": 10**6}, r"batch_size = 1000000: train holds 1560"),
        ("two-block", {}, {"lr": float("nan")}, "lr = nan"),
        ("two-block", {}, {"lr": float("inf")}, "lr = inf"),
        ("two-block", {}, {"weight_decay": float("inf")}, "weight_decay = inf"),
    ],
)
def test_a_plan_that_cannot_work_is_refused_before_a_folder_is_made(variant, model, training, message):
    data = make_dataset(load_task("winograd-hard"))
    with pytest.raises(ProbeError, match=message):
        lab.make_plan(data, variant, TrainingConfig(**training), model)


def test_the_same_plan_is_the_same_folder_and_every_setting_counts(tmp_path):
    data = make_dataset(load_task("winograd-hard"))

    def name(variant: str = "two-block", model: dict | None = None, **training: object) -> str:
        config = TrainingConfig.from_dict(training)
        return lab.plan_run(lab.make_plan(data, variant, config, model), tmp_path).name

    assert name() == name()
    names = [name(), name(seed=1), name(steps=7), name(lr=0.1), name("one-block"), name(model={"tied": True})]
    assert len(set(names)) == len(names)
    assert all(each.startswith("winograd-hard-") for each in names)
    assert store.run_names(tmp_path) == sorted(names)


def test_a_planned_run_is_not_finished_and_says_how_to_go_on(tmp_path):
    plan = lab.make_plan(make_dataset(load_task("winograd-hard")), "two-block", TrainingConfig())
    run = lab.plan_run(plan, tmp_path)
    assert not run.finished
    with pytest.raises(NotThere, match=f"probe train --resume {run.name}"):
        lab.summary(run)
    with pytest.raises(NotThere, match="--resume"):
        lab.open_model(run)


def test_nothing_to_train_side_by_side_is_refused():
    with pytest.raises(ProbeError, match="no run to train"):
        lab.train_side_by_side([], 2)


# -- questions -------------------------------------------------------------------------------------------------------


def test_dots_ask_for_the_pair_at_its_answer_position(run):
    question = lab.ask(run, STEM + "...")
    assert question.sentences == (TIRED, WET)
    assert question.queries == (14, 14)
    assert question.candidates == (("animal", "street"),) * 2
    assert question.answers == ("animal", "street")


def test_a_beginning_without_dots_is_taken_as_it_is(run):
    question = lab.ask(run, "the animal did not")
    assert question.sentences == (("the", "animal", "did", "not"),)
    assert question.queries == (3,)
    assert question.candidates == ((),)
    assert question.answers == (None,)


def test_a_whole_sentence_is_read_out_before_its_answer(run):
    question = lab.ask(run, f"{STEM} tired, so the animal waited.")
    assert len(question.sentences[0]) == 18
    assert (question.queries, question.answers) == ((14,), ("animal",))


@pytest.mark.parametrize("text", [f"{STEM} tired , so the", f"{STEM} tired , so the animal waited ."])
def test_pair_adds_the_other_sentence_of_the_same_length(run, text):
    first, second = lab.ask(run, text, pair=True).sentences
    assert len(first) == len(second)
    assert first[:15] == TIRED
    assert second[:15] == WET


def test_against_compares_any_two_sentences(run):
    question = lab.ask(run, "the animal did", against="the street did not")
    assert question.sentences == (("the", "animal", "did"), ("the", "street", "did", "not"))
    assert question.queries == (2, 3)
    two = lab.ask(run, STEM + "...", against="the street did not cross the animal...")
    assert len(two.sentences) == 2


@pytest.mark.parametrize(("query", "position"), [("animal", 1), ("0", 0), ("-1", 14), ("14", 14), ("tired", 11)])
def test_a_query_is_a_word_that_stands_once_or_a_position(run, query, position):
    question = lab.ask(run, " ".join(TIRED), query=query)
    assert question.queries == (position,)
    assert question.answers == ("animal" if position == 14 else None,)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("the", r"--query the: stands at positions 0, 5, 14"),
        ("anmal", r"--query anmal: no such word .* 'animal'"),
        ("15", r"positions 0 … 14"),
        ("-16", r"positions 0 … 14"),
        ("--1", "no such word"),
        ("²", "no such word"),
        ("", "no such word"),
    ],
)
def test_a_query_that_names_no_position_is_refused(run, query, message):
    with pytest.raises(ProbeError, match=message):
        lab.ask(run, " ".join(TIRED), query=query)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "the sentence is empty"),
        ("the anmal", {}, r"word 2 of the sentence, 'anmal'.*'animal'"),
        ("the animal", {"pair": True}, "no prompt of winograd-hard"),
        ("the animal", {"against": ""}, "the sentence is empty"),
        ("the animal cross...", {}, "after 'the animal' comes 'cross'"),
    ],
)
def test_a_sentence_that_means_nothing_is_refused(run, text, options, message):
    with pytest.raises(ProbeError, match=message):
        lab.ask(run, text, **options)


def test_the_key_of_a_question_is_of_its_words_and_queries(run):
    key = lab.ask(run, STEM + "...").key
    assert key == lab.ask(run, f"  {STEM} ...").key == lab.ask(run, " ".join(TIRED), against=" ".join(WET)).key
    assert key != lab.ask(run, STEM + "...", query="animal").key
    assert lab.ask(run, "The\tanimal\n").title == "The animal"


# -- looking ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def looked(run):
    question = lab.ask(run, STEM + "...")
    return question, *lab.attention_of(run, question)


def test_every_row_of_attention_is_a_share_of_what_came_before(looked):
    _, attention, _ = looked
    weights = attention.table[attention.table["metric"] == "weight"]
    assert (weights["key"] <= weights["query"]).all()
    assert weights["value"].between(0, 1).all()
    sums = weights.groupby(["sentence", "layer", "head", "query"])["value"].sum()
    assert np.allclose(sums, 1, atol=1e-6)
    assert len(sums) == 2 * 2 * 4 * 15


def test_weights_are_the_softmax_of_the_scores_in_the_same_table(looked):
    _, attention, _ = looked
    wide = attention.table.pivot(index=["sentence", "layer", "head", "query", "key"], columns="metric", values="value")
    exp = np.exp(wide["score"].astype(float))
    shares = exp / exp.groupby(["sentence", "layer", "head", "query"]).transform("sum")
    assert np.allclose(shares, wide["weight"], atol=1e-6)


def test_predictions_are_the_models_own(run, looked):
    import torch

    question, _, prediction = looked
    model, words = lab.open_model(run), run.vocabulary
    for number, sentence in enumerate(question.sentences):
        with torch.no_grad():
            logits = model(torch.from_numpy(words.encode(sentence))[None])[0, -1]
        said = prediction.table[prediction.table["sentence"] == number].pivot(
            index="word", columns="metric", values="value"
        )
        assert np.allclose(said.loc[list(words.words), "logit"], logits, atol=1e-5)
        assert said["probability"].sum() == pytest.approx(1, abs=1e-5)
        assert said["probability"].idxmax() == question.answers[number]


def test_scores_of_layer_0_on_shared_words_are_bit_equal_while_weights_move(looked):
    _, attention, _ = looked
    shared = shared_scores(attention)
    assert shared is not None
    assert shared.bit_equal
    assert shared.compared == 4 * (14 * 15 // 2)  # four heads, 14 of 15 words shared, keys up to the query
    assert shared.largest_weight_change > 0


def test_looking_again_gives_the_same_tables_from_the_folder(run, looked):
    question, attention, prediction = looked
    again = lab.attention_of(run, question)
    for before, after in zip((attention, prediction), again, strict=True):
        assert after.table.equals(before.table)
        assert after.meaning() == before.meaning()


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"layers": [9]}, r"layers: there is no 9; the model has layers 0 … 1"),
        ({"layers": [0, -1]}, r"layers: there is no -1"),
        ({"heads": [4]}, r"heads: there is no 4; the model has heads 0 … 3"),
    ],
)
def test_a_layer_or_head_that_is_not_there_is_refused(run, chosen, message):
    with pytest.raises(ProbeError, match=message):
        lab.look(run, STEM + "...", **chosen)


def test_a_map_that_was_computed_is_shown_without_torch(runs, looked):
    code = (
        "import sys; from probe.cli import run; code = run(sys.argv[1:]);"
        "bad = {'torch', 'transformer_lens'} & set(sys.modules); print(bad or 'no torch', file=sys.stderr);"
        "sys.exit(code)"
    )
    command = [sys.executable, "-c", code, "attn-map", STEM + "...", "--runs", str(runs)]
    environment = os.environ | {"PYTHONPATH": str(Path(lab.__file__).parents[2])}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "no torch"
    assert "animal" in done.stdout


def test_weights_of_a_step_that_was_not_kept_are_refused_with_those_that_were(run):
    kept = store.checkpoint_steps(run)
    assert kept
    lab.open_model(run, step=kept[0])
    with pytest.raises(NotThere, match=r"step 7; it has \[0, 50"):
        lab.open_model(run, step=7)


def test_provenance_names_task_weights_and_seed(run):
    source = lab.provenance(run)
    assert source.task_digest == load_task("winograd-hard").digest
    assert source.seed == 0
    assert len(source.model_digest) == 64


@pytest.mark.parametrize("pairs", [-5, 0, 1])
def test_fewer_than_two_pairs_are_refused_wherever_they_are_asked_for(run, pairs):
    asked = (lab.trace_run, lab.evidence_of, lab.sweeps_of, lab.attribution_of, lab.lens_of, lab.examine)
    for each in (
        *asked,
        lambda run, n: lab.trace_runs([run], n),
        lambda run, n: lab.contrasts_of(lab.run_dataset(run), n),
    ):
        with pytest.raises(ProbeError, match=f"pairs = {pairs}: must be 2 or more"):
            each(run, pairs)


@pytest.mark.parametrize("pairs", [8, 24, 40, 60, 79, 120])
def test_some_of_the_pairs_are_a_fair_lot_of_all(pairs):
    """Every k-th pair would be of one adjective: sentences stand in the order of their words."""
    dataset = make_dataset(load_task("winograd-hard"))
    groups = {example.group for example in dataset.held_out}
    for contrast in lab.contrasts_of(dataset, pairs):
        assert len(contrast) in (pairs, pairs - 1)
        words = {role: position for position, role in contrast.roles.items()}
        kinds = Counter(contrast.clean[:, words["adjective"]].tolist())
        assert len(kinds) == 8 or pairs < 24, kinds
        assert max(kinds.values()) <= max(2 * len(contrast) / 8, 4), "no adjective is twice as common as it should be"
        if contrast.name == "adjective":
            assert contrast.both_ways
            assert len(set(contrast.groups)) == min(pairs // 2, len(groups)), "every noun pair in its turn"
        else:
            assert len(set(contrast.groups)) == min(pairs, len(groups))


def test_a_summary_is_what_the_metrics_say(run):
    summary, rows = lab.summary(run), store.read_metrics(run)
    assert summary["held_out"] == rows[-1]["held_out"]
    assert summary["untrained"]["held_out"] == rows[0]["held_out"]
    assert summary["validation"]["referent_accuracy"] == 1.0
    assert summary["steps"] == rows[-1]["step"]


def test_the_lab_imports_nothing_heavy_until_it_is_used() -> None:
    """Every command pays for what this room imports; a map that was computed once is shown without torch."""
    heavy = {"torch", "pandas", "scipy", "sklearn", "matplotlib"}
    code = f"import sys, probe.lab; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
