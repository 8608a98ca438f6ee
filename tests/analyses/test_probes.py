"""Probes on models whose variables stand at known places, and on activations that know nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from probe import lab
from probe.analyses.probes import Sentences, Target, probes
from probe.models.handmade import gated_solver, two_hop_solver
from probe.models.transformer import Transformer
from probe.result import Provenance
from probe.tasks.dataset import Dataset, make_dataset
from probe.tasks.spec import load_task

NOWHERE = Provenance(task_digest="", model_digest="", seed=0, versions={}, threads=1, dtype="float32", git_commit=None)
LAST = 14
"""Position of the answer's place in winograd-hard."""


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    """A third of the training sentences, of all adjectives."""
    whole = make_dataset(load_task("winograd-hard"))
    return replace(whole, train=whole.train[::3])


@pytest.fixture(scope="module")
def declared(dataset: Dataset) -> tuple[Sentences, list[Target]]:
    return lab.targets_of(dataset)


def solver(dataset: Dataset, build, **settings) -> Transformer:
    ids, lexicon = dataset.vocabulary.ids, dataset.spec.lexicon
    crosser, nouns = ([ids[word] for word in lexicon[name]] for name in ("crosser", "noun"))
    return build(len(ids), 18, dataset.train[0].positions, crosser, nouns, **settings)


@pytest.fixture(scope="module")
def tables(dataset: Dataset, declared: tuple[Sentences, list[Target]]) -> dict[str, pd.DataFrame]:
    """Of the last two positions, for both solvers."""
    sentences, targets = declared
    late = [replace(target, since=LAST - 1) for target in targets]
    models = {"two hops": solver(dataset, two_hop_solver), "gated": solver(dataset, gated_solver, layer=1)}
    return {name: probes({"trained": model}, sentences, late, NOWHERE).table for name, model in models.items()}


def value(table: pd.DataFrame, target: str, metric: str, layer: int = 1, condition: str = "trained") -> float:
    """At the answer's place, in the stream that a layer reads."""
    chosen = (table["kind"] == "resid_pre") & (table["layer"] == layer) & (table["position"] == LAST)
    chosen &= (table["target"] == target) & (table["metric"] == metric) & (table["condition"] == condition)
    return float(table[chosen]["value"].item())


def test_what_arrives_can_be_read_and_what_does_not_cannot(tables: dict[str, pd.DataFrame]) -> None:
    two, gated = tables["two hops"], tables["gated"]
    assert value(two, "first noun", "accuracy") == value(gated, "first noun", "accuracy") == 1.0
    assert value(two, "adjective's role", "accuracy") == 1.0
    assert value(gated, "adjective's role", "accuracy") == 0.5, "the gated solver brings no role to the answer's place"
    for table in tables.values():
        assert value(table, "second noun", "accuracy") <= 0.2
        assert value(table, "first noun", "accuracy", layer=0) <= 0.2


def test_selectivity_is_that_of_a_variable_not_of_words(tables: dict[str, pd.DataFrame]) -> None:
    """The role arrives without its adjective: labels dealt to adjectives by lot cannot be read there."""
    assert value(tables["two hops"], "adjective's role", "accuracy", condition="control") == pytest.approx(
        0.5, abs=0.05
    )
    assert value(tables["two hops"], "adjective's role", "selectivity") == pytest.approx(0.5, abs=0.05)


def test_a_word_has_no_selectivity(dataset: Dataset, declared: tuple[Sentences, list[Target]]) -> None:
    """At the adjective itself a probe sees the word, and any labels of words can be read (Hewitt & Liang 2019)."""
    sentences, targets = declared
    here = replace(targets[2], since=11)
    table = probes({"trained": solver(dataset, two_hop_solver)}, sentences, [here], NOWHERE).table
    at = table[(table["kind"] == "resid_pre") & (table["layer"] == 0) & (table["position"] == 11)]
    by_metric = {(row["metric"], row["condition"]): row["value"] for row in at.to_dict("records")}
    assert by_metric["accuracy", "trained"] == by_metric["accuracy", "control"] == 1.0
    assert by_metric["selectivity", "trained"] == 0.0
    assert by_metric["accuracy, other adjectives", "trained"] == pytest.approx(0.5, abs=0.1)


def test_codelength_is_the_uniform_code_where_nothing_is_known(tables: dict[str, pd.DataFrame]) -> None:
    n = 520
    assert value(tables["gated"], "adjective's role", "codelength", layer=0) == pytest.approx(n, rel=0.03)
    assert value(tables["gated"], "adjective's role", "codelength") > n, "learning from a noun what it does not say"
    assert value(tables["two hops"], "adjective's role", "codelength") < 0.25 * n
    assert value(tables["two hops"], "second noun", "codelength") > 0.95 * 4 * n


def test_use_is_told_from_presence(tables: dict[str, pd.DataFrame]) -> None:
    """Along the probes of the two-hop solver noun and role can be swapped each by itself, which no whole swap can."""
    two = tables["two hops"]
    for variable in ("first noun", "adjective's role"):
        assert value(two, variable, "interchange along the probe") >= 0.95
        assert value(two, variable, "interchange along the probe", condition="control") <= 0.3
    last = two[(two["kind"] == "resid_pre") & (two["layer"] == 1) & (two["position"] == LAST - 1)]
    causal = last[last["metric"].isin(["interchange along the probe", "lost by erasure"])]
    assert causal["value"].max() == 0.0, "the position before it reaches no answer"


def test_erasing_the_role_loses_the_answers_that_need_it(tables: dict[str, pd.DataFrame]) -> None:
    """Half way between the roles the later head takes neither side alone; random directions change next to nothing."""
    assert value(tables["two hops"], "first noun", "lost by erasure") > 0.8
    assert value(tables["gated"], "adjective's role", "lost by erasure") == 0.0


def test_no_position_before_the_word_has_a_probe(declared: tuple[Sentences, list[Target]]) -> None:
    _, targets = declared
    assert [(target.name, target.since) for target in targets] == [
        ("first noun", 1),
        ("second noun", 6),
        ("adjective's role", 11),
        ("answer", 11),
    ]


def test_the_control_task_is_independent_of_the_role(declared: tuple[Sentences, list[Target]]) -> None:
    _, targets = declared
    role = targets[2]
    assert role.control is not None
    assert float((role.control == role.labels).double().mean()) == 0.5
    assert targets[0].control is None


@pytest.mark.parametrize(("words", "there"), [(1, False), (2, True)])
def test_there_is_no_control_where_a_role_has_one_word(words: int, there: bool, tmp_path: Path) -> None:
    """Its one word has one lot: dealt roles would tell of the true one."""
    text = (Path(__file__).parents[2] / "tasks" / "winograd-hard.toml").read_text(encoding="utf-8")
    listed = re.search(r"crosser = (\[.*?\])", text, re.DOTALL)
    assert listed is not None
    few = json.dumps(json.loads(listed[1])[:words])
    path = tmp_path / "few.toml"
    path.write_text(text.replace(listed[1], few), encoding="utf-8")
    _, targets = lab.targets_of(make_dataset(load_task(str(path))))
    assert (targets[2].control is not None) == (targets[3].control is not None) == there


def test_a_split_shares_no_word_of_which_it_tells(dataset: Dataset, declared: tuple[Sentences, list[Target]]) -> None:
    examples = [*dataset.train, *dataset.held_out]
    label_of = {
        "first noun": lambda example: example.candidates[0],
        "second noun": lambda example: example.candidates[1],
        "adjective's role": lambda example: "",
        "answer": lambda example: example.answer,
    }
    for target in declared[1]:
        for name, sides in target.splits.items():
            rows = [[examples[int(i)] for i in side] for side in sides]
            if name == "other nouns":
                words = [{w for e in side for w in {*e.candidates} - {label_of[target.name](e)}} for side in rows]
            else:
                assert name == "other adjectives"
                words = [{e.tokens[11] for e in side} for side in rows]
            assert words[0] and words[1] and not words[0] & words[1]


def test_a_role_that_is_a_variable_is_read_from_adjectives_never_seen(tables: dict[str, pd.DataFrame]) -> None:
    """Where the role has arrived without its word; the role of a word that a probe has not seen is anyone's guess."""
    assert value(tables["two hops"], "adjective's role", "accuracy, other adjectives") == 1.0
    assert value(tables["gated"], "adjective's role", "accuracy, other adjectives") == pytest.approx(0.5, abs=0.1)


def test_every_estimate_has_its_interval_floor_and_n(tables: dict[str, pd.DataFrame]) -> None:
    table = tables["two hops"]
    assert list(table.columns) == [
        "kind", "layer", "head", "position", "role", "target", "metric", "condition", "value", "low", "high", "n",
        "floor",
    ]  # fmt: skip
    assert table.drop(columns="head").notna().all().all()
    assert ((table["low"] <= table["value"] + 1e-9) & (table["value"] <= table["high"] + 1e-9)).all()
