"""Rows: saved one by one, run again only where they have to be, also after a kill; and the section they make."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from probe.errors import NotThere, ProbeError
from probe.figures.reproductions import draw
from probe.lab import reproducing
from probe.lab.reproducing import reproduction_of, rows_of, run_rows, saved, write_section
from probe.processes import side_by_side
from probe.report import reproductions as report
from probe.reproductions.claims import Claim, Figure, Job, Judged, Reproduction, Settings, above, exactly

MEASURED: list[str] = []


def job(key: str, number: float, seeded: bool = True, made_of: str = "") -> Job:
    def measure(settings, seed, tell):
        MEASURED.append(f"{key} {seed}")
        if number < 0:
            raise KeyboardInterrupt
        return {"number": number + seed}

    return Job(key=key, measure=measure, seeded=seeded, made_of=lambda settings: {"of": made_of})


def small(*jobs: Job, claims: tuple[Claim, ...] = (), needs_corpus: bool = False) -> Reproduction:
    return Reproduction(
        name="small", title="T", setting="S", jobs=jobs, claims=claims, seeds=2, needs_corpus=needs_corpus
    )


@pytest.fixture(autouse=True)
def fresh() -> None:
    MEASURED.clear()


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch):
    def put(reproduction: Reproduction) -> Reproduction:
        monkeypatch.setattr(reproducing, "reproduction_of", lambda name: reproduction)
        return reproduction

    return put


def test_a_wrong_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(NotThere, match="did you mean 'ladder'"):
        reproduction_of("lader")


def test_an_interrupted_row_is_run_again_and_the_others_are_not(install, tmp_path: Path) -> None:
    broken = install(small(job("a", 1), job("b", -1), job("c", 3)))
    with pytest.raises(KeyboardInterrupt):
        run_rows(rows_of(broken, Settings(), 1, tmp_path), processes=1)
    assert MEASURED == ["a 0", "b 0"]
    whole = install(small(job("a", 1), job("b", 2), job("c", 3)))
    found = run_rows(rows_of(whole, Settings(), 1, tmp_path), processes=1)
    assert MEASURED == ["a 0", "b 0", "b 0", "c 0"]
    assert found == {0: {"a": {"number": 1}, "b": {"number": 2}, "c": {"number": 3}}}


def test_all_rows_of_a_seed_come_before_the_next_and_what_has_no_seed_runs_once(install, tmp_path: Path) -> None:
    two = install(small(job("a", 1), job("b", 2, seeded=False)))
    found = run_rows(rows_of(two, Settings(), None, tmp_path), processes=1)
    assert MEASURED == ["a 0", "b 0", "a 1"]
    assert found == {0: {"a": {"number": 1}, "b": {"number": 2}}, 1: {"a": {"number": 2}}}


def test_a_quick_row_never_stands_for_another(install, tmp_path: Path) -> None:
    one = install(small(job("a", 1)))
    run_rows(rows_of(one, Settings(quick=True), 1, tmp_path), processes=1)
    (row,) = rows_of(one, Settings(), 1, tmp_path)
    assert saved(row) is None


def test_another_corpus_is_another_row_in_another_folder(install, tmp_path: Path) -> None:
    """So that a text of the user's own never takes the place of the chapter's rows."""
    one = install(small(job("a", 1), needs_corpus=True))
    path, folders = tmp_path / "text", set()
    for written in ("one", "another"):
        path.write_text(written)
        rows = rows_of(one, Settings(corpus=path), 1, tmp_path)
        assert saved(rows[0]) is None
        run_rows(rows, processes=1)
        assert saved(rows[0]) == {"number": 1}
        folders.add(rows[0].path.parents[1].name)
    assert len(folders) == 2 and all(folder.startswith("small-on-") for folder in folders)
    assert rows_of(one, Settings(), 1, tmp_path)[0].path.parents[1].name == "small"


def test_a_row_that_was_made_of_something_else_is_run_again(install, tmp_path: Path) -> None:
    rows = rows_of(install(small(job("a", 1, made_of="3,000 steps"))), Settings(), 1, tmp_path)
    run_rows(rows, processes=1)
    assert saved(rows[0]) == {"number": 1}
    (other,) = rows_of(install(small(job("a", 1, made_of="2,000 steps"))), Settings(), 1, tmp_path)
    assert other.path == rows[0].path and saved(other) is None


def test_a_fault_in_a_worker_is_told_as_one(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="in a worker process: (.|\\n)*ZeroDivisionError"):
        side_by_side(_broken, [0, 1], 2)


def _broken(job: int, tell) -> float:
    return 1 / 0


def test_a_damaged_row_is_named(install, tmp_path: Path) -> None:
    (row,) = rows_of(install(small(job("a", 1))), Settings(), 1, tmp_path)
    row.path.parent.mkdir(parents=True)
    row.path.write_text("{}")
    with pytest.raises(ProbeError, match="no saved row; remove it"):
        saved(row)


def test_a_killed_command_goes_on_with_the_row_it_stood_at(text: Path, tmp_path: Path) -> None:
    """A real kill: every row file is whole, and what was done before is not done again."""
    options = ["reproduce", "ladder", "--quick", "--processes", "1", "--corpus", str(text), "--out", str(tmp_path)]
    command = [sys.executable, "-c", "from probe.cli import main; main()", *options]
    folder = tmp_path / "ladder-quick" / "rows"
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(6000):
        if len(list(folder.glob("*.json"))) >= 3 or running.poll() is not None:
            break
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.json")}
    assert len(before) >= 3
    assert all(json.loads((folder / name).read_text())["values"] for name in before)
    ladder = reproduction_of("ladder")
    rows = rows_of(ladder, Settings(quick=True, corpus=text), 1, tmp_path)
    run_rows(rows, processes=1)
    after = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.json")}
    assert len(after) == len(rows)
    assert {name: after[name] for name in before} == before


# -- the section -------------------------------------------------------------------------------------------------

HOSTILE = '</script><eos> | `x` *b* [l](u) & "q" _u_ # $x$ \\'


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def hostile_section(**parts) -> str:
    claim = Claim(statement=HOSTILE, value=lambda m: 0.0, rule=exactly(0), chapter=HOSTILE)
    judged = [Judged(claim=claim, values={0: 1.0}, verdict="differs", why=HOSTILE)]
    reproduction = Reproduction(name="small", title=HOSTILE, jobs=(), claims=(claim,), setting=HOSTILE)
    return {
        "html": lambda: report.section_html(reproduction, judged, [(HOSTILE, HOSTILE)], {"a": HOSTILE}, {}, True),
        "md": lambda: report.section_markdown(reproduction, judged, [(HOSTILE, HOSTILE)], {"a": HOSTILE}, [], True),
    }[parts["form"]]()


def test_a_page_escapes_and_loads_nothing() -> None:
    page = hostile_section(form="html")
    tags = _Tags()
    tags.feed(page)
    assert set(tags.tags) <= set(
        "html head meta title style body h1 h2 p strong div table thead tbody tr th td pre".split()
    )
    assert tags.text.count(HOSTILE) >= 4
    assert "default-src 'none'" in page
    assert "QUICK" in page


def test_markdown_escapes_and_keeps_its_columns() -> None:
    lines = hostile_section(form="md").splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert {line.replace("\\\\", "").replace("\\|", "").count("|") for line in table} == {len(report.HEADER) + 1}
    assert not any("<eos>" in line.replace("\\<", "") for line in lines if not line.startswith("    "))


def test_one_seed_has_no_interval_and_several_have() -> None:
    claim = Claim(statement="s", value=lambda m: 0.0)
    one = Judged(claim=claim, values={0: 2.0}, verdict="agrees", why="")
    assert report.ours(one) == "2.00"
    several = Judged(claim=claim, values={0: 1.0, 1: 2.0, 2: 3.0}, verdict="agrees", why="")
    assert report.ours(several).startswith("2.00 [1.")
    assert report.ours(several).endswith("3 seeds")
    assert report.ours(Judged(claim=claim, values={}, verdict="not run", why="")) == ""


@pytest.mark.parametrize("form", ["svg", "png"])
@pytest.mark.parametrize("series", [{"a": [(1, 1.0), (10, 2.0)]}, {HOSTILE: [(HOSTILE, 1.0), ("b", 2.0)]}])
def test_pictures_are_drawn_and_repeat_to_the_byte(form: str, series: dict) -> None:
    figure = Figure(name="f", title=HOSTILE, x_label="x", y_label="y", series=series, reference={"b": 1.5})
    picture = draw(figure, form)
    assert picture == draw(figure, form)
    if form == "svg":
        from xml.etree import ElementTree

        assert "</script>" not in picture.decode()
        ElementTree.fromstring(picture)


def test_where_nothing_was_run_nothing_is_written(install, tmp_path: Path) -> None:
    one = install(small(job("a", 1), claims=(Claim(statement="s", value=lambda m: m["a"]["number"]),)))
    judged, said = write_section(one, rows_of(one, Settings(), 1, tmp_path), Settings(), tmp_path)
    assert [each.verdict for each in judged] == ["not run"] and "not run 1" in said
    assert not any(tmp_path.iterdir())


def test_a_section_is_written_from_what_is_there(install, tmp_path: Path) -> None:
    claims = (
        Claim(statement="known", value=lambda m: m["a"]["number"], rule=exactly(1)),
        Claim(statement="positive", value=lambda m: m["a"]["number"] - 2, rule=above(0)),
        Claim(statement="missing", value=lambda m: m["b"]["number"], rule=exactly(1)),
    )
    both = install(small(job("a", 1), job("b", -1), claims=claims))
    rows = rows_of(both, Settings(), 1, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run_rows(rows, processes=1)
    judged, said = write_section(both, rows, Settings(), tmp_path)
    assert [one.verdict for one in judged] == ["agrees", "differs", "not run"]
    assert "agrees 1 · differs 1 · not run 1" in said
    assert "1 of 2 run" in (tmp_path / "small" / "small.md").read_text()
