"""The map in a terminal: fits, names positions, and says the same without colour and in plain characters."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from probe.report.terminal import print_attention

SENTENCE = "the animal did not cross the street because it was too tired , so the animal waited .".split()


def shown(view, *, width: int = 80, colour: bool = True, ascii_only: bool = False) -> list[str]:
    """What is printed, line by line, styles removed."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=colour,
        color_system="truecolor" if colour else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        _environ={},
    )
    print_attention(console, view, ascii_only=ascii_only)
    from rich.text import Text

    return [Text.from_ansi(line).plain.rstrip() for line in stream.getvalue().splitlines()]


def test_eight_maps_of_18_by_18_fit_80_columns_and_22_lines(make_view):
    lines = shown(make_view(SENTENCE, layers=2, heads=4))
    assert all(cell_len(line) <= 80 for line in lines)
    first = next(i for i, line in enumerate(lines) if "L0H0" in line)
    last = next(i for i, line in enumerate(lines) if line.startswith("block 1"))
    maps = lines[first:last]
    assert len(maps) <= 22
    assert [name for line in maps for name in line.split() if name.startswith("L")] == [
        f"L{layer}H{head}" for layer in range(2) for head in range(4)
    ]
    assert sum(line.count("▀") for line in maps) == 8 * 18 * 9, "18 columns and 9 half-block lines for each head"


def test_every_pixel_is_as_bright_as_its_weight(make_view):
    """One head that looks at itself alone: the diagonal is bright, below it dark, above it hidden."""
    view = make_view(["a", "b"], layers=1, heads=1)
    identity = np.eye(2, dtype=np.float32)[None, None]
    object.__setattr__(view.sentences[0], "weights", identity)
    object.__setattr__(view.sentences[0], "block_means", identity.mean(axis=1))
    stream = io.StringIO()
    print_attention(Console(file=stream, width=80, force_terminal=True, color_system="truecolor", _environ={}), view)
    line = next(line for line in stream.getvalue().splitlines() if "▀" in line)
    assert line.count("▀") == 2
    bright, dark, hidden = "88;166;255", "22;27;34", "8;10;13"
    # first column: row 0 above (bright, a looks at a), row 1 below (dark); second: hidden above, bright below
    assert line.index(f"38;2;{bright};48;2;{dark}m") < line.index(f"38;2;{hidden};48;2;{bright}m")


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_no_line_is_wider_than_the_terminal(make_view, width, colour, ascii_only):
    other = [*SENTENCE[:11], "wet", *SENTENCE[12:]]
    lines = shown(make_view(SENTENCE, other), width=width, colour=colour, ascii_only=ascii_only)
    assert max(map(cell_len, lines)) <= width


@pytest.mark.parametrize("width", [80, 120])
def test_plain_characters_are_plain(make_view, width):
    lines = shown(make_view(SENTENCE), width=width, ascii_only=True)
    assert all(line.isascii() for line in lines)


def test_without_colour_nothing_is_drawn_and_nothing_is_escaped(make_view):
    stream = io.StringIO()
    print_attention(Console(file=stream, width=80, color_system=None, _environ={}), make_view(SENTENCE))
    assert "\x1b" not in stream.getvalue()
    assert "▀" not in stream.getvalue()


GOLDEN = """\
a b c
says after position 2 (c):  a 75.0%  c 25.0%   right
logits:  a 2.00  c -1.00
block 1  a@0:0.25 b@1:0.25 c@2:0.50
  L0H0           c@2 ##    0.50          a@0 #     0.25          b@1 #     0.25
"""


@pytest.mark.parametrize("width", [80, 120])
def test_what_is_read_out_in_plain_characters(make_view, width):
    view = make_view(["a", "b", "c"], layers=1, heads=1)
    weights = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]], dtype=np.float32)[None, None]
    object.__setattr__(view.sentences[0], "weights", weights)
    object.__setattr__(view.sentences[0], "block_means", weights.mean(axis=1))
    assert shown(view, width=width, colour=False, ascii_only=True) == GOLDEN.splitlines()
    blocks = shown(view, width=width, colour=False)
    assert blocks[4] == "  L0H0           c@2 ██▌   0.50          a@0 █▎    0.25          b@1 █▎    0.25"
    assert [line for i, line in enumerate(blocks[:5]) if i != 4] == GOLDEN.splitlines()[:4]


def test_positions_stand_beside_words_because_words_repeat(make_view):
    view = make_view(["the", "the", "the"], layers=1, heads=1)
    line = next(line for line in shown(view, colour=False) if "L0H0" in line)
    assert all(f"the@{place}" in line for place in range(3))


def test_a_wrong_answer_is_called_wrong(make_view):
    view = make_view(["a", "b"], layers=1, heads=1)
    object.__setattr__(view.sentences[0], "answer", "b")
    assert any("wrong, it is b" in line for line in shown(view, colour=False))


def test_long_sentences_are_not_drawn(make_view):
    lines = shown(make_view(["w"] * 65, layers=1, heads=1), width=200)
    assert not any("▀" in line for line in lines)
    lines = shown(make_view(["w"] * 41, layers=1, heads=1), width=40)
    assert not any("▀" in line for line in lines)


@pytest.mark.parametrize("colour", [True, False])
def test_hostile_words_are_words_in_a_terminal(make_view, hostile, colour):
    text = "\n".join(shown(make_view(hostile, [*hostile[:-1], "[bold]"], layers=1, heads=1), width=400, colour=colour))
    for word in (*hostile, "[bold]"):
        assert word in text


def test_means_alone_print_no_head(make_view):
    view = make_view(SENTENCE)
    object.__setattr__(view, "heads", ())
    for sentence in view.sentences:
        object.__setattr__(sentence, "weights", sentence.weights[:, :0])
    text = "\n".join(shown(view))
    assert "L0H0" not in text
    assert "mean of block 1" in text
