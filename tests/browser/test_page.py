"""The report page in a real Chromium with the network off: what a reader points at, presses, saves and sees."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser.driver import DOWN, ENTER, ESCAPE, LEFT, RIGHT, Browser, missing
from pictures import HOSTILE
from probe.report.page import page
from probe.report.story import report_of
from reports import FIRST, material, pattern

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    window = Browser()
    try:
        yield window
    finally:
        window.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    path = folder / "report.html"
    path.write_text(page(report_of(material(folder))), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Browser, written: Path) -> Iterator[Browser]:
    """The page, freshly opened; whatever a test did, the console has to be empty after it."""
    browser.resize(1280)
    browser.open(written)
    yield browser
    assert browser.console() == []


def cell(browser: Browser, key: str, query: int, column: int) -> list[float]:
    """Where the middle of a cell lies in the view, once its map is in sight."""
    return browser.run(
        """const map = document.querySelector(`[data-map="${arguments[0]}"]`), d = map.dataset;
        map.ownerSVGElement.scrollIntoView({block: "center", behavior: "instant"});
        const point = new DOMPoint(+d.x + (arguments[2] + .5) * d.width, +d.y + (arguments[1] + .5) * d.height)
          .matrixTransform(map.ownerSVGElement.getScreenCTM());
        return [point.x, point.y];""",
        key,
        query,
        column,
    )


def point_at(browser: Browser, key: str, query: int, column: int, click: bool = False) -> None:
    browser.move(*cell(browser, key, query, column), click=click)
    browser.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def said(browser: Browser) -> str:
    return browser.run("return document.getElementById('readout').innerText")


def value(browser: Browser) -> float:
    return float(browser.run("return document.querySelector('#readout b').dataset.value"))


def test_it_opens_with_an_empty_console_and_loads_nothing(opened: Browser) -> None:
    assert opened.run("return document.documentElement.dataset.ready") == ""
    assert opened.run("return performance.getEntriesByType('resource').length") == 0


def test_its_policy_stops_what_a_word_could_smuggle_in(browser: Browser, written: Path) -> None:
    browser.open(written)
    browser.run("const s = document.createElement('script'); s.text = 'window.bad = 1'; document.body.append(s)")
    browser.run("const i = new Image(); i.src = 'https://example.org/x.png'; document.body.append(i)")
    assert browser.run("return window.bad ?? null") is None
    refused = browser.console()
    assert refused and all("Content Security Policy" in line for line in refused)


def test_hovering_a_cell_lights_up_both_words_in_every_map(opened: Browser) -> None:
    point_at(opened, "s0.L1H2", 14, 11)
    text = said(opened)
    assert "from the (14) to tired (11)" in text
    assert value(opened) == pytest.approx(float(pattern(15, 2, 4, 0)[1, 2, 14, 11]), abs=0.003)
    maps = opened.run("return document.querySelectorAll('[data-map]').length")
    lit = opened.run(
        "return [...document.querySelectorAll('.hl')].filter(r => r.parentElement.style.display !== 'none').length"
    )
    assert lit == maps
    words = opened.run("return [...document.querySelectorAll('.word.from, .word.to')].map(w => w.textContent)")
    assert words.count("the") == 2 and "tired" in words and "wet" in words
    opened.move(5, 5)
    opened.run("return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert said(opened) == ""


def test_a_difference_is_that_of_its_two_maps(opened: Browser) -> None:
    point_at(opened, "d.L0H3", 12, 4)
    first, second = (float(pattern(15, 2, 4, seed)[0, 3, 12, 4]) for seed in (0, 1))
    assert value(opened) == pytest.approx(second - first, abs=0.005)
    assert said(opened).splitlines()[1].startswith(("+", "-"))


def test_a_click_pins_and_escape_lets_go(opened: Browser) -> None:
    point_at(opened, "s0.L0.mean", 10, 3, click=True)
    point_at(opened, "s0.L0.mean", 7, 2)
    assert "from too (10) to not (3)" in said(opened)
    opened.press(ESCAPE)
    assert said(opened) == ""
    point_at(opened, "s0.L0.mean", 7, 2)
    assert "from because (7)" in said(opened)


def test_arrow_keys_move_through_a_map(opened: Browser) -> None:
    opened.run("document.querySelector('[data-map=\"s0.L1.mean\"]').ownerSVGElement.focus()")
    opened.press(RIGHT)
    assert "from the (14) to the (0)" in said(opened), "the first key goes to the row that names the answer"
    opened.press(RIGHT, RIGHT, LEFT)
    assert "from the (14) to animal (1)" in said(opened)
    opened.press("\ue013", "\ue013", DOWN)
    assert "from so (13) to animal (1)" in said(opened)
    opened.press(ENTER)
    assert "pinned" in said(opened)
    assert opened.run("return document.activeElement.getAttribute('role')") == "application"
    assert opened.run("return document.getElementById('readout').getAttribute('aria-live')") == "polite"


def test_tables_sort_by_number_and_by_text(opened: Browser) -> None:
    def column(index: int) -> list[str]:
        return opened.run(
            """const rows = document.querySelectorAll('#looks-and-causes tbody tr');
            return [...rows].map(row => row.cells[arguments[0]].textContent)""",
            index,
        )

    press = "document.querySelectorAll('#looks-and-causes th button')[arguments[0]].click()"
    opened.run(press, 2)
    falling = [float(text) for text in column(2)]
    assert falling == sorted(falling, reverse=True)
    opened.run(press, 2)
    assert [float(text) for text in column(2)] == sorted(falling)
    assert opened.run("return document.querySelectorAll('#looks-and-causes th')[2].ariaSort") == "ascending"
    opened.run(press, 0)
    assert column(0) == sorted(column(0))


def test_the_slider_moves_the_maps_and_their_values(opened: Browser) -> None:
    draw = "return document.querySelector('[data-map=\"t.s0.L0H1\"]').innerHTML"
    after = opened.run(draw)
    opened.run(
        """const slider = document.querySelector('.slider input');
        slider.value = 0;
        slider.dispatchEvent(new Event('input', {bubbles: true}))"""
    )
    assert opened.run(draw) != after
    assert "step 0" in opened.run("return document.querySelector('.slider output').textContent")
    point_at(opened, "t.s0.L0H1", 9, 2)
    assert value(opened) == pytest.approx(0.1, abs=0.003), "before training every word weighs alike"
    assert opened.run("return document.querySelectorAll('.hl-step').length") == 1, "and a line stands in the strip"


def test_an_edge_shows_its_numbers_and_both_ends_maps(opened: Browser) -> None:
    opened.run(
        """const edge = document.querySelector('path[data-edge="MLP0>L1H2.v"]');
        edge.dispatchEvent(new MouseEvent('click', {bubbles: true}))"""
    )
    details = opened.run("return document.querySelector('#circuit-adjective .details').textContent")
    assert "MLP0 → L1H2 (values)" in details and "+0.70 [+0.65, +0.75]" in details
    assert opened.run("return document.querySelectorAll('#circuit-adjective .details svg').length") == 2
    opened.run("document.querySelector('path[data-edge=\"L0H1>MLP0\"]').focus()")
    opened.press(ENTER)
    assert "L0H1 → MLP0" in opened.run("return document.querySelector('#circuit-adjective .details').textContent")


def test_every_figure_can_be_saved_and_stands_alone(opened: Browser) -> None:
    names = opened.run("return [...document.querySelectorAll('[data-save]')].map(b => b.dataset.save)")
    assert len(names) == opened.run("return document.querySelectorAll('figure').length")
    files = opened.run(
        """const made = [], create = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
        URL.createObjectURL = (blob) => (made.push(blob.text()), "blob:none");
        HTMLAnchorElement.prototype.click = () => {};
        for (const button of document.querySelectorAll("[data-save]")) button.click();
        [URL.createObjectURL, HTMLAnchorElement.prototype.click] = [create, click];
        return Promise.all(made);"""
    )
    for name, content in zip(names, files, strict=True):
        root = ElementTree.fromstring(content)
        assert root.tag == "{http://www.w3.org/2000/svg}svg", name
        assert float(root.attrib["width"]) > 100 and float(root.attrib["height"]) > 50
        assert "var(--" not in content and 'class="hl' not in content, "no style or mark of the page is in it"


def test_a_saved_figure_lies_on_the_disk(opened: Browser) -> None:
    opened.run("document.querySelector('[data-save=means]').click()")
    path = opened.downloads / "means.svg"
    for _ in range(250):
        if path.exists() and path.stat().st_size:
            break
        opened.run("return new Promise(done => setTimeout(done, 20))")
    assert ElementTree.parse(path).getroot().tag.endswith("svg")


@pytest.mark.parametrize(("width", "dark"), [(360, False), (360, True), (800, False), (1600, True)])
def test_nothing_is_cut_off_at_any_width(opened: Browser, width: int, dark: bool) -> None:
    opened.resize(width, dark=dark)
    assert opened.run("return document.documentElement.scrollWidth") <= width
    ground = opened.run("return getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(13, 17, 23)" if dark else "rgb(255, 255, 255)")
    drawn = opened.run("return getComputedStyle(document.querySelector('.probe-figure .f-paper')).fill")
    assert drawn == ground, "a drawing lies on the page's own colour"


def test_it_reads_without_a_script(browser: Browser, written: Path) -> None:
    browser.cdp("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(written)
        assert browser.run("return document.documentElement.dataset.ready ?? null") is None
        text = browser.run("return document.body.innerText").replace("\u00a0", " ")
        for words in ("What was asked", "It names the right word in 90.0 % of 120", "two hops", "+0.70 [+0.65, +0.75]"):
            assert words in text
        visible = (
            "return [...document.querySelectorAll('.tools, .slider, .details')].filter(e => e.offsetParent).length"
        )
        assert browser.run(visible) == 0, "nothing is offered that cannot work"
        assert browser.run("return document.querySelectorAll('figure svg').length") > 20
    finally:
        browser.cdp("Emulation.setScriptExecutionDisabled", value=False)


def test_hostile_words_stay_words(browser: Browser, tmp_path: Path) -> None:
    first = [*HOSTILE[:22], "end"]
    second = ["<other>", *first[1:]]
    path = tmp_path / "hostile.html"
    path.write_text(page(report_of(material(tmp_path, first, second))), encoding="utf-8")
    browser.resize(360)
    browser.open(path)
    words = browser.run(
        "return [...document.querySelectorAll('#looks .sentences li:first-child .word')].map(w => w.textContent)"
    )
    assert words == first
    assert browser.run("return document.documentElement.scrollWidth") <= 360
    point_at(browser, "s0.L0H0", 22, 0)
    assert "from end (22) to </script> (0)" in said(browser)
    assert browser.run("return document.querySelectorAll('script').length") == 3
    assert browser.console() == []


@pytest.mark.parametrize("words", [128, 512])
def test_long_sentences_stay_responsive(browser: Browser, tmp_path: Path, words: int) -> None:
    first = [FIRST[i % len(FIRST)] for i in range(words)]
    path = tmp_path / f"{words}.html"
    second = None if words == 512 else [*first[:-1], "wet"]
    path.write_text(page(report_of(material(tmp_path, first, second, steps=()))), encoding="utf-8")
    browser.resize(1280)
    browser.open(path)
    timing: dict[str, Any] = browser.run("return performance.getEntriesByType('navigation')[0].toJSON()")
    assert timing["loadEventEnd"] < 5000
    assert path.stat().st_size < 6_000_000
    point_at(browser, "s0.L1H0", words - 1, words - 3)
    assert value(browser) == pytest.approx(float(pattern(words, 2, 4, 0)[1, 0, words - 1, words - 3]), abs=0.005)
    assert browser.console() == []
