"""Other people's files: every form, every trap, every record accounted for."""

from __future__ import annotations

import io
import json
import pickle
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probe.errors import NotThere, ProbeError
from probe.tasks.readers import Question, Reading, pooled, read
from probe.tasks.readers.labels import plain

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
PUBLIC = {
    "blimp/adjunct_island.jsonl": (1000, 1000, 0, "pair"),
    "blimp/anaphor_gender_agreement.jsonl": (1000, 1000, 0, "pair"),
    "blimp/complex_NP_island.jsonl": (1000, 1000, 0, "pair"),
    "blimp/determiner_noun_agreement_1.jsonl": (1000, 1000, 0, "pair"),
    "blimp/distractor_agreement_relative_clause.jsonl": (1000, 1000, 0, "pair"),
    "blimp/drop_argument.jsonl": (1000, 1000, 0, "pair"),
    "blimp/passive_1.jsonl": (1000, 998, 2, "pair"),
    "blimp/regular_plural_subject_verb_agreement_1.jsonl": (1000, 1000, 0, "pair"),
    "eap_ig/greater_than_data.csv": (1000, 1000, 0, "label"),
    "eap_ig/ioi_llama.csv": (499, 499, 0, "cloze"),
    "syntaxgym/npi_src_any.json": (38, 114, 0, "pair"),
    "syntaxgym/number_src.json": (19, 38, 0, "pair"),
    "syntaxgym/reflexive_src_fem.json": (19, 38, 0, "pair"),
    "winobias/anti_stereotyped_type1.txt.dev": (396, 396, 0, "cloze"),
    "winobias/anti_stereotyped_type2.txt.dev": (396, 395, 1, "cloze"),
    "winobias/pro_stereotyped_type1.txt.dev": (396, 396, 0, "cloze"),
    "winobias/pro_stereotyped_type2.txt.dev": (396, 395, 1, "cloze"),
    "winogender/all_sentences.tsv": (720, 720, 0, "cloze"),
    "winogender/templates.tsv": (120, 120, 0, "cloze"),
    "wsc_xml/WSCollection.xml": (285, 285, 0, "cloze"),
    "zorro/agreement_subject_verb-across_relative_clause.txt": (4000, 2000, 0, "pair"),
    "zorro/argument_structure-swapped_arguments.txt": (4000, 2000, 0, "pair"),
}


def public(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not on this machine (../shared/data)")
    return path


def accounted(reading: Reading) -> Reading:
    """The invariant: each record has exactly one fate."""
    assert reading.records == reading.used + reading.malformed + reading.unlabelled + reading.sampled_out
    assert min(reading.used, reading.malformed, reading.unlabelled, reading.sampled_out) >= 0
    for question in reading.questions:
        limit = len(reading.classes) if reading.kind == "label" else len(question.options)
        assert 0 <= question.answer < limit
        assert question.record >= 1 and (question.record <= reading.records or reading.unit == "line")  # blank lines
    return reading


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


PAIR_ROWS = [{"sentence_good": f"the dog {i} barks", "sentence_bad": f"the dog {i} bark"} for i in range(4)]
JSONL = "".join(json.dumps(row) + "\n" for row in PAIR_ROWS)


# -- forms -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "kind", "first"),
    [
        ("a.jsonl", JSONL, "pair", ("the dog 0 barks", "the dog 0 bark")),
        ("lines-under.json", JSONL, "pair", ("the dog 0 barks", "the dog 0 bark")),
        ("a.json", json.dumps(PAIR_ROWS), "pair", ("the dog 0 barks", "the dog 0 bark")),
        ("pretty.json", json.dumps(PAIR_ROWS, indent=2), "pair", ("the dog 0 barks", "the dog 0 bark")),
        ("inside.json", json.dumps({"version": 1, "data": PAIR_ROWS}), "pair", ("the dog 0 barks", "the dog 0 bark")),
        (
            "pandas.json",
            json.dumps({key: {str(i): row[key] for i, row in enumerate(PAIR_ROWS)} for key in PAIR_ROWS[0]}),
            "pair",
            ("the dog 0 barks", "the dog 0 bark"),
        ),
        ("no-suffix", JSONL, "pair", ("the dog 0 barks", "the dog 0 bark")),
        ("a.csv", 'good,bad\n"a, b","a\nb"\n"say ""hi""",say hi\n', "pair", ("a, b", "a\nb")),
        ("crlf.csv", b"good,bad\r\na b,b a\r\nc d,d c\r\n", "pair", ("a b", "b a")),
        ("bom.csv", b"\xef\xbb\xbfgood,bad\na b,b a\n", "pair", ("a b", "b a")),
        ("utf16.csv", "good,bad\nа б,б а\n".encode("utf-16"), "pair", ("а б", "б а")),
        ("quotes-are-data.tsv", 'good\tbad\n"hi he said\the "said hi\n', "pair", ('"hi he said', 'he "said hi')),
        (
            "zorro.txt",
            "the dogs barks .\nthe dog barks .\na cats runs .\na cat runs .\n",
            "pair",
            ("the dog barks .", "the dogs barks ."),
        ),
        ("blocks.txt", "a b c\na c b\n\nd e f\nd f e\n", "pair", ("a b c", "a c b")),
        (
            "dpr.txt",
            "The bee landed on the flower because it had pollen.\nit\nThe bee,the flower\nthe flower\n\n"
            "The bee landed on the flower because it was hungry.\nit\nThe bee,the flower\nthe bee\n",
            "cloze",
            ("The bee", "the flower"),
        ),
        (
            "grande.jsonl",
            '{"sentence": "Ann thanked Bo because _ helped.", "option1": "Ann", "option2": "Bo", "answer": "2"}\n'
            '{"sentence": "Ann thanked Bo because _ got help.", "option1": "Ann", "option2": "Bo", "answer": "1"}\n',
            "cloze",
            ("Ann", "Bo"),
        ),
    ],
)
def test_forms(tmp_path, name, content, kind, first):
    reading = accounted(read(written(tmp_path, name, content)))
    assert reading.kind == kind
    assert reading.questions[0].options == first
    assert reading.malformed == 0


@pytest.mark.parametrize(
    ("labels", "answers"),
    [
        (["1", "2"], [0, 1]),  # strings from 1
        ([0, 1], [0, 1]),
        (["A", "b."], [0, 1]),
        ([" B. ", " A "], [1, 0]),
        (["Bo", "ann"], [1, 0]),
        ([1.0, 2.0], [0, 1]),
        ([False, True], [0, 1]),
    ],
)
def test_labels(tmp_path, labels, answers):
    rows = [
        {"text": f"Ann saw Bo {i}", "option1": "Ann", "option2": "Bo", "label": label} for i, label in enumerate(labels)
    ]
    reading = accounted(read(written(tmp_path, "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))))
    assert [q.answer for q in reading.questions] == answers


@pytest.mark.parametrize(
    ("labels", "right", "note"),
    [
        ([2], ["3"], "can't be told"),  # a JSON number is an index; and programs count from 0
        ([0, 3], ["1", "4"], ""),
        ([1, 4], ["1", "4"], "from 1"),
        ([1.0, 4.0], ["1", "4"], "from 1"),
        (["2", "4"], ["2", "4"], ""),  # text is a candidate's name where all labels can be
        (["0", "3"], ["1", "4"], ""),  # "0" is no candidate, so both are indices
    ],
)
def test_labels_of_candidates_that_are_numbers(tmp_path, labels, right, note):
    rows = [{"text": f"How many {i}?", "choices": ["1", "2", "3", "4"], "answer": x} for i, x in enumerate(labels)]
    reading = accounted(read(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))))
    assert [q.right for q in reading.questions] == right
    assert bool(reading.notes) == bool(note) and note in "".join(reading.notes)


def test_numbers_beyond_the_candidates_are_names(tmp_path):
    rows = [
        {"text": f"How many {i}?", "choices": ["2", "15", "18"], "answer": label} for i, label in enumerate([2, 15])
    ]
    assert [q.right for q in read(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))).questions] == [
        "2",
        "15",
    ]


@pytest.mark.parametrize(("labels", "right"), [(["1", "2"], ["Ann", "Bo"]), ([1, 2], ["Bo", "Cy"])])
def test_where_numbers_count_from_may_be_unknown(tmp_path, labels, right):
    """Of three candidates none is ever 0 and none the third: text counts from 1, JSON from 0, and a note says so."""
    rows = [{"text": f"Who {i}?", "choices": ["Ann", "Bo", "Cy"], "answer": label} for i, label in enumerate(labels)]
    reading = accounted(read(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))))
    assert [q.right for q in reading.questions] == right
    assert "can't be told" in reading.notes[0] and "would settle it" in reading.notes[0]


def test_choices_of_other_shapes(tmp_path):
    arc = {
        "question": "What barks?",
        "choices": {"text": ["cat", "dog", "fish"], "label": ["1", "2", "3"]},
        "answerKey": "2",
    }
    copa = {
        "premise": "It rained.",
        "choice1": "The street got wet.",
        "choice2": "The sun came out.",
        "question": "effect",
        "label": 0,
    }
    gap = (
        "ID\tText\tPronoun\tA\tA-coref\tB\tB-coref\n"
        "1\tAnn met Bo and she left\tshe\tAnn\tTRUE\tBo\tFALSE\n"
        "2\tAnn met Bo and it rained\tit\tAnn\tFALSE\tBo\tFALSE\n"
    )
    assert read(written(tmp_path, "arc.jsonl", json.dumps(arc))).questions[0].right == "dog"
    assert (
        read(written(tmp_path, "copa.jsonl", json.dumps(copa) + "\n" + json.dumps(copa | {"label": 1})))
        .questions[0]
        .right
        == "The street got wet."
    )
    reading = read(written(tmp_path, "gap.tsv", gap))
    assert [q.right for q in reading.questions] == ["Ann", "neither"]


@pytest.mark.parametrize(
    ("row", "prompt"),
    [
        ({"prompt": "Who barks?", "correct": "the dog", "incorrect": "a cat"}, "Who barks?"),
        ({"query": "what barks", "positive": "dogs do", "negative": "cats do"}, "what barks"),
        ({"question": "Who barks?", "sentence": "Dogs do.", "label": 0}, "Dogs do.\nWho barks?"),  # QNLI
        ({"question": "do dogs bark", "passage": "Dogs bark.", "answer": True}, "Dogs bark.\ndo dogs bark"),  # BoolQ
        ({"premise": "a", "hypothesis": "b", "question": "c?", "label": 0}, "a\nb\nc?"),
        ({"sentence1": "a", "sentence2": "b", "query": "c?", "label": 0}, "a\nb\nc?"),
    ],
)
def test_no_half_of_a_question_is_dropped(tmp_path, row, prompt):
    other = {key: value for key, value in {"label": 1, "answer": False, "correct": "zebras"}.items() if key in row}
    reading = accounted(read(written(tmp_path, "a.jsonl", f"{json.dumps(row)}\n{json.dumps(row | other)}")))
    assert [q.prompt for q in reading.questions] == [prompt] * 2 and reading.kind != "pair"


def test_right_and_wrong_answers_to_a_text_are_sorted(tmp_path):
    """Right first, an option's index would be the answer."""
    rows = [{"prompt": "Who barks?", "correct": right, "incorrect": "a cat"} for right in ("a dog", "a bear")]
    reading = accounted(read(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))))
    assert [(q.options, q.right) for q in reading.questions] == [
        (("a cat", "a dog"), "a dog"),
        (("a bear", "a cat"), "a bear"),
    ]


def test_columns_left_out_are_named(tmp_path):
    rows = [{"text": "a", "goal": "b", "label": x, "answer": "c", "idx": x} for x in (0, 1)]
    assert "'goal', 'answer'" in read(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))).notes[0]
    assert not read(written(tmp_path, "b.jsonl", JSONL)).notes


@pytest.mark.parametrize(
    ("cell", "options"),
    [
        ("['a dog', 'a cat']", ("a dog", "a cat")),  # as pandas writes a list
        ("['it\\'s, well, a dog', \"a cat\"]", ("it's, well, a dog", "a cat")),
        ("{'text': ['a dog', 'a cat'], 'label': ['x', 'y']}", ("a dog", "a cat")),
        ('["a dog", "a cat"]', ("a dog", "a cat")),
        ("a dog | a cat", ("a dog", "a cat")),
        ("a dog, or so; big | a cat", ("a dog, or so; big", "a cat")),
        ("a dog, or so ;a cat;", ("a dog, or so", "a cat")),
        ("a dog, a cat", ("a dog", "a cat")),
        ("['a dog' 'a cat']", None),  # as pandas writes an array: one text, no two candidates
        ("[a dog, a cat]", None),
        ("[" * 9999, None),
    ],
)
def test_candidates_in_one_cell(tmp_path, cell, options):
    import csv

    path = tmp_path / "a.csv"
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([("text", "options", "label"), ("it barks", cell, 0), ("it mews", "x|y", 1)])
    reading = accounted(read(path))
    assert (reading.questions[0].options if options else reading.problems[0].record) == (options or 1)
    assert reading.malformed == (options is None)


def test_map_and_format(tmp_path):
    path = written(tmp_path, "a.csv", "richtig,falsch,gut\na b,b a,x\n")
    with pytest.raises(ProbeError, match="--map"):
        read(path)
    assert read(path, mapping={"good": "richtig", "bad": "falsch"}).questions[0].options == ("a b", "b a")
    with pytest.raises(ProbeError, match="richtig"):
        read(path, mapping={"good": "richtg", "bad": "falsch"})
    row = {"text": "Who?", "option1": "x", "option2": "y", "all": ["Ann", "Bo"], "label": "Bo"}
    found = read(written(tmp_path, "c.jsonl", json.dumps(row)), mapping={"options": "all"})
    assert found.questions[0].options == ("Ann", "Bo")
    with pytest.raises(ProbeError, match="did you mean 'good'"):
        read(path, mapping={"goood": "richtig"})
    lines = written(tmp_path, "b.txt", "a b\nb a\n")
    assert read(lines, format="alternating-good-first").questions[0].right == "a b"
    assert read(lines, format="alternating-bad-first").questions[0].right == "b a"
    with pytest.raises(ProbeError, match="jsonl"):
        read(lines, format="json-l")


def test_parquet(tmp_path):
    import pandas as pd

    path = tmp_path / "a.parquet"
    pd.DataFrame(PAIR_ROWS).to_parquet(path)
    assert accounted(read(path)).used == 4
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ProbeError, match="Parquet"):
        read(path)


# -- traps -----------------------------------------------------------------------------------------------------------


def test_malformed_records_are_named_and_counted(tmp_path):
    rows = [
        json.dumps(PAIR_ROWS[0]),
        "{broken",
        "[1]",
        '{"sentence_good": "x"}',
        json.dumps(PAIR_ROWS[1]),
        '{"sentence_good": 3, "sentence_bad": "y"}',
    ]
    path = written(tmp_path, "a.jsonl", "\n\n".join(rows))
    reading = accounted(read(path))
    assert (reading.records, reading.used, reading.malformed) == (6, 2, 4)
    assert [problem.record for problem in reading.problems] == [2, 3, 4, 6]
    with pytest.raises(ProbeError, match="record 2"):
        read(path, strict=True)


def test_one_bad_byte_costs_one_record(tmp_path):
    good, bad = json.dumps(PAIR_ROWS[0]).encode(), b'{"sentence_good": "caf\xe9 x", "sentence_bad": "x caf\xe9"}'
    path = written(tmp_path, "a.jsonl", good + b"\n" + bad + b"\n")
    reading = accounted(read(path))
    assert (reading.used, reading.malformed) == (1, 1)
    assert "0xE9" in reading.problems[0].reason
    assert read(path, encoding="latin-1").questions[1].right == "café x"
    with pytest.raises(ProbeError, match="--encoding"):
        read(path, encoding="klingon")


def test_rows_without_labels_are_counted(tmp_path):
    rows = [
        {"sentence": f"Ann saw Bo {i}", "option1": "Ann", "option2": "Bo", "answer": label}
        for i, label in enumerate(["1", "", None, "2", "-1"])
    ]
    reading = accounted(read(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))))
    assert (reading.used, reading.unlabelled) == (2, 3)
    with pytest.raises(ProbeError, match="label"):
        read(written(tmp_path, "b.jsonl", json.dumps(rows[1])))


@pytest.mark.parametrize(
    ("labels", "classes", "note"),
    [
        ([-1, 0, 1], ("-1", "0", "1"), "read as a class"),  # sentiment
        ([-1, 1], ("-1", "1"), "read as a class"),
        (["-2", "-1", "1"], ("-1", "-2", "1"), "read as a class"),
        ([-1, 0, 1, 2], ("0", "1", "2"), "read as none"),  # SNLI
        (["-1", "no", "yes"], ("no", "yes"), "read as none"),
        (["-", "entailment", "neutral"], ("entailment", "neutral"), "label - is read as none"),  # SNLI
        (["-", "+"], ("+", "-"), "label - is read as a class"),
        (["-", "+", "0"], ("+", "-", "0"), "label - is read as a class"),
        ([float("nan"), 0.0, 1.0], ("0", "1"), "NaN is read as none"),
        ([0, 1], ("0", "1"), ""),
    ],
)
def test_minus_one_or_a_dash_is_a_class_or_no_label(tmp_path, labels, classes, note):
    rows = [{"text": f"text {i}", "label": labels[i % len(labels)]} for i in range(60)]
    reading = accounted(read(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))))
    assert reading.classes == classes and note in "".join(reading.notes)
    assert reading.unlabelled == 60 - reading.used == (60 // len(labels) if "none" in note else 0)
    assert [reading.classes[q.answer] for q in reading.questions] == [
        plain(row["label"]) for row in rows if plain(row["label"]) in classes
    ]


def test_a_part_without_labels_is_left_out_of_its_folder(tmp_path):
    """A GLUE task: the labels of the test part are all -1."""
    for name, labels in (("train", [0, 1]), ("dev", [1, 0]), ("test", [-1, -1])):
        lines = [json.dumps({"sentence": f"{name} {i}", "label": labels[i % 2]}) for i in range(30)]
        written(tmp_path, f"{name}.jsonl", "\n".join(lines))
    reading = accounted(read(tmp_path))
    assert {q.split for q in reading.questions} == {"train", "validation"} and reading.classes == ("0", "1")
    assert any("test.jsonl" in note and "none of the 30 records has a label" in note for note in reading.notes)
    written(tmp_path, "test.jsonl", json.dumps({"sentence": "no column for a label"}))
    assert any("'sentence'" in note and "left out" in note for note in accounted(read(tmp_path)).notes)
    written(tmp_path, "test.jsonl", json.dumps({"what": "no text either"}))
    with pytest.raises(ProbeError, match="'what'"):
        read(tmp_path)
    for name in ("train", "dev"):
        (tmp_path / f"{name}.jsonl").unlink()
    written(tmp_path, "test.jsonl", json.dumps({"sentence": "alone", "label": -1}))
    with pytest.raises(ProbeError, match="label"):
        read(tmp_path)


def test_labels_that_name_nothing_are_malformed(tmp_path):
    rows = [
        {"sentence": f"Ann saw Bo {i}", "option1": "Ann", "option2": "Bo", "answer": label}
        for i, label in enumerate(["1", "2", "7", "Cy"])
    ]
    reading = accounted(read(written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))))
    assert (reading.used, reading.malformed) == (2, 2)
    assert {problem.record for problem in reading.problems} == {3, 4}


def test_an_unclosed_quote_is_malformed_not_swallowed(tmp_path):
    reading = accounted(read(written(tmp_path, "a.csv", 'good,bad\na b,b a\n"c d,d c\ne f,f e\n')))
    assert reading.used == 1 and reading.malformed == 1


def test_never_unpickled(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was opened",))

    for name in ("a.pkl", "a.jsonl"):
        with pytest.raises(ProbeError, match="pickle"):
            read(written(tmp_path, name, pickle.dumps(Bomb())))
    for name, magic in (("a.pt", b"PK\x03\x04...."), ("a.gz", b"\x1f\x8b\x08...."), ("a.npy", b"\x93NUMPY....")):
        with pytest.raises(ProbeError):
            read(written(tmp_path, name, magic))


SCHEMA = """<schema><text><txt1>The {a} beat the cat because</txt1><pron> it </pron><txt2> was \u00e9.</txt2></text>
<answers><answer> The {a} </answer><answer>the\u00a0cat</answer></answers>
<correctAnswer> {right} </correctAnswer></schema>"""


def test_xml(tmp_path):
    body = "".join(SCHEMA.format(a=f"dog{i}", right=right) for i, right in enumerate(["A", "B.", " a. ", "C", ""]))
    text = f'<?xml version="1.0" encoding="ISO-8859-1"?><collection>{body}</collection>'
    reading = accounted(read(written(tmp_path, "a.xml", text.encode("latin-1"))))
    assert (reading.used, reading.malformed, reading.unlabelled) == (3, 1, 1)
    assert [q.answer for q in reading.questions] == [0, 1, 0]
    assert reading.questions[0].options == ("The dog0", "the cat")
    assert reading.questions[0].prompt.endswith("was é.")


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE c [<!ENTITY a "lol"><!ENTITY b "&a;&a;">]>',
        '<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE c SYSTEM "http://example.org/x.dtd">',
    ],
)
def test_xml_entities_are_refused(tmp_path, declaration):
    text = f'<?xml version="1.0"?>{declaration}<collection>{SCHEMA.format(a="dog", right="A")}</collection>'
    with pytest.raises(ProbeError, match="entity or a document type"):
        read(written(tmp_path, "a.xml", text))


def test_missing_empty_and_foreign(tmp_path):
    with pytest.raises(NotThere):
        read(tmp_path / "nothing.jsonl")
    with pytest.raises(ProbeError, match="empty"):
        read(written(tmp_path, "a.jsonl", "  \n"))
    with pytest.raises(ProbeError, match="folder"):
        read(tmp_path)
    with pytest.raises(ProbeError, match="--format"):
        read(
            written(
                tmp_path, "essay.txt", "Once upon a time\nthere lived nobody.\nNothing happened there\never again.\n"
            )
        )


def test_standard_input_and_folders(tmp_path):
    assert read("-", stdin=io.BytesIO(JSONL.encode())).questions == read(written(tmp_path, "a.jsonl", JSONL)).questions
    with pytest.raises(ProbeError, match="standard input"):
        read("-", stdin=io.BytesIO(b"{}\n"))
    folder = tmp_path / "set"
    folder.mkdir()
    written(folder, "train.jsonl", JSONL)
    written(folder, "test.jsonl", JSONL.replace("dog", "cat"))
    reading = accounted(read(folder))
    assert sorted({q.split for q in reading.questions}) == ["held_out", "train"]


def test_sampling_keeps_twins_together_and_accounts(tmp_path):
    rows = [
        {
            "text": f"Ann{i // 2} saw Bo",
            "option1": f"Ann{i // 2}",
            "option2": "Bo",
            "label": i % 2,
            "pair_id": str(i // 2),
        }
        for i in range(2000)
    ]
    path = written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))
    reading = accounted(read(path, max_questions=300))
    assert 100 <= len(reading.questions) <= 300 and reading.sampled_out == 2000 - reading.used
    assert any("sampled" in note for note in reading.notes)
    sizes = [sum(q.pair_id == p for q in reading.questions) for p in {q.pair_id for q in reading.questions}]
    assert set(sizes) == {2}
    assert read(path, max_questions=300).questions == reading.questions


def test_memory_stays_flat(tmp_path):
    import tracemalloc

    line = json.dumps({"sentence_good": "the dog barks " + "x" * 300, "sentence_bad": "the dog bark " + "x" * 300})
    path = tmp_path / "big.jsonl"
    with path.open("w") as stream:
        for i in range(20_000):
            stream.write(line.replace("dog", f"dog{i}") + "\n")
    tracemalloc.start()
    reading = accounted(read(path, max_questions=500))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert reading.records == 20_000
    assert peak < 6_000_000 < path.stat().st_size


def test_pooled_refuses_different_kinds(tmp_path):
    pair = read(written(tmp_path, "a.jsonl", JSONL))
    label = read(written(tmp_path, "b.csv", "text,label\na,x\nb,y\n"))
    with pytest.raises(ProbeError, match="pooled"):
        pooled([pair, label])
    accounted(pooled([pair, pair]))


def test_problems_of_pooled_files_name_their_file(tmp_path):
    names = ("a.jsonl", "b.jsonl")
    one, two = (read(written(tmp_path, name, JSONL + "{broken")) for name in names)
    assert [(p.record, Path(p.reason.split("(")[-1].rstrip(")")).name) for p in pooled([one, two]).problems] == [
        (5, name) for name in names
    ]


def test_what_is_pooled_says_of_itself_what_all_say():
    hard, spanish, easy = read("winograd-hard"), read("winograd-es"), read("winograd-easy")
    same = replace(spanish, stops=hard.stops, allows=hard.allows)
    both = accounted(pooled([hard, same]))
    assert (both.stops, both.allows, both.declared_split) == (hard.stops, hard.allows, "reversed-pair")
    assert both.format == f"{hard.format} + {spanish.format}" and both.unit == "sentence"
    other = accounted(pooled([hard, replace(easy, stops=hard.stops, declared_split="", unit="line")]))
    assert (other.stops, other.allows, other.declared_split, other.unit) == ((), (), "", "record")
    assert "no claim is judged" in other.notes[-1] and not both.notes
    assert pooled([hard, hard]).format == hard.format


# -- public files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLIC)
def test_public_files(name):
    reading = accounted(read(public(name)))
    assert (reading.records, len(reading.questions), reading.malformed, reading.kind) == PUBLIC[name]


def test_public_traps():
    assert [p.record for p in read(public("blimp/passive_1.jsonl")).problems] == [325, 811]  # two identical pairs
    greater = read(public("eap_ig/greater_than_data.csv"))
    assert any("88 labels had lost a leading zero" in note for note in greater.notes)
    assert all(greater.classes[q.answer] in q.prompt for q in greater.questions)
    ioi = read(public("eap_ig/ioi_llama.csv")).questions
    assert all(q.prompt.count(q.right) == 1 for q in ioi)
    assert all(q.prompt.count(q.options[1 - q.answer]) == 2 for q in ioi)
    wsc = read(public("wsc_xml/WSCollection.xml"))
    assert not any("\xa0" in option for q in wsc.questions for option in q.options)
    zorro = read(public("zorro/agreement_subject_verb-across_relative_clause.txt")).questions[0]
    assert zorro.right == "the book that i like is poor ."


def mutated(content: bytes, rng: random.Random) -> bytes:
    """One of the accidents that happen to files."""
    lines = content.split(b"\n")
    kind = rng.randrange(8)
    if kind == 0:  # bytes flipped
        data = bytearray(content)
        for _ in range(rng.randrange(1, 30)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        return bytes(data)
    if kind == 1:  # cut off
        return content[: rng.randrange(1, len(content))]
    if kind == 2:  # lines lost
        del lines[rng.randrange(len(lines)) :: rng.randrange(2, 9)]
        return b"\n".join(lines)
    if kind == 3:  # lines doubled
        return b"\n".join(line for line in lines for _ in range(1 + (rng.random() < 0.1)))
    if kind == 4:  # Windows
        return b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")
    if kind == 5:  # a stretch of nothing
        at = rng.randrange(len(content))
        return content[:at] + b"\0" * rng.randrange(1, 50) + content[at:]
    if kind == 6:  # marks gone
        return content.translate(None, delete=rng.choice([b'"', b",", b"\t", b"[]", b"<", b"{}"]))
    return content[rng.randrange(len(content)) :]  # head lost


@pytest.mark.parametrize("name", PUBLIC)
def test_mutated_public_files_end_in_a_reading_or_a_clear_error(name, tmp_path):
    path = public(name)
    content = path.read_bytes()[:60_000]
    rng = random.Random(name)
    for k in range(25):
        copy = written(tmp_path, f"{k}{path.suffix}", mutated(content, rng))
        try:
            accounted(read(copy))
        except ProbeError as error:
            assert str(copy) in str(error) and error.exit_code in (2, 3)


# -- generated rows --------------------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=30).filter(str.strip)
rows = st.lists(st.tuples(texts, texts).filter(lambda pair: pair[0].strip() != pair[1].strip()), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows)
def test_jsonl_and_csv_give_back_what_was_written(rows, tmp_path):
    import csv

    expected = [(good.strip(), bad.strip()) for good, bad in rows]
    lines = "".join(json.dumps({"good": good, "bad": bad}) + "\n" for good, bad in rows)
    assert [q.options for q in accounted(read(written(tmp_path, "a.jsonl", lines))).questions] == expected
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerows([("good", "bad"), *rows])
    assert [q.options for q in accounted(read(written(tmp_path, "a.csv", buffer.getvalue()))).questions] == expected


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(
        st.binary(min_size=1, max_size=300),
        st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(
                    st.sampled_from(
                        [
                            "good",
                            "bad",
                            "text",
                            "label",
                            "options",
                            "answer",
                            "items",
                            "conditions",
                            "tokens",
                            "positions",
                            "candidates",
                            "clean",
                            "corrupted",
                            "correct_idx",
                            "incorrect_idx",
                        ]
                    ),
                    inner,
                    max_size=5,
                )
            ),
            max_leaves=20,
        ).map(lambda value: json.dumps(value).encode()),
    ),
    suffix=st.sampled_from([".jsonl", ".json", ".csv", ".tsv", ".txt", ".xml", ""]),
)
def test_anything_ends_in_a_reading_or_a_clear_error(content, suffix, tmp_path):
    path = written(tmp_path, f"x{suffix}", content)
    try:
        accounted(read(path))
    except ProbeError as error:
        assert error.exit_code in (2, 3)


def test_question_key_is_shared_by_twins():
    one = Question(options=("a b", "c"), answer=0)
    assert one.key == Question(options=("c", "b a"), answer=1).key
