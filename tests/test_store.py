"""Run folders: found by name, refused by name when damaged, and read back as they were written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from probe import lab, store
from probe.errors import NotThere, ProbeError
from probe.result import AnalysisResult
from probe.store import Run


@pytest.fixture
def copy(run: Run, tmp_path: Path) -> Run:
    """The finished run in a folder of its own, to be damaged."""
    shutil.copytree(run.path, tmp_path / "runs" / run.name)
    copied = store.open_run(tmp_path / "runs", run.name)
    store.mark_latest(copied)
    return copied


# -- finding ---------------------------------------------------------------------------------------------------------


def test_a_run_is_found_by_name_by_path_by_its_beginning_and_as_the_latest(runs, run):
    names = [None, run.name, str(run.path), run.name[:-2]]
    assert {store.open_run(runs, name).path.resolve() for name in names} == {run.path.resolve()}
    assert store.run_names(runs) == [run.name]
    assert store.open_run(str(runs), run.name).path == run.path, "a folder may be text"


def test_what_is_not_there_is_said_with_what_to_do(tmp_path, runs, run):
    with pytest.raises(NotThere, match="probe train"):
        store.open_run(tmp_path)
    with pytest.raises(NotThere, match=f"there is no run 'winograd-hrd'.*{run.name}"):
        store.open_run(runs, "winograd-hrd")
    (tmp_path / "latest").write_text("gone\n")
    with pytest.raises(NotThere, match="'gone', which is gone"):
        store.open_run(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotThere, match=r"empty is no run folder"):
        store.open_run(tmp_path, "empty")
    (tmp_path / "latest").write_text("")
    with pytest.raises(NotThere, match="latest"):
        store.open_run(tmp_path)


def test_siblings_differ_in_the_seed_alone(copy):
    """Other sentences, or another version's folder, make no sibling, and stop nobody."""

    def beside(name, change):
        folder = copy.path.with_name(name)
        shutil.copytree(copy.path, folder)
        manifest = json.loads((folder / "manifest.json").read_text())
        change(manifest)
        (folder / "manifest.json").write_text(json.dumps(manifest))

    beside("seed", lambda manifest: manifest["training"].update(seed=7))
    beside("data", lambda manifest: manifest.update(data_sha256="0" * 64))
    beside("variant", lambda manifest: manifest.update(variant="another"))
    beside("foreign", lambda manifest: manifest.update(schema=0))
    assert [each.name for each in store.siblings(copy)] == [copy.name, "seed"]
    beside("a-seed", lambda manifest: (manifest["training"].update(seed=7), manifest.update(threads=2)))
    beside("a-copy", lambda manifest: manifest.update(threads=2))
    assert [each.name for each in store.siblings(copy)] == [copy.name, "a-seed"], (
        "a seed counts once, a run itself first"
    )


def test_a_beginning_that_two_runs_share_is_not_guessed(copy):
    shutil.copytree(copy.path, copy.path.with_name(copy.name + "x"))
    with pytest.raises(ProbeError, match="2 runs in .* begin with"):
        store.open_run(copy.path.parent, copy.name[:6])
    assert store.open_run(copy.path.parent, copy.name).name == copy.name, "a whole name is no beginning"


# -- damage ----------------------------------------------------------------------------------------------------------


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values), encoding="utf-8")


def drop(path: Path, key: str) -> None:
    content = json.loads(path.read_text("utf-8"))
    del content[key]
    path.write_text(json.dumps(content), encoding="utf-8")


def look(run: Run) -> None:
    """All that looking does with a run folder."""
    opened = store.open_run(run.path.parent, run.name)
    lab.attention_of(opened, lab.ask(opened, "the animal did not cross..."))


DAMAGE = [
    ("manifest cut short", "manifest.json", lambda p: truncate(p), []),
    ("manifest of another tool", "manifest.json", lambda p: p.write_text('{"name": "x"}'), ["schema"]),
    ("manifest of another version", "manifest.json", lambda p: change(p, schema=99), ["schema 99"]),
    ("manifest is a list", "manifest.json", lambda p: p.write_text("[]"), ["list"]),
    ("manifest without task", "manifest.json", lambda p: drop(p, "task"), ["task"]),
    ("manifest without task digest", "manifest.json", lambda p: drop(p, "task_digest"), ["task_digest"]),
    ("manifest without dtype", "manifest.json", lambda p: drop(p, "dtype"), ["dtype"]),
    ("manifest without versions", "manifest.json", lambda p: drop(p, "versions"), ["versions"]),
    ("manifest without commit", "manifest.json", lambda p: drop(p, "git_commit"), ["git_commit"]),
    ("manifest whose training is text", "manifest.json", lambda p: change(p, training="fast"), ["training"]),
    ("manifest whose training lacks its seed", "manifest.json", lambda p: change(p, training={}), ["training"]),
    ("manifest whose spec is a list", "manifest.json", lambda p: change(p, spec=[]), ["spec"]),
    ("manifest of another data set", "manifest.json", lambda p: change(p, data_seed=7), ["sentences"]),
    ("manifest whose task leads elsewhere", "manifest.json", lambda p: change(p, task="../x"), ["../x"]),
    ("no config", "config.json", lambda p: p.unlink(), ["does not exist"]),
    ("config cut short", "config.json", lambda p: truncate(p), ["not valid JSON"]),
    ("config with an unknown key", "config.json", lambda p: change(p, n_layer=2), ["n_layer", "n_layers"]),
    ("config without its words", "config.json", lambda p: drop(p, "d_vocab"), ["d_vocab"]),
    ("config of a wider model", "config.json", lambda p: change(p, d_model=128), ["shape"]),
    ("config of a deeper model", "config.json", lambda p: change(p, n_layers=3), ["lacks"]),
    ("config of more words", "config.json", lambda p: change(p, d_vocab=37), ["d_vocab = 37"]),
    ("config of a kind there is not", "config.json", lambda p: change(p, norm="batch"), ["norm", "'batch'"]),
    ("config with text for a number", "config.json", lambda p: change(p, n_heads="4"), ["n_heads", "'4'"]),
    ("no vocabulary", "vocabulary.json", lambda p: p.unlink(), ["does not exist"]),
    ("vocabulary cut short", "vocabulary.json", lambda p: truncate(p), ["not valid JSON"]),
    ("vocabulary of others", "vocabulary.json", lambda p: p.write_text('{"words": ["a", "b"]}'), ["words"]),
    ("weights cut short", "model.safetensors", lambda p: truncate(p), ["truncated"]),
    ("weights are empty", "model.safetensors", lambda p: p.write_bytes(b""), ["truncated"]),
    ("weights are text", "model.safetensors", lambda p: p.write_text("not weights at all"), ["truncated"]),
    ("weights are missing", "model.safetensors", lambda p: p.unlink(), ["not finished", "--resume"]),
]


@pytest.mark.parametrize(("file", "damage", "parts"), [case[1:] for case in DAMAGE], ids=[case[0] for case in DAMAGE])
def test_a_damaged_run_is_refused_by_file_and_reason(copy, file, damage, parts):
    damage(copy.path / file)
    with pytest.raises(ProbeError) as error:
        look(copy)
    for part in [file, *parts]:
        assert part in str(error.value)


def test_words_in_another_order_are_refused_not_read_wrongly(copy):
    words = list(copy.vocabulary.words)
    words[3], words[4] = words[4], words[3]
    change(copy.path / "vocabulary.json", words=words)
    with pytest.raises(ProbeError, match=r"vocabulary\.json"):
        look(copy)


def test_weights_of_another_model_are_refused(copy):
    store.save_arrays(copy.path / "model.safetensors", {"w": np.zeros(3, dtype=np.float32)})
    with pytest.raises(ProbeError, match=r"model\.safetensors"):
        look(copy)


@pytest.mark.parametrize("kind", ["parquet", "json"])
@pytest.mark.parametrize("damage", [truncate, lambda p: p.write_text("{}"), lambda p: p.write_bytes(b"")])
def test_a_damaged_result_is_refused_by_name(copy, kind, damage):
    look(copy)
    path = next((copy.path / "results").glob(f"attn-*-attention.{kind}"))
    damage(path)
    with pytest.raises(ProbeError, match=path.stem):
        look(copy)


def test_a_result_of_other_weights_is_computed_again(copy):
    question = lab.ask(copy, "the animal did not cross...")
    before, _ = lab.attention_of(copy, question)
    arrays = store.load_arrays(copy.path / "model.safetensors")
    store.save_arrays(copy.path / "model.safetensors", {name: 1.5 * array for name, array in arrays.items()})
    after, _ = lab.attention_of(copy, question)
    assert not np.allclose(before.table["value"], after.table["value"])


# -- arrays, metrics, results ----------------------------------------------------------------------------------------


def test_arrays_are_read_back_bit_by_bit(tmp_path):
    arrays = {
        "a": np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32).T,  # not contiguous
        "b": np.array(7),
        "c": np.zeros((0, 2), dtype=np.float64),
    }
    store.save_arrays(tmp_path / "x.safetensors", arrays)
    found = store.load_arrays(tmp_path / "x.safetensors")
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].tobytes() == np.ascontiguousarray(array).tobytes()


def test_a_pickle_is_never_opened(tmp_path):
    import pickle

    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "exploded",))

    (tmp_path / "x.safetensors").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ProbeError, match="x.safetensors"):
        store.load_arrays(tmp_path / "x.safetensors")
    assert not (tmp_path / "exploded").exists()


def test_a_last_line_of_metrics_that_a_kill_cut_short_is_left_out(copy):
    rows = store.read_metrics(copy)
    path = copy.path / "metrics.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert store.read_metrics(copy) == rows[:-1]
    store.truncate_metrics(copy, rows[1]["step"])
    assert store.read_metrics(copy) == rows[:2]
    store.append_metrics(copy, rows[2])
    assert store.read_metrics(copy) == rows[:3]


def test_a_broken_line_in_the_middle_of_metrics_is_refused_with_its_number(copy):
    path = copy.path / "metrics.jsonl"
    path.write_text("{broken\n" + path.read_text())
    with pytest.raises(ProbeError, match=r"metrics\.jsonl, line 1"):
        store.read_metrics(copy)


def test_a_result_is_read_back_with_its_meaning(copy):
    result = AnalysisResult(
        name="toy",
        table=pd.DataFrame({"layer": [0, 1], "word": ["ñ", "</script>"], "value": [0.25, -1e-30]}),
        unit="logits",
        maximum=None,
        floor="none",
        convention="as is",
        provenance=lab.provenance(copy),
        details={"sentences": [["ñ"]]},
    )
    store.save_result(copy, "toy", result)
    found = store.load_result(copy, "toy")
    assert found is not None
    pd.testing.assert_frame_equal(found.table, result.table)
    assert found.meaning() == result.meaning()
    assert store.load_result(copy, "other") is None


def test_a_result_whose_json_was_not_written_yet_is_no_result(copy):
    look(copy)
    for path in (copy.path / "results").glob("attn-*.json"):
        path.unlink()
    look(copy)
    assert list((copy.path / "results").glob("attn-*.json"))
