"""The model as a stack, from the words up to the logits, with the parameters of each part beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from probe.figures.drawing import Drawing, Label, Mark, Shape, box, short, width_of
from probe.figures.svg import Style, to_svg

WIDE, TALL, GAP = 264.0, 24.0, 12.0
STREAM = 20.0
"""Where the residual stream runs, left of the parts."""


@dataclass(frozen=True, kw_only=True)
class Stack:
    """What is drawn."""

    title: str
    blocks: int
    heads: tuple[str, ...]
    """What joins positions in a block, box by box: `head 0`, …; or one name for a mean."""
    mlp: str
    """The MLP's name, empty where there is none."""
    counts: Sequence[tuple[str, int]]
    """Parts with their parameters, from the words up, named as in `attention of block 1`."""
    added: bool = True
    """Whether blocks add to the stream or replace it."""


def stack_svg(stack: Stack, style: Style = "auto") -> str:
    """The stack as an SVG of its own."""
    return to_svg(draw_stack(stack), style)


def draw_stack(stack: Stack) -> Drawing:
    """Lay out the parts from the bottom up; an arrow is the stream that passes them."""
    counts = dict(stack.counts)
    levels: list[tuple[tuple[str, ...], int]] = [(("words → embedding",), _of(counts, "embedding", "positions"))]
    for block in range(1, stack.blocks + 1):
        levels.append((stack.heads, _of(counts, f"attention of block {block}")))
        if stack.mlp:
            levels.append(((stack.mlp,), _of(counts, f"MLP of block {block}")))
    levels.append((("unembedding → logits",), _of(counts, "unembedding")))
    shown = sum(count for _, count in levels)
    rest = sum(counts.values()) - shown
    bottom = 34.0 + len(levels) * (TALL + GAP)
    marks: list[Mark] = [
        Label(x=0.0, y=13.0, text=short(stack.title, 80), size=12.0, bold=True, prose=True),
        Shape(points=((STREAM, bottom), (STREAM, 30.0)), stroke="more", width=2.5),
        Shape(points=((STREAM - 4, 34.0), (STREAM, 25.0), (STREAM + 4, 34.0)), fill="more", closed=True),
    ]
    x = STREAM + 22.0
    for row, (names, count) in enumerate(levels):
        y = bottom - (row + 1) * (TALL + GAP) + GAP
        inner = 0 < row < len(levels) - 1
        marks.append(Shape(points=((STREAM, y + TALL / 2), (x, y + TALL / 2)), stroke="more", width=1.5))
        wide = (WIDE - 4.0 * (len(names) - 1)) / len(names)
        for i, name in enumerate(names):
            left = x + i * (wide + 4.0)
            marks.append(box(left, y, wide, TALL, fill="more" if inner else "line", opacity=0.14))
            marks.append(box(left, y, wide, TALL, stroke="line", line=0.8))
            said = short(name, int(wide / 6.8))
            marks.append(Label(x=left + wide / 2, y=y + TALL / 2 + 4.0, text=said, anchor="middle"))
        marks.append(Label(x=x + WIDE + 10.0, y=y + TALL / 2 + 4.0, text=f"{count:,}", ink="quiet"))
    how = "parts add to the stream" if stack.added else "parts replace the stream"
    said = f"{how}; numbers: parameters" + (f"; {rest:,} more in norms" if rest else "")
    marks.append(Label(x=0.0, y=bottom + 18.0, text=said, ink="quiet", prose=True))
    return Drawing(
        title=stack.title,
        width=max(x + WIDE + 70.0, width_of(said)),
        height=bottom + 24.0,
        marks=tuple(marks),
        description=f"{stack.blocks} blocks; " + ", ".join(f"{name}: {count:,}" for name, count in stack.counts),
    )


def _of(counts: dict[str, int], *names: str) -> int:
    return sum(counts.get(name, 0) for name in names)
