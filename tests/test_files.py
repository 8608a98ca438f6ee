"""Files are whole or not there, and what they hold is what was given."""

from __future__ import annotations

import errno
import json
import math
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe import files
from probe.errors import NotThere, ProbeError, nearest
from probe.files import digest, read_json, read_text, to_json, write_atomic

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def test_a_file_gets_the_bytes_it_was_given_and_parents_are_made(tmp_path):
    path = tmp_path / "a" / "b" / "file"
    write_atomic(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    write_atomic(path, "ñ\n")
    assert path.read_bytes() == "ñ\n".encode()
    assert [p.name for p in path.parent.iterdir()] == ["file"]


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    write_atomic(tmp_path / "atomic", "")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "atomic")]
    assert modes[0] == modes[1]


@pytest.mark.parametrize("broken", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, broken):
    path = tmp_path / "file"
    write_atomic(path, "old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files.os, broken, full)
    with pytest.raises(OSError, match="No space left"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_surrogates_are_refused_before_the_old_file_is_touched(tmp_path):
    write_atomic(tmp_path / "file", "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomic(tmp_path / "file", "\ud800")
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid JSON"),
        (b'{"a": 1', "line 1: not valid JSON"),
        (b'{\n"a": 1,\n}', "line 3: not valid JSON"),
        (b"[]", "expected a JSON object, found list"),
        (b"7", "found int"),
        (b"\xff\xfe", "byte 0 is not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_is_none_of_ours_is_refused_by_name(tmp_path, content, message):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(ProbeError) as error:
        read_json(tmp_path / "x.json", "manifest")
    assert f"manifest {tmp_path / 'x.json'}" in str(error.value)
    assert message in str(error.value)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(NotThere, match=r"manifest .*x\.json does not exist"):
        read_text(tmp_path / "x.json", "manifest")
    with pytest.raises(ProbeError, match="is a folder, not a file"):
        read_text(tmp_path, "manifest")


@given(st.dictionaries(st.text(), json_values))
def test_json_is_read_back_as_it_was_written(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("json") / "x.json"
    try:
        write_atomic(path, to_json(value))
    except UnicodeEncodeError:  # half of a surrogate pair
        return
    assert read_json(path, "file") == value


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_json_holds_no_nan(value):
    with pytest.raises(ValueError, match="JSON"):
        to_json({"loss": value})


def test_a_digest_is_of_the_value_and_not_of_the_order_of_its_keys():
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})
    assert digest("ñ") == digest("ñ".encode())
    assert digest(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert json.loads(to_json({"b": 1, "a": "ñ"}, indent=None)) == {"b": 1, "a": "ñ"}


@given(st.text(), st.lists(st.text(), max_size=40))
def test_the_nearest_choice_is_always_one_of_the_choices(word, choices):
    said = nearest(word, choices)
    assert said
    if word in choices:
        assert said.startswith("did you mean") and repr(word) in said


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        write_atomic(tmp_path / "x", "")
