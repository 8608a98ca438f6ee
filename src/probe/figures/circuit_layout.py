"""A circuit as numbers, and where its parts stand: words along the bottom, layers upwards."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probe.figures.drawing import Number

EMBEDDING, LOGITS = "embedding", "logits"
COLUMN, NODE, ROW = 30.0, 46.0, 74.0
"""Least width of a position, width of a node, distance of rows."""
TALL = 20.0
"""Height of a node."""
MOST = 60
"""Edges that are drawn, and parts: the strongest."""
CROWD = 24
"""Up to so many positions are all drawn; of more only those where something happens."""
Point = tuple[Number, Number]
Curve = tuple[Point, Point, Point, Point]
"""Start, two handles, end: a Bézier curve."""


@dataclass(frozen=True, kw_only=True)
class CircuitNode:
    """A part of the model at a position, and its own effect there."""

    name: str
    """`L0H2` or `MLP0`."""
    position: int
    value: Number
    low: Number | None = None
    high: Number | None = None


@dataclass(frozen=True, kw_only=True)
class CircuitEdge:
    """What one part hears of another, through a port."""

    sender: str
    receiver: str
    port: str
    """`q`, `k`, `v`, `mlp` or `logits`."""
    value: Number
    low: Number | None = None
    high: Number | None = None

    @property
    def key(self) -> str:
        """The name of an edge in the drawing, as `MLP0>L1H3.v`."""
        return f"{self.sender}>{self.receiver}" + (f".{self.port}" if self.port in ("q", "k", "v") else "")


@dataclass(frozen=True, kw_only=True)
class Circuit:
    """Everything that was measured; what is too weak is left out in drawing."""

    title: str
    words: tuple[str, ...]
    """By position: what stands there, or its role."""
    changed: tuple[int, ...] = ()
    """Positions whose word differs between the two sentences."""
    nodes: tuple[CircuitNode, ...]
    edges: tuple[CircuitEdge, ...]
    threshold: Number = 0.1
    """Effects smaller than this, either way, are not drawn."""
    unit: str = "share of the logit difference"


def homes_of(circuit: Circuit, edges: Sequence[CircuitEdge]) -> dict[str, int]:
    """The position of every part that an edge or a strong effect names: where its effect is largest."""
    last = len(circuit.words) - 1
    named = {name for edge in edges for name in (edge.sender, edge.receiver)} - {EMBEDDING, LOGITS}
    strong = sorted(circuit.nodes, key=lambda node: -abs(node.value))
    named |= {node.name for node in strong[:MOST] if abs(node.value) >= circuit.threshold}
    homes = {}
    for name in sorted(named, key=order_of):
        own = [node for node in circuit.nodes if node.name == name]
        homes[name] = max(own, key=lambda node: abs(node.value)).position if own else last
    if edges:
        homes[LOGITS] = last
    return homes


def order_of(name: str) -> tuple[int, int, int]:
    """Sorts parts as the stream passes them: by layer, heads before the MLP."""
    numbers = [int(n) for n in re.findall(r"\d+", name)]
    if name.startswith("MLP") and numbers:
        return numbers[0], 1, 0
    return (numbers[0], 0, numbers[1]) if len(numbers) == 2 else (10**6, 2, 0)


def positions_of(circuit: Circuit, homes: Mapping[str, int], others: Sequence[CircuitNode]) -> list[int]:
    """The positions that are drawn."""
    everything = range(len(circuit.words))
    if len(everything) <= CROWD:
        return list(everything)
    kept = {*circuit.changed, *homes.values(), *(n.position for n in others), len(everything) - 1}
    return sorted(position for position in kept if position in everything)


def placed(
    circuit: Circuit, homes: Mapping[str, int], others: Sequence[CircuitNode], positions: Sequence[int]
) -> tuple[dict[tuple[str, int], Point], dict[int, Number], Number, Number]:
    """Centres of all nodes, centre of each column, width, and the y of the words."""
    places = [(name, position) for name, position in homes.items()] + [(n.name, n.position) for n in others]
    levels = sorted({order_of(name)[:2] for name, _ in places})
    crowd: dict[tuple[int, tuple[int, int]], list[str]] = {}
    for name, position in sorted(places, key=lambda place: order_of(place[0])):
        crowd.setdefault((position, order_of(name)[:2]), []).append(name)
    columns: dict[int, Number] = {}
    x = 46.0
    for position in positions:
        most = max((len(names) for (at, _), names in crowd.items() if at == position), default=0)
        room = max(COLUMN, most * (NODE + 8) + 6)
        columns[position] = x + room / 2
        x += room
    top = 44.0
    bottom = top + len(levels) * ROW + 4
    boxes = {}
    for (position, level), names in crowd.items():
        y = bottom - (levels.index(level) + 1) * ROW
        for i, name in enumerate(names):
            boxes[name, position] = (columns[position] + (i - (len(names) - 1) / 2) * (NODE + 8), y)
    return boxes, columns, x + 6, bottom


def ends_of(
    edge: CircuitEdge,
    circuit: Circuit,
    homes: Mapping[str, int],
    boxes: Mapping[tuple[str, int], Point],
    columns: Mapping[int, Number],
    bottom: Number,
) -> list[tuple[Point, Point]]:
    """Where an edge begins and ends; one from the words begins at every word that differs."""
    x, y = boxes[edge.receiver, homes[edge.receiver]]
    end = (x + {"q": -14.0, "v": 14.0}.get(edge.port, 0.0), y + TALL / 2)
    if edge.sender == EMBEDDING:
        starts = [columns[p] for p in circuit.changed if p in columns] or [x]
        return [((start, bottom - 8), end) for start in starts]
    x, y = boxes[edge.sender, homes[edge.sender]]
    return [((x, y - TALL / 2), end)]


def curve_of(start: Point, end: Point) -> Curve:
    """A Bézier curve that leaves and arrives upright, and bows out where it would run through the nodes between."""
    (x0, y0), (x1, y1) = start, end
    rise = y0 - y1
    bow = 0.0 if rise < ROW * 1.2 or abs(x1 - x0) > NODE else 44.0 + 8 * rise / ROW
    return start, (x0 + bow, y0 - rise * 0.45), (x1 + bow, y1 + rise * 0.45), end


def point_on(curve: Curve, t: Number) -> Point:
    """A point of a Bézier curve."""
    weights = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
    return (
        sum(w * p[0] for w, p in zip(weights, curve, strict=True)),
        sum(w * p[1] for w, p in zip(weights, curve, strict=True)),
    )
