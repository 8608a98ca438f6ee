"""Pictures of attention: every cell where and as dark as its weight, every word as it is, nothing loaded."""

from __future__ import annotations

import itertools
import re
import struct
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probe.figures.attention_print import attention_print
from probe.figures.attention_svg import CELL, SIZE, attention_svg
from probe.figures.drawing import MARGIN
from probe.figures.layout import lay_out, map_names

NS = "{http://www.w3.org/2000/svg}"
PAIR = (["the", "animal", "was", "tired", "so", "the"], ["the", "animal", "was", "wet", "so", "the"])


def cells(svg: str) -> list[tuple[int, int, ElementTree.Element]]:
    """Query, key and rectangle of every weight of every map."""
    rows = [element for element in ElementTree.fromstring(svg).iter() if "data-row" in element.attrib]
    return [
        (int(row.attrib["data-row"]), int(rect.attrib["data-column"]), rect)
        for row in rows
        for rect in row.iter(f"{NS}rect")
        if "data-column" in rect.attrib
    ]


def title(rect: ElementTree.Element) -> str:
    return rect.findtext(f"{NS}title") or ""


def words(svg: str) -> str:
    return " ".join("".join(element.itertext()) for element in ElementTree.fromstring(svg).iter(f"{NS}text"))


# -- the numbers -----------------------------------------------------------------------------------------------------


def test_every_weight_is_a_cell_at_its_key_and_query_as_opaque_as_it_weighs(make_view):
    tokens = ["a", "b", "c"]
    found = cells(attention_svg(make_view(tokens, layers=1, heads=1)))
    assert len(found) == 2 * 6  # the mean of the block and its head, six cells each
    for query, key, rect in found:
        assert key <= query and float(rect.attrib["x"]) == key * CELL
        assert float(rect.attrib["fill-opacity"]) == pytest.approx(1 / (query + 1), abs=0.006)
        assert float(rect.attrib["data-value"]) == pytest.approx(1 / (query + 1), abs=1e-4)
        assert title(rect) == f"{tokens[query]} ({query}) → {tokens[key]} ({key}) {1 / (query + 1):.2f}"


def test_words_that_stand_twice_keep_their_own_columns(make_view):
    found = cells(attention_svg(make_view(["the", "the", "the"], layers=1, heads=1)))
    assert len({(query, key) for query, key, _ in found}) == 6


def test_two_sentences_with_the_same_attention_have_no_difference(make_view):
    found = cells(attention_svg(make_view(*PAIR, layers=1, heads=2)))
    assert len(found) == 2 * 3 * 21  # two sentences, three maps, 21 cells; nothing in the difference
    assert not any(re.search(r" [+-]0\.\d\d$", title(rect)) for _, _, rect in found)


def test_a_difference_is_second_minus_first_and_has_its_own_hue_where_less(make_view):
    view = make_view(*PAIR, layers=1, heads=1)
    first, second = view.sentences
    moved = second.weights.copy()
    moved[0, 0, 5] = [0, 0, 0, 1, 0, 0]
    object.__setattr__(second, "weights", moved)
    object.__setattr__(second, "block_means", moved.mean(axis=1))
    signed = [(key, r) for _, key, r in cells(attention_svg(view)) if re.search(r" [+-]\d\.\d\d$", title(r))]
    values = {(r.attrib.get("class", "f-more"), key, title(r)[-5:]) for key, r in signed}
    assert values == {("f-more", 3, "+0.83"), *(("f-less", key, "-0.17") for key in (0, 1, 2, 4, 5))}


def test_the_changed_word_is_named_and_marked_in_a_pair(make_view):
    view = make_view(*PAIR)
    assert view.changed == (3,)
    root = ElementTree.fromstring(attention_svg(view))
    marked = {element.text for element in root.iter(f"{NS}text") if "f-less" in element.attrib["class"]}
    assert "tired" in marked
    assert "animal" not in marked
    assert "difference" in words(attention_svg(view))


def test_sentences_of_other_lengths_have_no_difference(make_view):
    view = make_view(["a", "b"], ["a", "b", "c"])
    assert view.changed == ()
    assert "difference" not in words(attention_svg(view))


# -- the layout ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sentences", [PAIR[:1], PAIR, (PAIR[0], PAIR[1][:4])])
@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (2, 4), (3, 2)])
def test_maps_stand_inside_the_picture_and_apart(make_view, sentences, layers, heads):
    layout = lay_out(make_view(*sentences, layers=layers, heads=heads))
    boxes = [(m.x, m.y, m.x + len(m.values), m.y + len(m.values)) for m in layout.maps]
    boxes += [(b.x, b.y, b.x + 7, b.y + b.sentence.query + 1) for b in layout.bars]
    for left, top, right, bottom in boxes:
        assert left >= 0 and top >= 0 and right <= layout.width and bottom <= layout.height
    for one, other in itertools.combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


@pytest.mark.parametrize("n", [1, 3, 5, 8, 12])
@pytest.mark.parametrize("two", [False, True])
def test_titles_of_maps_do_not_run_into_one_another(make_view, n, two):
    """However short the sentence: a title may be wider than its map."""
    first = ["word", "because", *["and"] * 12][:n]
    view = make_view(first, [first[0] + "s", *first[1:]]) if two else make_view(first)
    layout = lay_out(view)
    lines: dict[float, list[tuple[float, float]]] = {}
    for one in layout.maps:
        lines.setdefault(one.y, []).append((one.x, one.x + len(one.title) * SIZE * 0.6 / CELL))
    for titles in lines.values():
        ends = sorted(titles)
        assert all(end < start for (_, end), (start, _) in itertools.pairwise(ends))
        assert ends[-1][1] <= layout.width


def test_maps_are_named_as_the_field_names_heads(make_view):
    assert map_names(make_view(["a"], layers=2, heads=2), 1) == ["mean of block 2", "L1H0", "L1H1"]


# -- words -----------------------------------------------------------------------------------------------------------


def test_an_svg_stands_alone(make_view):
    svg = attention_svg(make_view(*PAIR))
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{NS}svg"
    assert {element.tag.removeprefix(NS) for element in root.iter()} <= {
        "svg", "title", "desc", "style", "rect", "text", "g", "path",
    }  # fmt: skip
    assert svg.replace("http://www.w3.org/2000/svg", "").count("http") == 0
    assert "url(" not in svg and "@import" not in svg
    assert attention_svg(make_view(*PAIR)) == svg, "the same view is the same file"


def test_hostile_words_are_words_in_an_svg(make_view, hostile):
    svg = attention_svg(make_view(hostile))
    titles = {title(rect) for _, _, rect in cells(svg)}
    last = len(hostile) - 1
    for place, word in enumerate(hostile):
        assert f"{hostile[last]} ({last}) → {word} ({place}) {1 / len(hostile):.2f}" in titles
    assert "<script" not in svg and "</script" not in svg and "<eos" not in svg


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), min_size=1).filter(
            lambda word: "\ufffe" not in word and "\uffff" not in word
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_word_a_task_may_hold_gives_a_picture_that_xml_can_read(make_view, tokens):
    ElementTree.fromstring(attention_svg(make_view(tokens, layers=1, heads=1)))


def png_size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


@pytest.mark.parametrize("changed", [("$\\q$", "$$"), ("w" * 200, "😀")])
def test_hostile_words_are_words_in_print(make_view, hostile, changed):
    first, second = [*hostile, changed[0]], [*hostile, changed[1]]
    view = make_view(first, second, layers=1, heads=1, title=" ".join(first))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a missing glyph is no news for the user
        width, height = png_size(attention_print(view, dpi=40))
    assert width > 100 and height > 100
    assert width < 2000, "a long word does not stretch the picture"


def test_print_leaves_plotting_defaults_alone_and_knows_pdf(make_view):
    import matplotlib

    before = dict(matplotlib.rcParams)
    assert attention_print(make_view(["a", "b"], layers=1, heads=1), kind="pdf").startswith(b"%PDF")
    assert dict(matplotlib.rcParams) == before


def test_print_draws_a_heavier_weight_darker(make_view):
    """The head looks at the first word alone: that column is blue, the second stays pale."""
    from io import BytesIO

    from matplotlib.image import imread

    view = make_view(["a", "b"], layers=1, heads=1)
    weights = np.array([[[[1, 0], [1, 0]]]], dtype=np.float32)
    object.__setattr__(view.sentences[0], "weights", weights)
    object.__setattr__(view.sentences[0], "block_means", weights.mean(axis=1))
    image = imread(BytesIO(attention_print(view, dpi=200)))
    layout = lay_out(view)
    one = layout.maps[0]

    def brightness(key: int) -> float:
        x = int(((one.x + key + 0.5) * CELL + MARGIN) / (layout.width * CELL + 2 * MARGIN) * image.shape[1])
        y = int(((one.y + 1.5) * CELL + MARGIN) / (layout.height * CELL + 2 * MARGIN) * image.shape[0])
        return float(image[y - 3 : y + 3, x - 3 : x + 3, :3].mean())

    assert brightness(0) < brightness(1) - 0.3
