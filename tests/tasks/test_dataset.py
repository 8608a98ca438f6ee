"""A data folder reads back as what was written; whatever is truncated, changed or foreign is refused by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from probe.errors import NotThere, ProbeError
from probe.tasks.dataset import Dataset, datasheet, load_dataset, make_dataset, save_dataset
from probe.tasks.spec import load_task


@pytest.fixture
def data(task_file) -> Dataset:
    return make_dataset(load_task(task_file()), seed=3)


@pytest.fixture
def folder(data, tmp_path) -> Path:
    save_dataset(data, tmp_path / "data" / "mine")
    return tmp_path / "data" / "mine"


@pytest.mark.parametrize(
    "name", ["winograd-hard", "winograd-es", "winograd-ru-agreement", "winograd-prior", "induction"]
)
def test_a_written_folder_reads_back_as_the_same_data_set(name, tmp_path):
    made = make_dataset(load_task(name), seed=2)
    save_dataset(made, tmp_path / "folder")
    assert load_dataset(tmp_path / "folder") == made


def test_writing_twice_gives_the_same_bytes_in_the_same_files(data, tmp_path):
    written = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        save_dataset(data, folder)
        save_dataset(data, folder)
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert written[0] == written[1]
    expected = {"train.jsonl", "validation.jsonl", "held_out.jsonl", "vocabulary.json", "README.md", "task.json"}
    assert set(written[0]) == expected


def test_files_are_utf8_without_escapes(tmp_path):
    save_dataset(make_dataset(load_task("winograd-ru")), tmp_path / "ru")
    first = (tmp_path / "ru" / "train.jsonl").read_bytes().decode("utf-8").splitlines()[0]
    assert "автобус" in first
    assert "\\u" not in first


def test_every_row_has_the_documented_columns(folder):
    sheet = (folder / "README.md").read_text("utf-8")
    for line in (folder / "train.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        assert all(f"`{column}`" in sheet for column in row)
        assert row["text"] == " ".join(row["tokens"])


def edit(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        text = (folder / name).read_text("utf-8")
        assert change(text) != text
        (folder / name).write_text(change(text), encoding="utf-8")

    return apply


def edit_json(name: str, **changes: object) -> Callable[[Path], None]:
    return edit(name, lambda text: json.dumps(json.loads(text) | changes))


def row(**changes: object) -> Callable[[Path], None]:
    """Change the second row of train."""

    def change(text: str) -> str:
        lines = text.splitlines(keepends=True)
        lines[1] = json.dumps(json.loads(lines[1]) | changes) + "\n"
        return "".join(lines)

    return edit("train.jsonl", change)


def swap_words(text: str) -> str:
    words = json.loads(text)["words"]
    return json.dumps({"words": words[::-1]})


DAMAGE: list[tuple[str, Callable[[Path], object], list[str]]] = [
    ("no task.json", lambda f: (f / "task.json").unlink(), ["task.json"]),
    ("task.json cut short", edit("task.json", lambda t: t[:40]), ["task.json", "not valid JSON"]),
    ("task.json is a list", edit("task.json", lambda t: "[]"), ["task.json", "list"]),
    ("task.json of another tool", edit("task.json", lambda t: '{"a": 1}'), ["task.json", "task", "missing"]),
    ("another version", edit_json("task.json", schema=2), ["task.json", "schema 2"]),
    ("seed is text", edit_json("task.json", seed="0"), ["task.json", "seed"]),
    ("spec is broken", edit_json("task.json", spec={"title": "x"}), ["task.json", "missing"]),
    ("name leads out of the folder", edit_json("task.json", task="../../mine"), ["task.json", "../../mine"]),
    ("digest of others", edit_json("task.json", data_sha256="0" * 64), ["task.json", "not those"]),
    ("a side is missing", lambda f: (f / "held_out.jsonl").unlink(), ["held_out.jsonl", "does not exist"]),
    ("a side is empty", edit("validation.jsonl", lambda t: ""), ["validation.jsonl", "empty"]),
    ("a line is cut", edit("train.jsonl", lambda t: t[:-30]), ["train.jsonl", "line"]),
    ("a row is lost", edit("train.jsonl", lambda t: t[t.index("\n") + 1 :]), ["not those"]),
    ("rows are swapped", edit("train.jsonl", lambda t: "".join(t.splitlines(keepends=True)[::-1])), ["not those"]),
    ("a row is a number", edit("train.jsonl", lambda t: "7\n" + t), ["train.jsonl", "line 1"]),
    ("an unknown word", edit("train.jsonl", lambda t: t.replace("met", "mat", 2)), ["train.jsonl", "line 1", "'mat'"]),
    ("no UTF-8", lambda f: (f / "train.jsonl").write_bytes(b"\xff\xfe"), ["train.jsonl", "UTF-8"]),
    ("answer is another word", row(answer="doe"), ["train.jsonl", "line 2"]),
    ("positions outside", row(positions={"answer": 99}), ["train.jsonl", "line 2", "99"]),
    ("no positions", row(positions={}), ["train.jsonl", "line 2", "answer"]),
    ("tokens is text", row(tokens="the ant"), ["train.jsonl", "line 2"]),
    ("another split", row(split="held_out"), ["train.jsonl", "line 2", "'held_out'"]),
    ("tokens of lists", row(tokens=[["a"]]), ["train.jsonl", "line 2"]),
    ("group changed", row(group="x|y"), ["not those"]),
    ("no vocabulary", lambda f: (f / "vocabulary.json").unlink(), ["vocabulary.json", "does not exist"]),
    ("vocabulary is a list", edit("vocabulary.json", lambda t: "[1]"), ["vocabulary.json", "list"]),
    ("vocabulary of numbers", edit_json("vocabulary.json", words=[1, 2]), ["vocabulary.json"]),
    ("vocabulary in another order", edit("vocabulary.json", swap_words), ["vocabulary.json", "not the words"]),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "parts"), [case[1:] for case in DAMAGE], ids=[case[0] for case in DAMAGE])
def test_a_damaged_folder_is_refused_by_name(folder, damage, parts):
    damage(folder)
    with pytest.raises(ProbeError) as error:
        load_dataset(folder)
    for part in [str(folder), *parts]:
        assert part in str(error.value)


def test_a_folder_that_is_not_there_is_named_with_the_command_that_makes_it(tmp_path):
    with pytest.raises(NotThere, match=r"nowhere.*probe generate-task"):
        load_dataset(tmp_path / "nowhere")


def test_nothing_foreign_is_overwritten(data, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ProbeError, match="not empty"):
        save_dataset(data, tmp_path)
    with pytest.raises(ProbeError, match="is a file"):
        save_dataset(data, tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_the_datasheet_says_what_was_counted():
    sheet = datasheet(make_dataset(load_task("winograd-hard")))
    for part in ["order-blind ceiling over all 1920 sentences: **50.0%**", "**0.0%**", "license: mit", "language: en"]:
        assert part in sheet
    assert "**100.0%**" in datasheet(make_dataset(load_task("winograd-easy")))
    assert "language: zxx" in datasheet(make_dataset(load_task("induction")))


def test_the_datasheet_names_a_command_only_if_it_makes_the_same(task_file):
    command = "`probe generate-task winograd-hard --seed 0`"
    changed = load_task("winograd-hard", {"split.held_out": 0.3})
    assert command in datasheet(make_dataset(load_task("winograd-hard")))
    assert command not in datasheet(make_dataset(changed)) and "task.json" in datasheet(make_dataset(changed))
    assert "generate-task small" not in datasheet(make_dataset(load_task(task_file())))


def test_words_cannot_break_out_of_the_datasheet(task_file):
    path = task_file(('title = "Small"', 'title = "<script>alert(1)</script> | *x*"'), ('"ant"', '"`ant`"'))
    sheet = datasheet(make_dataset(load_task(path)))
    outside_code = "\n".join(line for line in sheet.splitlines() if not line.startswith("    "))
    assert "<script>" not in outside_code.replace("\\<script", "")
    heading = next(line for line in sheet.splitlines() if line.startswith("# "))
    assert heading == r"# mine: \<script\>alert(1)\</script\> \| \*x\*"


def test_hugging_face_datasets_reads_the_folder_without_network(tmp_path):
    save_dataset(make_dataset(load_task("winograd-ru")), tmp_path / "ru")
    code = (
        "import datasets, sys; found = datasets.load_dataset(sys.argv[1]); row = found['held_out'][0];"
        "print({side: len(rows) for side, rows in found.items()}, end=' ');"
        "print(row['tokens'][row['positions']['answer']] == row['answer'])"
    )
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "cache"), "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "ru")], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "{'train': 1560, 'validation': 120, 'held_out': 240} True"
