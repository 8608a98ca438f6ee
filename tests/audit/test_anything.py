"""Whatever the questions are, an audit ends in a verdict and its counts add up."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from probe.audit import audit
from probe.errors import ProbeError
from probe.report.audit import markdown, page, terminal
from probe.tasks.readers import Question, Reading, read

VERDICTS = {"clean", "cheatable", "leaked", "underpowered"}
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4).filter(lambda word: word.strip())
texts = st.lists(st.one_of(st.sampled_from(["a", "b", "the", "."]), words), min_size=1, max_size=6).map(" ".join)
splits = st.sampled_from(["", "train", "held_out", "validation"])
pairs = st.tuples(texts, texts).filter(lambda pair: pair[0] != pair[1])
pair_questions = st.builds(lambda o, s: Question(options=o, answer=0, split=s), pairs, splits)
cloze_questions = st.builds(
    lambda prompt, o, a, s, g: Question(prompt=prompt, options=tuple(o), answer=a % len(o), split=s, group=g),
    texts,
    st.lists(texts, min_size=2, max_size=4, unique=True),
    st.integers(0, 3),
    splits,
    st.sampled_from(["", "g", "h"]),
)
label_questions = st.builds(
    lambda p, a, s: Question(prompt=p, options=(), answer=a, split=s), texts, st.integers(0, 2), splits
)


def checked(reading: Reading) -> None:
    result = audit(reading)
    assert result.verdict in VERDICTS and result.headline.startswith(result.verdict)
    for finding in result.findings:
        assert 0 <= finding.low <= finding.accuracy <= finding.high <= 1
        assert 0 < finding.p <= 1 and finding.p <= finding.p_holm
        assert finding.n <= len(reading.questions)
        assert finding.verdict in VERDICTS
    assert not (result.verdict == "clean" and result.cheatable)
    assert terminal(result, details=True) and markdown([result]) and page([result])
    result.as_dict()


@settings(max_examples=15, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    questions=st.one_of(
        st.lists(pair_questions, min_size=1, max_size=14),
        st.lists(cloze_questions, min_size=1, max_size=14),
        st.lists(label_questions, min_size=1, max_size=14),
    )
)
def test_any_questions(questions):
    n = len(questions)
    kind = "pair" if not questions[0].prompt else "cloze" if questions[0].options else "label"
    common = {"records": n, "used": n, "malformed": 0, "unlabelled": 0, "sampled_out": 0}
    checked(
        Reading(
            source="x",
            format="x",
            kind=kind,
            questions=tuple(questions),
            classes=("0", "1", "2") * (kind == "label"),
            **common,
        )
    )


@pytest.mark.parametrize(
    "name",
    [
        "winobias/pro_stereotyped_type1.txt.dev",
        "winogender/all_sentences.tsv",
        "zorro/argument_structure-swapped_arguments.txt",
        "syntaxgym/npi_src_any.json",
        "eap_ig/ioi_llama.csv",
        "wsc_xml/WSCollection.xml",
        "blimp/passive_1.jsonl",
    ],
)
def test_damaged_public_files_end_in_a_verdict_or_a_clear_error(name, public, tmp_path):
    content = public(name).read_bytes()[:12_000]
    rng = random.Random(name)
    for k in range(3):
        data = bytearray(content)
        for _ in range(rng.randrange(1, 40)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        cut = bytes(data[rng.randrange(100) : len(data) - rng.randrange(100)])
        path: Path = tmp_path / f"{k}{Path(name).suffix}"
        path.write_bytes(cut)
        try:
            reading = read(path)
        except ProbeError as error:
            assert error.exit_code == 2
            continue
        checked(reading)
