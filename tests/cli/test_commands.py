"""The main job by its commands: generate, train, look; results on stdout, all else on stderr."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from probe import store
from probe.files import digest
from probe.tasks.dataset import load_dataset
from probe.tasks.spec import task_names

STEM = "the animal did not cross the street because it was too"
TINY = ["--steps", "2", "--threads", "1", "--set", "evaluate_every=1", "--set", "d_model=16"]

HOSTILE = """
title = "<script>alert(1)</script> [bold] `x`"
language = "en"
template = "<eos> {x} & \\"q\\" {y} ]]> {adj} -- {answer} ."
contrast = "adj"

[lexicon]
noun = ["</script>", "<b>", "'quote'", "$x$", "שלום", "😀", "&amp;", "[red]", "LONG"]
one = ["$\\\\q$", "\\\\alpha"]
two = ["[/bold]", "`tick`"]

[slots]
x = ["noun"]
y = ["noun"]
adj = ["one", "two"]

[answer]
by = "adj"
one = "x"
two = "y"

[split]
method = "reversed-pair"
validation = 0.2
held_out = 0.2
""".replace("LONG", "w" * 200)


# -- tasks -----------------------------------------------------------------------------------------------------------


def test_tasks_lists_every_task_with_the_hole_it_opens(probe):
    said = probe("tasks")
    assert said.code == 0
    assert [line.split()[0] for line in said.out.splitlines()] == task_names()
    assert "allows: prior" in next(line for line in said.out.splitlines() if line.startswith("winograd-prior"))
    listed = probe("tasks", "--json").json["tasks"]
    assert [task["name"] for task in listed] == task_names()


@pytest.mark.parametrize(("task", "ceiling", "table"), [("winograd-hard", 0.5, 0.0), ("winograd-easy", 1.0, 0.5)])
def test_a_generated_task_says_what_word_order_is_worth(probe, task, ceiling, table):
    told = probe("generate-task", task, "--json")
    assert told.json["order_blind_ceiling"] == ceiling
    assert told.json["bag_table"]["accuracy"] == table
    assert len(told.json["pairs"]) == 3
    said = probe("generate-task", task)
    assert f"{ceiling:.1%}" in said.out
    assert sum(line.startswith("  ") and " cross the " in line for line in said.out.splitlines()) == 6
    assert f"data/{task}/" in said.out
    assert "probe train" in said.err
    assert probe("generate-task", task, "--quiet").err == ""


def test_generating_twice_gives_the_same_bytes_and_another_seed_others(probe):
    for folder, seed in (("a", 3), ("b", 3), ("c", 4)):
        assert probe("generate-task", "winograd-ru", "--out", folder, "--seed", seed).code == 0
    a, b, c = ({p.name: p.read_bytes() for p in Path(folder).iterdir()} for folder in "abc")
    assert a == b
    assert a["train.jsonl"] != c["train.jsonl"]


def test_keys_are_set_and_an_out_folder_does_not_become_the_last_task(probe):
    told = probe("generate-task", "winograd-hard", "--set", "split.held_out=0.5", "--out", "other", "--json").json
    assert told["sentences"] == {"train": 1320, "validation": 120, "held_out": 480}
    assert not Path("data").exists()
    assert load_dataset(Path("other")).spec.split.held_out == 0.5


def test_a_task_file_of_the_users_own_is_given_by_path(probe):
    Path("my task.toml").write_text(HOSTILE, encoding="utf-8")
    assert probe("generate-task", "my task.toml", "--json").json["task"] == "my task"
    assert Path("data/my task/train.jsonl").exists()
    assert Path("data/latest").read_text() == "my task\n"


# -- training --------------------------------------------------------------------------------------------------------


def test_train_takes_the_last_generated_task_and_writes_a_run_folder(probe):
    probe("generate-task", "winograd-easy", "--seed", 2)
    said = probe("train", *TINY)
    assert said.code == 0
    (name,) = store.run_names(Path("runs"))
    assert name.startswith("winograd-easy-2b-s0-")
    assert Path("runs/latest").read_text().strip() == name
    files = {path.name for path in Path("runs", name).iterdir()}
    assert files >= {"manifest.json", "model.safetensors", "config.json", "vocabulary.json", "metrics.jsonl", "results"}
    assert "validation" in said.out and "held_out" in said.out and "untrained" in said.out
    assert "step 2/2" in said.err
    manifest = json.loads(Path("runs", name, "manifest.json").read_text("utf-8"))
    assert manifest["data_seed"] == 2
    assert {"versions", "threads", "dtype", "git_commit", "argv", "training", "device"} <= set(manifest)


def test_train_prints_one_object_and_nothing_else_when_asked(probe):
    said = probe("train", *TINY, "--json", "--variant", "one-block", "--seed", 4)
    assert said.err == ""
    told = said.json
    assert (told["task"], told["variant"], told["blocks"], told["seed"]) == ("winograd-hard", "one-block", 1, 4)
    assert {"run", "steps", "seconds", "parameters", "validation", "held_out"} <= set(told)
    assert set(told["held_out"]) == {"referent_accuracy", "distractor_rate", "pair_accuracy", "ties", "n"}
    again = probe("train", *TINY, "--json", "--variant", "one-block", "--seed", 4)
    assert again.json == told, "trained before: shown from its folder"


def test_quiet_training_says_its_result_alone(probe):
    said = probe("train", *TINY, "--quiet")
    assert said.err == ""
    assert "held_out" in said.out


def test_many_seeds_are_a_table_with_an_interval(probe):
    told = probe("train", *TINY, "--seeds", "0,3", "--json").json
    assert [run["seed"] for run in told["runs"]] == [0, 3]
    assert {"held_out", "validation", "untrained", "solved"} <= set(told["summary"])
    said = probe("train", *TINY, "--seeds", "0,3")
    assert "trained before" in said.err
    assert "mean over seeds" in said.out and "of 2 seeds" in said.out
    assert len(probe("runs").out.splitlines()) == 2


def test_settings_reach_the_model_and_the_training(probe):
    options = ["--heads", "2", "--position", "rope", "--norm", "post", "--lr", "0.01", "--batch-size", "8"]
    probe("train", *TINY, *options, "--set", "until=0.9", "--set", "tied=true", "--set", "warmup=1")
    run = store.open_run(Path("runs"))
    assert run.config["n_heads"] == 2 and run.config["d_head"] == 8 and run.config["tied"] is True
    assert (run.config["position"], run.config["norm"]) == ("rope", "post")
    training = run.manifest["training"]
    assert (training["lr"], training["batch_size"], training["until"], training["warmup"]) == (0.01, 8, 0.9, 1)


def test_a_finished_run_is_listed_and_an_unfinished_one_says_how_to_go_on(probe):
    probe("train", *TINY)
    (name,) = store.run_names(Path("runs"))
    assert "held_out" in probe("runs").out
    Path("runs", name, "model.safetensors").unlink()
    assert f"probe train --resume {name}" in probe("runs").out
    assert probe("train", "--resume", name, "--quiet").code == 0
    assert "held_out" in probe("runs").out
    Path("runs", name, "manifest.json").write_text("{")
    said = probe("runs")
    assert said.code == 0 and "not valid JSON" in said.out
    assert probe("runs", "--json").json["runs"][0]["error"]


def test_no_runs_is_no_error(probe):
    said = probe("runs")
    assert said.code == 0 and "probe train" in said.out
    assert probe("runs", "--json").json == {"runs": []}


def test_doctor_says_what_there_is(probe):
    assert probe("doctor", "--json").json["tasks"] == len(task_names())
    assert "torch" in probe("doctor").out


# -- looking ---------------------------------------------------------------------------------------------------------


def test_a_map_names_what_is_said_and_where_it_looked(probe, runs):
    said = probe("attn-map", STEM + "...", "--runs", runs)
    assert said.code == 0
    out = said.out
    assert re.search(r"animal \d+\.\d%.*right", out) and re.search(r"street \d+\.\d%.*right", out)
    assert "block 1" in out and "block 2" in out and "L1H3" in out
    assert re.search(r"\w+:0\.\d\d", out), "word:weight, as the chapter prints it"
    assert "bit-equal" in out
    assert "\x1b" not in out, "a pipe has no colour"
    pictures = [Path(line.removeprefix("picture: ")) for line in said.err.splitlines() if line.startswith("picture")]
    assert {path.suffix for path in pictures} == {".svg", ".png"}
    assert all(path.exists() for path in pictures)


def test_json_holds_every_head_and_each_blocks_mean(probe, runs):
    said = probe("attn-map", STEM + "...", "--runs", runs, "--json")
    assert said.err == ""
    told = said.json
    assert len(told["sentences"]) == 2
    for sentence, answer in zip(told["sentences"], ("animal", "street"), strict=True):
        assert sentence["answer"] == answer == sentence["predictions"][0]["word"]
        assert set(sentence["logits"]) == {"animal", "street"}
        assert set(sentence["heads"]) == {f"L{layer}H{head}" for layer in range(2) for head in range(4)}
        for layer in range(2):
            means = [sum(sentence["heads"][f"L{layer}H{head}"][14]) for head in range(4)]
            assert sum(means) == pytest.approx(4, abs=1e-4)
            rows = [sentence["heads"][f"L{layer}H{head}"][14] for head in range(4)]
            mean = [sum(column) / 4 for column in zip(*rows, strict=True)]
            assert sentence["block_means"][f"block {layer + 1}"][14] == pytest.approx(mean, abs=1e-6)
    assert probe("attn-map", STEM + "...", "--runs", runs, "--format", "json").json == told


@pytest.mark.parametrize("kind", ["svg", "png", "html"])
def test_a_format_prints_the_path_of_its_file_alone(probe, runs, kind):
    said = probe("attn-map", STEM + "...", "--runs", runs, "--format", kind, "--out", "pictures")
    (path,) = said.out.splitlines()
    assert Path(path).parent == Path("pictures") and Path(path).suffix == f".{kind}"
    assert Path(path).exists()
    assert [p.name for p in Path("pictures").iterdir()] == [Path(path).name]


def test_a_head_or_the_means_alone(probe, runs):
    one = probe("attn-map", STEM + "...", "--runs", runs, "--head", "l1h2", "--json").json["sentences"][0]
    assert list(one["heads"]) == ["L1H2"] and list(one["block_means"]) == ["block 2"]
    means = probe("attn-map", STEM + "...", "--runs", runs, "--average", "--json").json["sentences"][0]
    assert means["heads"] == {} and list(means["block_means"]) == ["block 1", "block 2"]
    for options in (["--head", "L1H2"], ["--average"]):
        for kind in ("terminal", "svg", "png", "html"):
            assert probe("attn-map", STEM + "...", "--runs", runs, *options, "--format", kind).code == 0


def test_plain_characters_are_plain_from_end_to_end(probe, runs, monkeypatch):
    for width in (80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        said = probe("attn-map", STEM + "...", "--runs", runs, "--ascii", "--quiet")
        assert said.out.isascii(), [letter for letter in said.out if not letter.isascii()][:3]
        assert said.err == ""
        assert max(map(len, said.out.splitlines())) <= width


def test_pictures_of_two_runs_in_one_folder_are_two_pictures(probe, runs):
    """The same sentence, other weights: the second PNG must not be the first one's."""
    probe("train", *TINY, "--quiet")
    first = probe("attn-map", STEM + "...", "--format", "png", "--out", "pictures").out
    second = probe("attn-map", STEM + "...", "--runs", runs, "--format", "png", "--out", "pictures").out
    assert first != second
    assert digest(Path(first.strip()).read_bytes()) != digest(Path(second.strip()).read_bytes())


@pytest.mark.parametrize("task", ["winograd-es", "winograd-ru-agreement", "previous-token"])
def test_the_command_a_run_hints_at_works(probe, task):
    said = probe("train", "--task", task, *TINY)
    command = re.search(r'next: probe attn-map "(.*)"', said.err)
    assert command
    assert probe("attn-map", command.group(1), "--quiet").code == 0


def test_a_model_without_attention_says_so_and_a_uniform_one_is_uniform(probe):
    probe("train", *TINY, "--blocks", "0", "--quiet")
    said = probe("attn-map", STEM + "...")
    assert said.code == 2 and "no attention to look at" in said.err
    probe("train", *TINY, "--variant", "uniform", "--quiet")
    told = probe("attn-map", STEM + "...", "--json").json
    assert told["sentences"][0]["heads"]["L0H0"][9] == pytest.approx([0.1] * 10 + [0] * 5)
    assert probe("attn-map", STEM + "...").code == 0


def test_hostile_words_go_through_the_whole_job(probe):
    """Words that have broken pages, pictures and terminals are words from the task file to the last picture."""
    Path("[red] <b>.toml").write_text(HOSTILE, encoding="utf-8")
    assert probe("generate-task", "[red] <b>.toml").code == 0
    assert probe("train", *TINY, "--set", "d_model=16").code == 0
    typed = '<eos> $x$ & "q" 😀 ]]>...'
    said = probe("attn-map", typed)
    assert "[red] <b> · two-block" in said.out.replace("\n", " ")
    for word in ("$x$", "😀", "]]>", "$\\q$", "[/bold]"):
        assert word in said.out
    assert probe("attn-map", typed, "--json").json["sentences"][0]["tokens"][1] == "$x$"
    svg = Path(probe("attn-map", typed, "--format", "svg").out.strip()).read_text("utf-8")
    assert "😀" in "".join(ElementTree.fromstring(svg).itertext())
    html = Path(probe("attn-map", typed, "--format", "html").out.strip()).read_text("utf-8")
    assert not re.search(r"<(eos|b>)", html)
    assert html.count("<script") == html.count("</script") == 3, "the page's own"
    png = Path(probe("attn-map", typed, "--format", "png").out.strip()).read_bytes()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    long = probe("attn-map", f'<eos> {"w" * 200} & "q" שלום ]]>...', "--format", "png")
    assert long.code == 0
