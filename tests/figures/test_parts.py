"""Heat maps, circuits, curves and bars: the numbers of the table are the numbers of the picture, whatever the words."""

from __future__ import annotations

import io
import struct
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pictures import HOSTILE
from probe.figures.bars import Bar, Bars
from probe.figures.circuit import Circuit, CircuitEdge, CircuitNode
from probe.figures.drawing import Cells, Label, columns_of, number
from probe.figures.figure import Figure, Part, draw, draw_part, figure_print, figure_svg, part_svg
from probe.figures.heatmap import HeatMap, draw_heatmap, heatmap_svg
from probe.figures.lines import Change, Lines, Series
from probe.figures.svg import PALETTES, VECTOR

NS = "{http://www.w3.org/2000/svg}"
ALLOWED = {"svg", "title", "desc", "metadata", "style", "rect", "text", "g", "path", "circle", "image"}


def heat(words: tuple[str, ...], value: float = 0.5, **more) -> HeatMap:
    row = tuple(value for _ in words)
    return HeatMap(title=words[0], rows=words, columns=words, values=tuple(row for _ in words), unit="share", **more)


def circuit(words: tuple[str, ...], effect: float = 0.5, threshold: float = 0.1) -> Circuit:
    last = len(words) - 1
    return Circuit(
        title=words[0],
        words=words,
        changed=(0,),
        nodes=(
            CircuitNode(name="L0H0", position=0, value=effect, low=effect - 0.1, high=effect + 0.1),
            CircuitNode(name="MLP1", position=last, value=-effect),
        ),
        edges=(
            CircuitEdge(sender="embedding", receiver="L0H0", port="q", value=effect),
            CircuitEdge(sender="L0H0", receiver="MLP1", port="mlp", value=-effect),
            CircuitEdge(sender="MLP1", receiver="logits", port="logits", value=0.05),
        ),
        threshold=threshold,
    )


def lines(words: tuple[str, ...], value: float = 0.5) -> Lines:
    series = tuple(
        Series(name=word, points=((0.0, 0.0), (10.0, value)), control=i == 1) for i, word in enumerate(words)
    )
    changes = (Change(name=words[0], x=5.0, low=4.0, high=6.0),)
    return Lines(
        title=words[0], series=series, x_is=words[0], unit=words[0], changes=changes, levels=((words[0], 0.2),)
    )


def bars(words: tuple[str, ...], value: float = 0.5) -> Bars:
    made = tuple(
        Bar(label=word, value=value, low=value, high=value, beside=((word, 0.1),), floor=0.1, maximum=1.0, group=word)
        for word in words
    )
    return Bars(title=words[0], bars=made, unit=words[0])


MAKERS = [heat, circuit, lines, bars]


def everything(svg: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter())


def marked(svg: str, key: str) -> list[dict[str, str]]:
    """Attributes of all elements that carry data-`key`."""
    return [element.attrib for element in everything(svg) if f"data-{key}" in element.attrib]


def cells_of(svg: str) -> list[tuple[tuple[int, int], dict[str, str]]]:
    """Row and column of every cell, and its attributes."""
    rows = [element for element in everything(svg) if "data-row" in element.attrib]
    found = [(int(row.attrib["data-row"]), cell.attrib) for row in rows for cell in row]
    return [((row, int(cell["data-column"])), cell) for row, cell in found if "data-column" in cell]


# -- the numbers -----------------------------------------------------------------------------------------------------


def test_every_cell_says_its_value_and_is_as_opaque():
    values = ((0.0, 0.25, None), (1.0, 2.0, -1.0))
    svg = heatmap_svg(HeatMap(title="t", rows=("a", "b"), columns=("x", "x", "x"), values=values, unit="u"))
    found = {place: a for place, a in cells_of(svg) if "data-value" in a}
    for place, value in {(0, 0): 0.0, (0, 1): 0.25, (1, 0): 1.0, (1, 1): 2.0, (1, 2): -1.0}.items():
        assert float(found[place]["data-value"]) == value
    assert float(found[0, 1]["fill-opacity"]) == 0.25
    assert float(found[1, 1]["fill-opacity"]) == 1.0, "beyond the scale is full, not more than full"
    assert [place for place, _ in cells_of(svg) if place not in found] == [(0, 2)], "no value is no zero"


def test_signs_have_two_hues_and_one_scale():
    values = ((-1.0, -0.5, 0.0, 0.5, 1.0),)
    names = tuple("abcde")
    svg = heatmap_svg(HeatMap(title="t", rows=("r",), columns=names, values=values, unit="u", diverging=True))
    cells = [attributes for _, attributes in cells_of(svg)]
    assert [a.get("class", "f-more") for a in cells] == ["f-less", "f-less", "f-more", "f-more", "f-more"]
    assert [float(a["fill-opacity"]) for a in cells] == [1.0, 0.5, 0.0, 0.5, 1.0]


def test_values_that_do_not_fit_their_names_are_refused():
    with pytest.raises(ValueError, match="2 rows and 1 columns"):
        draw_heatmap(HeatMap(title="t", rows=("a", "b"), columns=("x",), values=((0.0,),), unit="u"))


def test_the_floor_stands_on_the_colour_bar_where_its_value_is():
    drawing = draw_heatmap(heat(("a",), floor=0.25))
    bar = [mark for mark in drawing.marks if isinstance(mark, Cells)][1]
    pointer = next(mark for mark in drawing.marks if getattr(mark, "points", ())[2:] and len(mark.points) == 3)
    assert pointer.points[2][0] == pytest.approx(bar.x + 0.25 * 154)
    assert "floor 0.25" in part_svg(heat(("a",), floor=0.25))


def test_a_circuit_draws_strong_edges_as_wide_as_their_effect_and_counts_the_weak():
    svg = part_svg(circuit(("a", "b", "c"), effect=0.5))
    paths = {a["data-edge"]: a for a in marked(svg, "sender")}
    assert set(paths) == {"embedding>L0H0.q", "L0H0>MLP1"}
    assert float(paths["embedding>L0H0.q"]["stroke-width"]) == 4.5
    assert paths["embedding>L0H0.q"]["class"] == "l-more"
    assert paths["L0H0>MLP1"]["class"] == "l-less" and "stroke-dasharray" in paths["L0H0>MLP1"]
    assert {name: float(a["data-value"]) for name, a in paths.items()} == {"embedding>L0H0.q": 0.5, "L0H0>MLP1": -0.5}
    assert "not drawn: 1 edges below 0.10, the strongest of them 0.05" in svg
    wider = {a["data-edge"]: a for a in marked(part_svg(circuit(("a", "b"), effect=1.0)), "sender")}
    assert float(wider["embedding>L0H0.q"]["stroke-width"]) == 9.0


def test_a_node_stands_above_its_position_and_says_it():
    svg = part_svg(circuit(("a", "b", "c")))
    nodes = {(a["data-node"], a["data-position"]): a.get("data-value") for a in marked(svg, "node")}
    assert nodes["L0H0", "0"] == "0.5" and nodes["MLP1", "2"] == "-0.5"
    assert ("embedding", "1") in nodes


def test_a_circuit_without_a_strong_edge_says_so():
    svg = part_svg(circuit(("a", "b"), effect=0.01))
    assert marked(svg, "sender") == []
    assert "no edge is strong enough to be drawn" in svg


def test_words_that_stand_twice_keep_their_places_in_a_circuit():
    labels = [m for m in draw_part(circuit(("the", "the", "the"))).marks if isinstance(m, Label) and m.text == "the"]
    assert len({label.x for label in labels}) >= 3


def test_of_a_long_sentence_only_positions_where_something_happens_are_drawn():
    drawing = draw_part(circuit(tuple(f"w{i}" for i in range(500))))
    assert drawing.width < 800
    shown = {m.text for m in drawing.marks if isinstance(m, Label)}
    assert {"w0", "w499", "…"} <= shown and "w250" not in shown


def test_curves_and_bars_carry_their_values():
    svg = part_svg(lines(("one", "two"), value=0.125))
    points = [(a["data-series"], a["data-x"], a["data-value"]) for a in marked(svg, "series") if "data-x" in a]
    assert points == [(name, x, y) for name in ("one", "two") for x, y in (("0", "0"), ("10", "0.125"))]
    assert "one: 5 [4, 6]" in svg
    svg = part_svg(bars(("one",), value=0.25))
    ours, beside = marked(svg, "bar")
    assert (ours["data-value"], beside["data-value"], beside["data-beside"]) == ("0.25", "0.1", "one")


# -- words, light and dark, bounds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", MAKERS)
def test_hostile_words_are_words_and_nothing_is_loaded(make):
    svg = part_svg(make(HOSTILE))
    root = ElementTree.fromstring(svg)
    assert {element.tag.removeprefix(NS) for element in root.iter()} <= ALLOWED
    assert root.attrib["role"] == "img" and root.findtext(f"{NS}title") and root.findtext(f"{NS}desc")
    assert svg.replace("http://www.w3.org/2000/svg", "").count("http") == 0
    assert "url(" not in svg and "@import" not in svg and "<script" not in svg and "<eos" not in svg
    assert part_svg(make(HOSTILE)) == svg, "the same numbers are the same file"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(st.lists(st.text(min_size=1), min_size=1, max_size=3), st.sampled_from(MAKERS))
def test_any_text_gives_a_picture_that_xml_can_read(words, make):
    ElementTree.fromstring(part_svg(make(tuple(words))))


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("words", [("a",), ("w" * 200, "b"), tuple("abcdefgh")])
def test_labels_lie_on_the_paper(make, words):
    drawing = draw_part(make(words))
    assert drawing.width < 1600, "a long word does not stretch the picture"
    for label in drawing.marks:
        if isinstance(label, Label):
            room = columns_of(label.text) * label.size * 0.602
            before = {"start": 0.0, "middle": 0.5, "end": 1.0}[label.anchor] * room
            turn = np.deg2rad(label.angle)
            for along in (-before, room - before):
                assert -8 <= label.x + along * np.cos(turn) <= drawing.width + 8, label
                assert -8 <= label.y + along * np.sin(turn) <= drawing.height + 8, label


def test_a_large_map_is_pixels_of_bounded_size():
    n = 512
    values = tuple(tuple(float(v) for v in row) for row in np.random.default_rng(0).random((n, n)))
    names = tuple(str(i) for i in range(n))
    svg = heatmap_svg(HeatMap(title="t", rows=names, columns=names, values=values, unit="u"))
    (image,) = (e for e in everything(svg) if e.tag == f"{NS}image")
    assert image.attrib["href"].startswith("data:image/png;base64,")
    assert image.attrib["data-rows"] == "512"
    assert len(svg) < 1_500_000 and n * n > VECTOR
    assert len(heatmap_svg(heat(tuple("abcdefgh")))) < 16_000, "64 cells"


def test_pixels_are_as_opaque_as_the_value():
    import base64

    from matplotlib.image import imread

    row = tuple(i / 99 for i in range(100))
    names = tuple(str(i) for i in range(100))
    svg = heatmap_svg(HeatMap(title="t", rows=names, columns=names, values=(row,) * 100, unit="u"))
    (image,) = (e for e in everything(svg) if e.tag == f"{NS}image")
    png = base64.b64decode(image.attrib["href"].split(",", 1)[1])
    alpha = imread(io.BytesIO(png))[3, :, 3]
    assert np.allclose(alpha, row, atol=0.003)


def test_colours_stand_out_from_their_paper_in_light_and_dark():
    """WCAG contrast: 4.5 for text, 3 for lines and areas."""

    def luminance(colour: str) -> float:
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for palette in PALETTES.values():
        for ink, colour in palette.items():
            if ink != "paper":
                one, other = sorted((luminance(colour), luminance(palette["paper"])))
                contrast = (other + 0.05) / (one + 0.05)
                assert contrast >= (3.0 if ink == "line" else 4.5), (ink, contrast)


def test_a_style_fixes_what_auto_leaves_to_the_reader():
    part = heat(("a", "b"))
    auto, paper, dark = (part_svg(part, style) for style in ("auto", "paper", "dark"))
    assert "prefers-color-scheme" in auto and PALETTES["dark"]["paper"] in auto
    assert "prefers-color-scheme" not in paper and PALETTES["dark"]["paper"] not in paper
    assert PALETTES["light"]["paper"] not in dark
    widths = [float(ElementTree.fromstring(svg).attrib["width"]) for svg in (paper, dark)]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.2)


# -- print -----------------------------------------------------------------------------------------------------------


def figure(*parts: Part) -> Figure:
    return Figure(name="n", title="T", caption="What is seen.", parts=parts, run="a-run", digest="0123456789abcdef" * 4)


def test_print_embeds_fonts_tells_its_source_and_changes_no_default():
    import matplotlib

    before = dict(matplotlib.rcParams)
    parts = [make(("a", "b")) for make in MAKERS]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdf = figure_print(figure(*parts), "pdf")
        png = figure_print(figure(*parts), "png")
    assert dict(matplotlib.rcParams) == before
    assert pdf.startswith(b"%PDF") and b"/FontFile2" in pdf and b"/Type3" not in pdf
    assert png.startswith(b"\x89PNG") and b"0123456789abcdef" in png and b"What is seen." in png
    assert b"0123456789abcdef" in pdf
    assert figure_print(figure(*parts), "png") == png and figure_print(figure(*parts), "pdf") == pdf


@pytest.mark.parametrize("make", MAKERS)
def test_hostile_words_are_words_in_print(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a missing glyph is no news for the user
        png = figure_print(figure(make(HOSTILE)))
    width, height = struct.unpack(">II", png[16:24])
    assert 200 < width < 4000 and 100 < height < 12000


def test_print_is_as_dark_as_the_value():
    from matplotlib.image import imread

    from probe.figures.press import to_print

    drawing = draw_heatmap(
        HeatMap(title="t", rows=("r",), columns=("a", "b"), values=((1.0, 0.0),), unit="u", floor=None)
    )
    cells = next(mark for mark in drawing.marks if isinstance(mark, Cells))
    image = imread(io.BytesIO(to_print(drawing, dpi=96)))

    def brightness(column: int) -> float:
        x, y = cells.x + column * cells.cell[0] + 3 + 8, cells.y + 3 + 8
        return float(image[int(y), int(x), :3].mean())

    assert brightness(0) < brightness(1) - 0.3


# -- whole figures ---------------------------------------------------------------------------------------------------


def test_a_figure_says_what_it_shows_and_where_from():
    svg = figure_svg(figure(heat(("a",))))
    root = ElementTree.fromstring(svg)
    assert root.findtext(f"{NS}title") == "T" and root.findtext(f"{NS}desc") == "What is seen."
    assert "0123456789abcdef" * 4 in (root.findtext(f"{NS}metadata") or "")
    assert "run a-run · manifest 0123456789abcdef" in svg


def test_parts_stand_apart():
    one = figure(heat(("a", "b")), heat(("c", "d")))
    boxes = [(m.x, m.y, m.values.shape) for m in draw(one).marks if isinstance(m, Cells) and m.values.shape == (2, 2)]
    assert len(boxes) == 2 and boxes[1][0] > boxes[0][0] + 100, "side by side where there is room"
    wide = heat(tuple(f"a rather long word {i}" for i in range(19)))
    ys = [m.y for m in draw(figure(wide, wide)).marks if isinstance(m, Cells) and m.values.shape == (19, 19)]
    assert ys[1] > ys[0] + 19 * 20, "one under the other where there is not"


def test_numbers_are_written_as_people_read_them():
    assert number(-0.004, signed=True) == "0.00" and number(0.1, signed=True) == "+0.10"
