"""The model drawn as a stack: every part once, with its parameters."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from probe.figures.model import Stack, stack_svg

COUNTS = [("embedding", 10), ("attention of block 1", 20), ("MLP of block 1", 30), ("last norm", 4), ("unembedding", 5)]


def words(stack: Stack) -> list[str]:
    root = ElementTree.fromstring(stack_svg(stack))
    return ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_every_part_stands_once_with_its_count() -> None:
    said = words(Stack(title="small", blocks=1, heads=("head 0", "head 1"), mlp="MLP", counts=COUNTS))
    for once in ("head 0", "head 1", "MLP", "10", "20", "30", "5", "words → embedding", "unembedding → logits"):
        assert said.count(once) == 1
    assert any("4 more in norms" in line for line in said)


def test_a_model_without_blocks_is_two_boxes() -> None:
    said = words(Stack(title="<none>", blocks=0, heads=(), mlp="", counts=COUNTS[:1], added=False))
    assert "<none>" in said
    assert any("replace" in line for line in said)
