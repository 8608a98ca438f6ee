"""One small map: its cells are the values, it stands alone, and a page finds its way in it."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from pictures import HOSTILE
from probe.figures.attention_map import LEVELS, AttentionMap, attention_map_svg

SVG = "{http://www.w3.org/2000/svg}"


def one(values: np.ndarray, tokens: tuple[str, ...] | None = None, **more: object) -> AttentionMap:
    names = tokens or tuple(f"w{i}" for i in range(len(values)))
    return AttentionMap(title="L0H0", tokens=names, values=values, key="s0.L0H0", query=len(values) - 1, **more)  # pyright: ignore


def cells(svg: str) -> dict[tuple[int, int], float]:
    """Query and key of every drawn cell, with its opacity; negative in the hue of `less`."""
    found = {}
    for path in ElementTree.fromstring(svg).find(f".//{SVG}g[@data-map]"):  # pyright: ignore[reportOptionalIterable]
        sign = -1 if path.get("class") == "l-less" else 1
        for start, row, width in re.findall(r"M(\d+) (\d+)h(\d+)", path.attrib["d"]):
            for key in range(int(start), int(start) + int(width)):
                found[int(row), key] = sign * float(path.attrib["opacity"])
    return found


def test_every_cell_is_as_opaque_as_its_value() -> None:
    values = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0.0, 0.25, 0.75]])
    drawn = cells(attention_map_svg(one(values)))
    assert set(drawn) == {(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)}
    for (query, key), opacity in drawn.items():
        assert opacity == pytest.approx(values[query, key], abs=1 / LEVELS)


def test_a_difference_has_two_hues() -> None:
    drawn = cells(attention_map_svg(one(np.array([[0.0, 0.0], [-0.5, 0.5]]), signed=True)))
    assert drawn == {(1, 0): -0.5, (1, 1): 0.5}


@pytest.mark.parametrize("words", [True, False])
def test_it_stands_alone(words: bool) -> None:
    svg = attention_map_svg(one(np.eye(4), words=words, changed=(1,)))
    ruled = set(re.findall(r"\.probe-figure \.([fl]-\w+)\{", svg))
    used = {name for names in re.findall(r'class="([^"]+)"', svg) for name in names.split() if name[:2] in ("f-", "l-")}
    assert used <= ruled, "every colour that is used has a rule in the file itself"


def test_hostile_words_are_words() -> None:
    tokens = tuple(HOSTILE[:20])
    said = "".join(ElementTree.fromstring(attention_map_svg(one(np.eye(20), tokens))).itertext())
    for word in tokens:
        assert word[:9] in said


def test_many_words_are_pixels_whose_alpha_is_the_value() -> None:
    values = np.tril(np.full((60, 60), 0.5))
    image = ElementTree.fromstring(attention_map_svg(one(values))).find(f".//{SVG}image[@data-map]")
    assert image is not None
    assert image.get("data-rows") == "60"
    data = base64.b64decode(image.attrib["href"].split(",")[1])
    assert data.startswith(b"\x89PNG") and b"tRNS" in data
