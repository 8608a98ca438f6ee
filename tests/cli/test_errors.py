"""What a clumsy or hostile user does: one or two lines on stderr, the right exit code, and never a traceback.

The `probe` fixture holds the form of every error; here are the codes and what the message must name.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from probe import store
from probe.cli import COMMANDS

STEM = "the animal did not cross the street because it was too"
TINY = ["--steps", "2", "--threads", "1", "--set", "evaluate_every=1", "--quiet"]

WRONG = [
    (["nope"], 2, ["nope", "probe --help"]),
    (["--nope"], 2, ["--nope", "probe --help"]),
    (["tasks", "more"], 2, ["more", "probe tasks --help"]),
    (["generate-task"], 2, ["name", "probe generate-task --help"]),
    (["generate-task", "winogrd-hard"], 3, ["'winogrd-hard'", "'winograd-hard'"]),
    (["generate-task", "mine.toml"], 3, ["mine.toml", "does not exist"]),
    (["generate-task", "winograd-hard", "--seed", "x"], 2, ["--seed", "'x'"]),
    (["generate-task", "winograd-hard", "--set", "x"], 2, ["--set x", "key=value"]),
    (["generate-task", "winograd-hard", "--set", "split.heldout=0.3"], 2, ["split.heldout", "'held_out'"]),
    (["generate-task", "winograd-hard", "--set", "split.held_out=7"], 2, ["split.held_out", "7"]),
    (["generate-task", "winograd-hard", "--set", "split.held_out=nan"], 2, ["split.held_out", "nan"]),
    (["generate-task", "winograd-hard", "--set", "split.validation=0.001"], 2, ["validation empty"]),
    (["generate-task", "induction", "--set", "sequence.words=4"], 2, ["sequence.periods"]),
    (["train", "--blcks", "3"], 2, ["--blcks", "--blocks", "probe train --help"]),
    (["train", "--blocks", "-1"], 2, ["--blocks -1"]),
    (["train", "--blocks", "two"], 2, ["--blocks", "'two'"]),
    (["train", "--blocks", "2", "--variant", "uniform"], 2, ["--blocks", "--variant"]),
    (["train", "--variant", "two-blok"], 2, ["'two-blok'", "'two-block'"]),
    (["train", "--heads", "3"], 2, ["n_heads = 3", "d_model = 66"]),
    (["train", "--heads", "0"], 2, ["n_heads = 0"]),
    (["train", "--d-model", "0"], 2, ["d_model = 0"]),
    (["train", "--position", "rope", "--set", "d_head=5"], 2, ["d_head = 5", "even"]),
    (["train", "--position", "ropes"], 2, ["'ropes'", "'rope'"]),
    (["train", "--norm", "batch"], 2, ["'batch'", "pre"]),
    (["train", "--steps", "0"], 2, ["steps = 0"]),
    (["train", "--batch-size", "0"], 2, ["batch_size = 0"]),
    (["train", "--batch-size", "99999999"], 2, ["batch_size = 99999999", "1560"]),
    (["train", "--lr", "-1"], 2, ["lr = -1"]),
    (["train", "--lr", "nan"], 2, ["lr = nan"]),
    (["train", "--lr", "inf"], 2, ["lr = inf"]),
    (["train", "--optimizer", "adam"], 2, ["'adam'", "'adamw'"]),
    (["train", "--until", "2"], 2, ["until = 2"]),
    (["train", "--until", "nan"], 2, ["until = nan"]),
    (["train", "--seed", "-1"], 2, ["seed = -1"]),
    (["train", "--seeds", "7-0"], 2, ["--seeds 7-0"]),
    (["train", "--seeds", ""], 2, ["--seeds"]),
    (["train", "--seeds", "a"], 2, ["'a'"]),
    (["train", "--seeds", "0-99999"], 2, ["0-99999"]),
    (["train", "--threads", "0"], 2, ["--threads 0"]),
    (["train", "--device", "tpu"], 2, ["--device tpu", "cpu"]),
    (["train", "--set", "d_modle=3"], 2, ["d_modle", "'d_model'"]),
    (["train", "--set", "d_model=wide"], 2, ["d_model", "'wide'", "int"]),
    (["train", "--set", "d_vocab=3"], 2, ["d_vocab = 3", "36 words"]),
    (["train", "--set", "seed=3"], 2, ["--seed 3"]),
    (["train", "--set", "init_std=-1.0"], 2, ["init_std"]),
    (["train", "--set", "tied=maybe"], 2, ["tied", "'maybe'"]),
    (["train", "--task", "winogrd"], 3, ["'winogrd'"]),
    (["train", "--task", "."], 3, ["task.json"]),
    (["train", "--resume", "nope"], 3, ["'nope'"]),
    (["train", "--resume", "nope", "--steps", "9"], 2, ["--resume", "--steps"]),
    (["train", "--resume", "nope", "--set", "lr=0.1"], 2, ["--resume", "--set"]),
    (["attn-map", "the animal"], 3, ["no run", "probe train"]),
    (["attn-map"], 2, ["sentence"]),
    (["attn-map", "the animal", "--run", "nope"], 3, ["'nope'"]),
]


WRONG += [
    (["audit", "winograd-hard", "--seed", "-1"], 2, ["seed = -1"]),
    (["audit", "winograd-hard", "--shuffles", "0"], 2, ["--shuffles 0", "1 or more"]),
    (["audit", "winograd-hard", "--shuffles", "3"], 2, ["--shuffles 3", "--run or --model"]),
    (["audit", "winograd-hard", "--jobs", "-1"], 2, ["--jobs -1"]),
    (["generate-task", "winograd-hard", "--seed", "-1"], 2, ["seed = -1"]),
    (["train", "--seed", "1", "--seeds", "0-3"], 2, ["--seed and --seeds"]),
    (["train", "--lr", "0.1", "--set", "lr=0.2"], 2, ["--set lr=0.2", "0.1 already"]),
    (["train", "--heads", "4", "--set", "n_heads=2"], 2, ["--set n_heads=2", "4 already"]),
    (["train", "--blocks", "2", "--set", "n_layers=3"], 2, ["--set n_layers=3", "--blocks says 2"]),
    (["train", "--set", "lr=nan"], 2, ["lr = nan"]),
    (["train", "--resume", "latest", "--seed", "3"], 2, ["--seed cannot be given"]),
    (["train", "--resume", "latest", "--device", "cpu"], 2, ["--device cannot be given"]),
    (["attn-map", "the animal", "--json", "--format", "svg"], 2, ["--json", "--format svg"]),
]


@pytest.mark.parametrize(("arguments", "code", "parts"), WRONG, ids=[" ".join(case[0]) for case in WRONG])
def test_wrong_usage_is_answered_with_what_and_what_to_do(probe, arguments, code, parts):
    said = probe(*arguments)
    assert said.code == code
    for part in parts:
        assert part in said.err
    assert not Path("runs").exists(), "nothing is made by a command that was refused"


LOOKS = [
    ([""], 2, ["the sentence is empty"]),
    (["   "], 2, ["the sentence is empty"]),
    (["the anmal did"], 2, ["word 2", "'anmal'", "'animal'"]),
    (["the animal", "did"], 2, ["did", "quotes", "probe attn-map --help"]),
    (["zebra..."], 2, ["word 1", "'zebra'"]),
    (["the animal street..."], 2, ["'the animal'", "'street'"]),
    (["the " * 40], 2, ["40 words", "18"]),
    ([STEM + "...", "--head", "L9H0"], 2, ["L9H0", "L0H0 … L1H3"]),
    ([STEM + "...", "--head", "L0H4"], 2, ["L0H4"]),
    ([STEM + "...", "--head", "1.2"], 2, ["1.2", "L0H2"]),
    ([STEM + "...", "--head", "L0H0", "--average"], 2, ["--head", "--average"]),
    ([STEM + "...", "--query", "the"], 2, ["--query the", "0, 5, 14"]),
    ([STEM + "...", "--query", "99"], 2, ["--query 99", "0 … 14"]),
    ([STEM + "...", "--query", "²"], 2, ["--query ²"]),
    ([STEM + "...", "--query", "tired"], 2, ["--query tired"]),  # the wet sentence has none
    ([STEM + "...", "--format", "pgn"], 2, ["pgn", "'png'"]),
    ([STEM + "...", "--pair", "--against", "the"], 2, ["--pair", "--against"]),
    (["the animal", "--pair"], 2, ["--pair", "no prompt"]),
    ([STEM + "...", "--averge"], 2, ["--averge", "--average"]),
]


@pytest.mark.parametrize(("arguments", "code", "parts"), LOOKS, ids=[" ".join(case[0])[-40:] for case in LOOKS])
def test_looking_wrongly_is_answered_too(probe, runs, arguments, code, parts):
    said = probe("attn-map", *arguments, "--runs", runs)
    assert said.code == code
    for part in parts:
        assert part in said.err


NAMED_WRONG = [
    (["report", "--out", "r.pdf"], "ends in .pdf, and what is written is html"),
    (["report", "--out", "r.html", "--format", "md"], "ends in .html, and what is written is md"),
    (["figure", "training", "--out", "r.svg", "--format", "pdf"], "ends in .svg, and what is written is pdf"),
    (["compare", "latest", "latest", "--out", "r.md"], "ends in .md, and what is written is html"),
]


@pytest.mark.parametrize(("arguments", "part"), NAMED_WRONG, ids=[" ".join(case[0]) for case in NAMED_WRONG])
def test_a_file_is_not_given_the_name_of_another_kind(probe, runs, run, arguments, part):
    said = probe(*[run.name if word == "latest" else word for word in arguments], "--runs", runs)
    assert said.code == 2 and part in said.err
    assert not list(Path().glob("r.*"))


def test_a_task_in_a_folder_of_its_own_is_the_one_that_is_named_next(probe):
    said = probe("generate-task", "winograd-easy", "--out", "mine/easy")
    assert "next: probe train --blocks 2 --task mine/easy" in said.err


def test_an_audit_says_whether_a_task_is_the_one_that_ships(probe):
    probe("generate-task", "winograd-hard", "--set", "split.held_out=0.3", "--quiet")
    assert "as it ships" in probe("audit", "winograd-hard").out
    assert "changed from the one that ships" in probe("audit", "data/winograd-hard").out


def test_nothing_said_is_help(probe):
    said = probe()
    assert said.code == 0
    assert all(command in said.out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_a_first_line(probe, command):
    said = probe(command, "--help")
    assert said.code == 0 and said.err == ""
    assert (COMMANDS[command].__doc__ or "").split(".")[0][:40] in " ".join(said.out.split())


def test_a_diverging_loss_stops_with_what_to_change(probe):
    said = probe("train", "--lr", "1e9", "--steps", "20", "--threads", "1", "--quiet")
    assert said.code == 2
    assert "lower --lr" in said.err and "1e+09" in said.err
    assert not Path("runs/latest").exists()


def test_a_model_too_large_for_the_machine_is_said_to_be(probe):
    said = probe("train", "--d-model", 2**22, *TINY)
    assert said.code == 2 and "not enough memory" in said.err


def damaged(run: store.Run, file: str, how: str) -> None:
    """Copy a finished run to ./runs and damage one file."""
    target = Path("runs") / run.name
    shutil.copytree(run.path, target)
    Path("runs/latest").write_text(run.name + "\n")
    for kept in (target / "results").glob("attn-*"):
        kept.unlink()  # a map that is kept needs none of these files
    path = target / file
    if how == "truncated":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif how == "foreign":
        path.write_text(json.dumps({"something": "else"}))
    elif how == "missing":
        path.unlink()
    elif how == "a folder":
        path.unlink()
        path.mkdir()


@pytest.mark.parametrize("how", ["truncated", "foreign", "missing", "a folder"])
@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "manifest.json", "vocabulary.json"])
def test_damaged_files_are_refused_by_name(probe, run, file, how):
    damaged(run, file, how)
    said = probe("attn-map", "the animal did not cross...")
    assert said.code in (2, 3)
    assert file in said.err
    assert probe("runs").code == 0, "one damaged run does not hide the others"


@pytest.mark.parametrize("how", ["truncated", "foreign", "a folder"])
def test_a_damaged_summary_does_not_hide_the_list_of_runs(probe, run, how):
    damaged(run, "results/summary.json", how)
    said = probe("runs")
    assert said.code == 0 and "summary.json" in said.out


def test_a_full_disk_is_said_with_what_to_do(probe, monkeypatch):
    from probe import files

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    for command in (["generate-task", "winograd-hard"], ["train", *TINY]):
        said = probe(*command)
        assert said.code == 2 and "disk is full" in said.err
    assert not [path for path in Path(".").rglob("*") if path.is_file()], "nothing half written is left"


def test_a_read_only_folder_is_named(probe, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    (tmp_path / "data").mkdir(mode=0o500)
    said = probe("generate-task", "winograd-hard")
    assert said.code == 2 and "ermission" in said.err


def test_a_file_where_a_folder_should_be_is_named(probe):
    Path("data").write_text("mine")
    Path("runs").write_text("mine")
    for command in (["generate-task", "winograd-hard"], ["train", *TINY]):
        said = probe(*command)
        assert said.code == 2 and ("data" in said.err or "runs" in said.err)
    assert Path("data").read_text() == Path("runs").read_text() == "mine"


def test_a_folder_with_other_things_is_not_written_into(probe):
    Path("thesis").mkdir()
    Path("thesis/chapter.txt").write_text("mine")
    said = probe("generate-task", "winograd-hard", "--out", "thesis")
    assert said.code == 2 and "not empty" in said.err
    assert [path.name for path in Path("thesis").iterdir()] == ["chapter.txt"]


def test_a_damaged_data_folder_is_refused_before_training(probe):
    probe("generate-task", "winograd-hard", "--quiet")
    path = Path("data/winograd-hard/train.jsonl")
    path.write_bytes(path.read_bytes()[:-50])
    said = probe("train", *TINY)
    assert said.code == 2 and "train.jsonl, line 1560" in said.err


def test_a_fault_of_ours_is_called_one(capsys, monkeypatch):
    """Not through the fixture, which forbids it: an exception that nobody foresaw."""
    from probe import cli
    from probe.tasks import spec

    monkeypatch.setattr(spec, "task_names", lambda: 1 / 0)
    assert cli.run(["tasks"]) == 70
    said = capsys.readouterr()
    assert "fault of probe" in said.err and "PROBE_TRACEBACK=1" in said.err
    monkeypatch.setenv("PROBE_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        cli.run(["tasks"])
