"""What a person sees: nothing from the data gets through unescaped, JSON is JSON, exit codes are kept."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from probe.audit import audit
from probe.cli.audit import audit as command
from probe.cli.audit_jobs import Job, mapping, work
from probe.errors import CheckFailed, NotThere, ProbeError
from probe.report.audit import escaped, markdown, page, plain, terminal
from probe.tasks.readers import Question, read

EVIL = '<eos>"><script>alert(1)</script>|`x`\x1b[2J'


@pytest.fixture(scope="module")
def evil():
    reading = read("winograd-easy")
    questions = tuple(
        Question(options=(f"{EVIL} right {i} {EVIL}", f"wrong {i} &amp; {EVIL}"), answer=0) for i in range(60)
    )
    reading = replace(reading, source=EVIL, format=EVIL, kind="pair", declared_split="", notes=(EVIL,))
    return audit(replace(reading, questions=questions), against=replace(reading, questions=questions[:9]))


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            assert name not in ("src", "href") or (value or "").startswith("#")


def test_nothing_gets_through(evil):
    html = page([evil, evil])
    parser = Tags()
    parser.feed(html)
    assert not parser.tags & {"script", "eos", "img", "iframe", "link", "object"}
    assert "default-src 'none'" in html and "\x1b" not in html and 'id="a1"' in html
    text = terminal(evil, details=True)
    assert "\x1b" not in text and EVIL.replace("\x1b", "�") in text
    section = markdown([evil])
    assert "<script" not in section and "<eos" not in section
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in section.splitlines() if line.startswith("|")}
    assert widths == {8, 10}
    json.dumps(evil.as_dict(), allow_nan=False)


def test_names_of_slots_are_data_too(evil):
    """A slot's name comes from the file, and an auditor is called after it."""
    name = f"without-{EVIL}"
    finding = replace(evil.findings[0], auditor=name, weights=((EVIL, 1.0),), verdict="cheatable")
    result = replace(evil, findings=(finding,), by=(name,), undeclared=name)
    text = terminal(result, details=True)
    assert "\x1b" not in text and text.count(name.replace("\x1b", "�")) == 3


def test_escaping():
    assert plain("a\tb\u202ec") == "a�b�c"
    assert escaped("a|b_c") == "a\\|b\\_c"


def run(*argv, **options):
    defaults = dict(against="", pool=False, format="", map=None, encoding="", strict=False, margin=0.05, tokens="both")
    defaults |= dict(
        tokenizer="", max_questions=20_000, seed=0, run="", shuffles=None, jobs=1, fail_on=None, markdown=""
    )
    defaults |= dict(html="", json=False, details=False, quiet=True)
    command(list(argv), **{**defaults, **options})


def test_json_is_one_object(capsys):
    run("winograd-prior", json=True, quiet=False)
    out, err = capsys.readouterr()
    [found] = json.loads(out)["audits"]
    assert found["verdict"] == "cheatable" and found["by"][0] == "prior"
    assert found["reading"]["records"] == found["reading"]["used"] == 568
    assert "auditing" in err


def test_exit_codes(tmp_path, capsys):
    with pytest.raises(CheckFailed) as failed:
        run("winograd-prior", fail_on=["leaked,cheatable"])
    assert failed.value.exit_code == 1
    run("winograd-prior", fail_on=["leaked", "misdeclared"])
    with pytest.raises(ProbeError, match="--against the claims of a task are not judged"):
        run("winograd-prior", against="winograd-collocation", fail_on=["misdeclared"])
    with pytest.raises(NotThere):
        run("nothing-here.jsonl")
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n1,2\n")
    wrong = ({"margin": 0.9}, {"fail_on": ["cheat"]}, {"map": ["good"]}, {"tokens": "letters"}, {"tokenizer": str(bad)})
    for options in ({}, *wrong):
        with pytest.raises(ProbeError) as error:
            run(str(bad) if not options else "winograd-collocation", **options)
        assert error.value.exit_code == 2 and "\n" not in str(error.value)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"shuffles": 3}, "--run or --model"),
        ({"tokens": "raw", "tokenizer": "tokenizer.json"}, "--tokens and --tokenizer"),
        ({"format": "csv"}, "--format"),
        ({"map": ["good=a"]}, "--map"),
        ({"encoding": "latin-1"}, "--encoding"),
    ],
)
def test_no_option_is_ignored(options, said):
    with pytest.raises(ProbeError, match=said):
        run("winograd-collocation", **options)


def test_an_option_that_one_of_several_sources_needs_is_no_fault_of_the_others(tmp_path, capsys):
    """The columns of a file of one's own, against sentences of ours."""
    path = tmp_path / "own.csv"
    rows = "".join(f"w{i} good,w{i} bad\n" for i in range(40))
    path.write_text(f"a,b\n{rows}")
    run(str(path), map=["good=a", "bad=b"], against=str(path))
    run("winograd-collocation", str(path), map=["good=a", "bad=b"])
    assert "own.csv" in capsys.readouterr().out


def test_what_a_model_is_not_asked_is_refused_before_anything_is_counted(monkeypatch):
    monkeypatch.setattr("probe.audit.run.try_all", lambda *_, **__: pytest.fail("counted"))
    pair = Question(options=("a b", "b a"), answer=0)
    three = Question(prompt="who", options=("a", "b", "c"), answer=0)
    for question, kind, said in ((pair, "pair", "pair questions"), (three, "cloze", "two candidates")):
        reading = replace(read("winograd-easy"), kind=kind, questions=(question,) * 30)
        monkeypatch.setattr("probe.cli.audit_jobs.read", lambda *_, reading=reading, **__: reading)
        job = Job(
            sources=("x",), against="", format=None, mapping={}, encoding=None, strict=False, margin=0.05,
            tokens="both", tokenizer="", max_questions=100, seed=0, shuffles=5,
        )  # fmt: skip
        with pytest.raises(ProbeError, match=said):
            work(job, lambda prompts, options: ["a"] * len(prompts))


def test_one_bad_file_does_not_stop_the_others(tmp_path, capsys):
    with pytest.raises(ProbeError) as error:
        run("winograd-collocation", str(tmp_path / "nothing"), json=True)
    assert error.value.exit_code == 3
    printed = json.loads(capsys.readouterr().out)
    assert len(printed["audits"]) == 1 and "nothing" in printed["errors"][0]["error"]


def test_files_are_written(tmp_path, capsys):
    run("winograd-collocation", html=str(tmp_path / "a.html"), markdown=str(tmp_path / "a.md"), jobs=2)
    assert (tmp_path / "a.html").read_text().startswith("<!doctype html>")
    assert "| winograd\\-collocation | **cheatable** |" in (tmp_path / "a.md").read_text()
    assert capsys.readouterr().out.startswith("winograd-collocation: cheatable by collocation")


def test_several_files_in_several_processes_keep_their_order(capsys):
    run("winograd-collocation", "winograd-prior", jobs=2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["winograd-collocation", "winograd-prior"]


def test_mapping_errors():
    assert mapping(["good=a=b"]) == {"good": "a=b"}
    for wrong in (["good"], ["=a"], ["good=a", "good=b"]):
        with pytest.raises(ProbeError):
            mapping(wrong)


def test_an_audit_never_imports_torch():
    code = (
        "import sys; from probe.tasks.readers import read; from probe.audit import audit;"
        "from probe.report.audit import page; page([audit(read('winograd-collocation'))]);"
        "assert not {'torch', 'transformer_lens', 'transformers'} & set(sys.modules)"
    )
    source = str(Path(__file__).parents[2] / "src")
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": source, "PATH": ""})


def test_thin_command():
    code = "import sys; import probe.cli.audit; assert not {'numpy', 'scipy', 'sklearn', 'pandas'} & set(sys.modules)"
    source = str(Path(__file__).parents[2] / "src")
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": source, "PATH": ""})
