"""A report as a page and as Markdown: what it says, that nothing can break out of it, and how large it is."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pictures import HOSTILE
from probe.analyses.stability import stability
from probe.report.comparison import comparison_of
from probe.report.document import Figure, Table
from probe.report.markdown import code, markdown
from probe.report.page import page
from probe.report.plain import report_text
from probe.report.story import SECTIONS, report_of
from reports import material


class Reader(HTMLParser):
    def __init__(self, content: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.said = ""
        self.feed(content)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.said += data


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory):
    return report_of(material(tmp_path_factory.mktemp("runs")))


def test_a_page_forbids_loading_and_asks_for_nothing(report) -> None:
    reader = Reader(page(report))
    policy = next(value for name, value in reader.attributes if name == "content" and value and "default-src" in value)
    assert policy.startswith("default-src 'none'")
    assert "script-src 'sha256-" in policy and "unsafe-eval" not in policy and "http" not in policy
    loaded = [value for name, value in reader.attributes if name in ("src", "href") and value]
    assert all(value.startswith(("#", "data:image/png;base64,")) for value in loaded)
    assert not [name for name, _ in reader.attributes if name.startswith("on")]


def test_every_figure_stands_under_a_sentence_and_over_a_note(report) -> None:
    figures = [part for section in report.sections for part in section.parts if isinstance(part, Figure)]
    assert len(figures) >= 7
    assert all(figure.says.endswith(".") and figure.note for figure in figures)
    names = [part.name for section in report.sections for part in section.parts if isinstance(part, Figure | Table)]
    assert len(set(names)) == len(names)


def test_a_section_stands_only_where_its_results_are(report, tmp_path: Path) -> None:
    bare = replace(material(tmp_path), results={}, view=None, along=None, metrics=())
    names = [section.name for section in report_of(bare).sections]
    assert names == ["asked", "answered", "reproduce"]
    assert len(report.sections) == len(SECTIONS), "where everything is there, so are they all"


def test_a_page_of_a_small_model_is_small(report) -> None:
    assert len(page(report).encode()) < 250_000


def test_each_section_says_what_its_numbers_say(report) -> None:
    said = " ".join(
        part.says for section in report.sections for part in section.parts if isinstance(part, Figure | Table)
    )
    for sentence in (
        "3 of 9 edges keep -10.0 % to 100 % of the effect, over 3 ways of asking",
        "The strongest 3 of 9 edges keep 95.0 %",
        "1 of 2 edges are idle",
        "before layer 0 at adjective 11 (+0.90); before layer 1 at answer's place 14 (+0.80)",
        "L1H2 writes +4.00",
        "only through later parts matters L0H1 (+3.00)",
        "answer at answer's place (before layer 1)",
        "block 1 is the same for all of them (within 0.00); block 2 differs most at adjective: 0.20 to 0.90",
        "L0H1 at adjective (0.70)",
    ):
        assert sentence in said


def test_hostile_words_are_words(tmp_path: Path) -> None:
    first = [*HOSTILE[:20], "end"]
    hostile = report_of(material(tmp_path, first, ["<other>", *first[1:]]))
    written = page(hostile)
    reader = Reader(written)
    assert reader.tags.count("script") == 3
    assert not {"b", "eos", "other"} - {"b"} & set(reader.tags)
    for word in first:
        assert word in reader.said
    for block in ("numbers", "data"):
        found = re.search(rf'<script type="application/json" id="{block}">(.*?)</script>', written, re.DOTALL)
        assert found and json.loads(found[1])
    assert json.loads(re.search('id="data">(.*?)</script>', written, re.DOTALL)[1])["tokens"][0] == first  # pyright: ignore
    text, drawn = markdown(hostile, "figures")
    assert "<script" not in text and "\n<b>" not in text
    for svg in drawn.values():
        ElementTree.fromstring(svg)


def test_markdown_says_the_same_and_names_its_drawings(report) -> None:
    text, drawn = markdown(report, "report-figures")
    for section in report.sections:
        assert f"## {section.title}" in text
        for part in section.parts:
            if isinstance(part, Figure):
                assert f"(report-figures/{part.name}.svg)" in text
                root = ElementTree.fromstring(drawn[f"{part.name}.svg"])
                assert float(root.attrib["width"]) > 0
    assert len(drawn) == text.count("](report-figures/")
    numbers = json.loads(re.search("<!-- probe-numbers (.*?) -->", text)[1])  # pyright: ignore[reportOptionalSubscript]
    assert numbers == json.loads(json.dumps(report.numbers))


def test_a_code_span_outlasts_the_backticks_in_it() -> None:
    assert code("a`b``c") == "``` a`b``c ```"


def test_plain_text_has_the_sentences_and_the_tables(report) -> None:
    text = report_text(report)
    assert "WHAT CAUSES THE ANSWER" in text
    assert "two hops" in text
    assert "best order-blind answer" in text


def test_numbers_leave_out_what_reads_zero_and_say_how_much(report) -> None:
    nodes: dict[str, Any] = report.numbers["results"]["trace-nodes-adjective"]
    kept = [row for row in nodes["rows"] if row[4] == 0.8]
    assert len(kept) == 2, "noising and denoising of L0H1"
    assert nodes["left_out"] + len(nodes["rows"]) == 2 * 10 * 15


def test_runs_of_other_settings_are_no_seeds_of_one(tmp_path: Path) -> None:
    """A seed makes chance; another rate makes another experiment, and no interval over both."""
    one, other = material(tmp_path / "a"), material(tmp_path / "b")
    training = {**other.run.manifest["training"], "seed": 1}
    seed, rate = (
        replace(other, run=replace(other.run, manifest={**other.run.manifest, "training": changed}))
        for changed in (training, {**training, "lr": 0.123})
    )
    assert "so what differs is chance" in report_text(comparison_of([one, seed]))
    said = report_text(comparison_of([one, rate]))
    assert "settings of model or training" in said and "chance" not in said.split("DO THEY WORK")[0]
    assert "interval over runs" not in said


def test_runs_side_by_side_differ_or_agree_in_words(tmp_path: Path) -> None:
    one, other = material(tmp_path / "a"), material(tmp_path / "b")
    ways = other.results["trace-ways-adjective"]
    changed = replace(ways, details={**ways.details, "strategy": "one hop: heads of layer 0 read the words"})
    different = replace(other, results={**other.results, "trace-ways-adjective": changed})
    alike, apart = report_text(comparison_of([one, other])), report_text(comparison_of([one, different]))
    assert "in the same way in all 2 runs" in alike
    assert "2 different ways in 2 runs; no two do the same" in apart
    assert "They differ in no setting of task, model or training." in alike
    assert "90.0 % right on average" in alike and "0 of 2 solved it" in alike
    assert len(page(comparison_of([one, different]))) > 10_000
    tables = {"adjective": tuple(one.results[f"trace-{what}-adjective"].table for what in ("nodes", "edges"))}
    other.run.path.rename(tmp_path / "other")
    other = replace(other, run=replace(other.run, path=tmp_path / "other"))
    traced = stability({one.run.name: tables, other.run.name: tables}, ways.provenance)
    said = report_text(comparison_of([one, other], traced))
    assert "1.00 of the edges of two runs are shared, 1.00 where" in said, "one pair of runs has no interval"
