"""`probe figure`: one picture alone, or the list of what can be drawn."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

NS = "{http://www.w3.org/2000/svg}"


def test_without_a_name_it_lists_what_the_run_can_draw(probe, runs):
    said = probe("figure", "--runs", runs)
    assert said.code == 0
    lines = {line.split()[0]: line for line in said.out.splitlines()[1:]}
    assert {"attention", "scores", "trace", "probes"} <= set(lines)
    assert "missing yet" not in lines["training"] and "missing yet: probe probes" in lines["probes"]
    listed = probe("figure", "--list", "--runs", runs, "--json").json
    assert {row["name"]: row["computed_by"] for row in listed["figures"]}["training"] is None


def test_a_figure_is_a_file_that_stands_alone(probe, runs, run):
    said = probe("figure", "scores", "--runs", runs, "--out", "a.svg")
    assert (said.code, said.out) == (0, "a.svg\n")
    svg = Path("a.svg").read_text(encoding="utf-8")
    root = ElementTree.fromstring(svg)
    from probe.files import digest

    assert digest(dict(run.manifest)) in (root.findtext(f"{NS}metadata") or "")
    assert root.findtext(f"{NS}desc") and run.name in svg
    assert svg.replace("http://www.w3.org/2000/svg", "").count("http") == 0


def test_no_path_of_this_machine_is_in_a_figure(probe, runs):
    probe("figure", "training", "--runs", runs, "--out", "a.svg")
    assert str(runs) not in Path("a.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_ending_of_the_file_chooses_its_kind(probe, runs, ending, start):
    assert probe("figure", "scores", "--runs", runs, "--out", f"a.{ending}", "--style", "slide").code == 0
    assert Path(f"a.{ending}").read_bytes().startswith(start)


def test_it_lies_in_the_run_by_default(probe, runs, run):
    said = probe("figure", "training", run.name, "--runs", runs, "--format", "svg", "--style", "dark", "--json")
    assert said.json["file"] == str(run.path / "figures" / "training.svg")
    assert "#0d1117" in Path(said.json["file"]).read_text(encoding="utf-8")


def test_attention_is_drawn_for_the_sentence_that_is_asked_for(probe, runs):
    assert probe("figure", "attention", "--runs", runs, "--sentence", "the dog did not...", "--out", "a.svg").code == 0
    assert "the dog did not" in Path("a.svg").read_text(encoding="utf-8")


def test_heads_are_computed_where_they_are_missing_and_a_part_can_be_had_alone(probe, runs, run, tmp_path):
    shutil.copytree(run.path, tmp_path / "r" / run.name, ignore=shutil.ignore_patterns("heads.*", "composition.*"))
    said = probe("figure", "composition", run.name, "--runs", tmp_path / "r", "--part", "k-comp", "--out", "a.svg")
    assert said.code == 0 and "computing heads" in said.err
    svg = Path("a.svg").read_text(encoding="utf-8")
    assert "K-composition" in svg and "Q-composition" not in svg


def test_a_result_of_other_weights_or_an_older_analysis_is_computed_again(probe, runs, run, tmp_path):
    """A table that was computed before the weights changed says nothing of this model."""
    from dataclasses import replace

    from probe import lab, store

    shutil.copytree(run.path, tmp_path / "r" / run.name)
    copy = store.open_run(tmp_path / "r", run.name)
    scores, _ = lab.heads_of(copy)
    table = scores.table.assign(value=0.77)
    for change in ({"model_digest": "another"}, {"versions": {**scores.provenance.versions, "analyses": "0"}}):
        other = replace(scores, table=table, provenance=replace(scores.provenance, **change))
        store.save_result(copy, "heads", other)
        said = probe("figure", "heads", copy.name, "--runs", tmp_path / "r", "--out", "a.svg")
        assert said.code == 0 and "computing heads" in said.err
        assert ">0.77<" not in Path("a.svg").read_text(encoding="utf-8")


def test_a_run_that_is_not_finished_says_which_command_computes_it(probe, runs, run, tmp_path):
    shutil.copytree(run.path, tmp_path / "r" / run.name, ignore=shutil.ignore_patterns("model.safetensors", "results"))
    said = probe("figure", "probes", run.name, "--runs", tmp_path / "r")
    assert said.code == 3 and f"compute it with: probe probes {run.name}" in said.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("figure", "formation"), 2, "checkpoints"),
        (("figure", "haeds"), 2, "'heads'"),
        (("figure", "scores", "--format", "gif"), 2, "pdf"),
        (("figure", "scores", "--style", "drak"), 2, "'dark'"),
        (("figure", "scores", "--part", "nothing of this"), 2, "held-out"),
        (("figure", "scores", "no-such-run"), 3, "no run"),
    ],
)
def test_what_cannot_be_drawn_says_what_to_do(probe, runs, arguments, code, words):
    said = probe(*arguments, "--runs", runs)
    assert said.code == code and words in said.err
