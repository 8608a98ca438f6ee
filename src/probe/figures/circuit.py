"""The two-hop trace as a drawing: words along the bottom, layers upwards, edges as wide as their causal effect.

A node stands above the position where it has its largest effect, and once more, in grey, above every other position
where it has one. An edge runs from the part that is heard to the part that hears it, through the port that its letter
names (`q`, `k`, `v`); blue where breaking it loses the answer, orange and dashed where breaking it helps. Edges below
the threshold are not drawn; the drawing says how many, and how strong the strongest of them is.

For a page's script: a node is a group of marks with `data-node` (`L1H2`, `MLP0`, `embedding`, `logits`),
`data-position`, `data-value`; an edge has `data-edge` (`sender>receiver.port`), `data-sender`, `data-receiver`,
`data-port`, `data-value`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probe.figures.drawing import (
    Drawing,
    Ink,
    Label,
    Mark,
    Number,
    Shape,
    box,
    interval,
    number,
    short,
    shown,
    width_of,
)
from probe.figures.svg import Style, to_svg

EMBEDDING, LOGITS = "embedding", "logits"
COLUMN, NODE, ROW = 30.0, 46.0, 74.0
"""Least width of a position, width of a node, distance of rows."""
TALL = 20.0
"""Height of a node."""
THICK = 9.0
"""Width of an edge of effect 1."""
MOST = 60
"""Edges that are drawn, and parts: the strongest."""
CROWD = 24
"""Up to so many positions are all drawn; of more only those where something happens."""
Point = tuple[Number, Number]


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


def circuit_svg(circuit: Circuit, style: Style = "auto") -> str:
    """A circuit as an SVG of its own."""
    return to_svg(draw_circuit(circuit), style)


def draw_circuit(circuit: Circuit) -> Drawing:
    """Lay out a circuit; one without a single strong edge says so."""
    edges = sorted((e for e in circuit.edges if abs(e.value) >= circuit.threshold), key=lambda e: abs(e.value))[-MOST:]
    homes = _homes(circuit, edges)
    others = [n for n in circuit.nodes if abs(n.value) >= circuit.threshold and homes.get(n.name, -1) != n.position]
    others = sorted((n for n in others if n.name in homes), key=lambda n: -abs(n.value))[:MOST]
    positions = _positions(circuit, homes, others)
    boxes, columns, width, bottom = _placed(circuit, homes, others, positions)
    values = {(n.name, n.position): n for n in circuit.nodes}
    marks: list[Mark] = [Label(x=0, y=13, text=short(circuit.title, 110), size=12, bold=True, prose=True)]
    marks += _ground(circuit, columns, boxes, width, bottom)
    taken: list[tuple[Number, Number, Number, Number]] = [
        (x - NODE / 2, y - TALL / 2, x + NODE / 2, y + TALL / 2) for x, y in boxes.values()
    ]
    labels: list[Mark] = []
    for edge in edges:
        curves = [_curve(a, b) for a, b in _ends(edge, circuit, homes, boxes, columns, bottom)]
        marks += [_edge(edge, curve, len(curves)) for curve in curves]
    for edge in reversed(edges):  # the strongest chooses its place first
        curves = [_curve(a, b) for a, b in _ends(edge, circuit, homes, boxes, columns, bottom)]
        labels += _edge_label(edge, curves[0], taken)
        labels += [_port_label(edge, curve) for curve in curves if edge.port in ("q", "k", "v")]
    for (name, position), (x, y) in boxes.items():
        marks += _node(name, position, x, y, values.get((name, position)), home=homes.get(name) == position)
    said = _said(circuit, edges)
    marks += labels
    y = bottom + 96
    for line in said:
        marks.append(Label(x=0, y=y, text=line, ink="quiet", prose=True))
        y += 15
    reach = max([width, width_of(short(circuit.title, 110), 12), *(width_of(line) for line in said)])
    strongest = ", ".join(f"{e.key} {number(e.value, signed=True)}" for e in reversed(edges[-12:]))
    return Drawing(
        title=circuit.title,
        width=reach,
        height=y - 10,
        marks=tuple(marks),
        description=f"{len(edges)} edges: {strongest}" if edges else "no edge is strong enough to be drawn",
    )


# -- where things stand -----------------------------------------------------------------------------------------------


def _homes(circuit: Circuit, edges: Sequence[CircuitEdge]) -> dict[str, int]:
    """The position of every part that an edge or a strong effect names: where its effect is largest."""
    last = len(circuit.words) - 1
    named = {name for edge in edges for name in (edge.sender, edge.receiver)} - {EMBEDDING, LOGITS}
    strong = sorted(circuit.nodes, key=lambda node: -abs(node.value))
    named |= {node.name for node in strong[:MOST] if abs(node.value) >= circuit.threshold}
    homes = {}
    for name in sorted(named, key=_order):
        own = [node for node in circuit.nodes if node.name == name]
        homes[name] = max(own, key=lambda node: abs(node.value)).position if own else last
    if edges:
        homes[LOGITS] = last
    return homes


def _order(name: str) -> tuple[int, int, int]:
    """Sorts parts as the stream passes them: by layer, heads before the MLP."""
    numbers = [int(n) for n in re.findall(r"\d+", name)]
    if name.startswith("MLP") and numbers:
        return numbers[0], 1, 0
    return (numbers[0], 0, numbers[1]) if len(numbers) == 2 else (10**6, 2, 0)


def _positions(circuit: Circuit, homes: Mapping[str, int], others: Sequence[CircuitNode]) -> list[int]:
    """The positions that are drawn."""
    everything = range(len(circuit.words))
    if len(everything) <= CROWD:
        return list(everything)
    kept = {*circuit.changed, *homes.values(), *(n.position for n in others), len(everything) - 1}
    return sorted(position for position in kept if position in everything)


def _placed(
    circuit: Circuit, homes: Mapping[str, int], others: Sequence[CircuitNode], positions: Sequence[int]
) -> tuple[dict[tuple[str, int], Point], dict[int, Number], Number, Number]:
    """Centres of all nodes, centre of each column, width, and the y of the words."""
    places = [(name, position) for name, position in homes.items()] + [(n.name, n.position) for n in others]
    levels = sorted({_order(name)[:2] for name, _ in places})
    crowd: dict[tuple[int, tuple[int, int]], list[str]] = {}
    for name, position in sorted(places, key=lambda place: _order(place[0])):
        crowd.setdefault((position, _order(name)[:2]), []).append(name)
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


def _ends(
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


def _curve(start: Point, end: Point) -> tuple[Point, Point, Point, Point]:
    """A Bézier curve that leaves and arrives upright, and bows out where it would run through the nodes between."""
    (x0, y0), (x1, y1) = start, end
    rise = y0 - y1
    bow = 0.0 if rise < ROW * 1.2 or abs(x1 - x0) > NODE else 44.0 + 8 * rise / ROW
    return start, (x0 + bow, y0 - rise * 0.45), (x1 + bow, y1 + rise * 0.45), end


def _on(curve: tuple[Point, Point, Point, Point], t: Number) -> Point:
    """A point of a Bézier curve."""
    weights = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
    return (
        sum(w * p[0] for w, p in zip(weights, curve, strict=True)),
        sum(w * p[1] for w, p in zip(weights, curve, strict=True)),
    )


# -- what they look like ----------------------------------------------------------------------------------------------


def _ground(
    circuit: Circuit,
    columns: Mapping[int, Number],
    boxes: Mapping[tuple[str, int], Point],
    width: Number,
    bottom: Number,
) -> list[Mark]:
    """Rows with the names of their layers, and the words with their positions."""
    marks: list[Mark] = []
    for y in sorted({y for (name, _), (_, y) in boxes.items() if name != LOGITS}):
        name = next(name for (name, _), (_, at) in boxes.items() if at == y and name != LOGITS)
        layer, kind, _ = _order(name)
        marks.append(box(0, y - ROW / 2 + 8, width, ROW - 16, fill="line", opacity=0.09))
        marks.append(Label(x=4, y=y + 4, text=f"MLP{layer}" if kind else f"layer {layer}", size=10, ink="quiet"))
    before = -1
    for position, x in columns.items():
        differs = position in circuit.changed
        if position != before + 1:
            marks.append(Label(x=x - COLUMN / 2, y=bottom + 18, text="…", ink="quiet", anchor="middle"))
        before = position
        tick = ((x, bottom - 6), (x, bottom))
        marks.append(Shape(points=tick, stroke="less" if differs else "line", width=2 if differs else 1))
        marks.append(Label(x=x, y=bottom + 11, text=str(position), size=9, ink="quiet", anchor="middle"))
        said = shown(circuit.words[position], 14)
        ink: Ink = "less" if differs else "text"
        data = {"node": EMBEDDING, "position": str(position)}
        place = {"x": x + 4, "y": bottom + 23, "anchor": "end", "angle": -45.0}
        marks.append(Label(text=said, ink=ink, bold=differs, data=data, **place))
    return marks


def _node(name: str, position: int, x: Number, y: Number, node: CircuitNode | None, home: bool) -> list[Mark]:
    """A box with its name; dark where the part has its largest effect, grey elsewhere."""
    data = {"node": name, "position": str(position)}
    told = name
    if node is not None:
        data["value"] = f"{node.value:.4g}"
        told = f"{name} at {position}: {interval(node.value, node.low, node.high, signed=True)}"
    frame = (x - NODE / 2, y - TALL / 2, NODE, TALL)
    marks: list[Mark] = [box(*frame, fill="paper", stroke="text" if home else "line", line=1.2, title=told, data=data)]
    if node is not None:
        ink = "less" if node.value < 0 else "more"
        marks.append(box(*frame, fill=ink, opacity=min(0.45, 0.45 * abs(node.value)), title=told, data=data))
    marks.append(Label(x=x, y=y + 4, text=short(name, 7), anchor="middle", bold=home, ink="text" if home else "quiet"))
    return marks


def _edge(edge: CircuitEdge, curve: tuple[Point, Point, Point, Point], parts: int) -> Shape:
    """As wide as its effect; one that begins at several words shares its width among them."""
    return Shape(
        points=curve,
        stroke="less" if edge.value < 0 else "more",
        width=max(1.0, min(1.5, abs(edge.value)) * THICK / parts),
        opacity=0.75,
        curved=True,
        dashed=edge.value < 0,
        title=f"{edge.key.replace('>', ' → ')}: {interval(edge.value, edge.low, edge.high, signed=True)}",
        data=_data(edge),
    )


def _data(edge: CircuitEdge) -> dict[str, str]:
    return {
        "edge": edge.key,
        "sender": edge.sender,
        "receiver": edge.receiver,
        "port": edge.port,
        "value": f"{edge.value:.4g}",
    }


def _edge_label(
    edge: CircuitEdge, curve: tuple[Point, Point, Point, Point], taken: list[tuple[Number, Number, Number, Number]]
) -> list[Mark]:
    """The effect, at the first place along the curve where nothing else stands; nowhere where there is none."""
    said = number(edge.value, signed=True).replace("0.", ".", 1)
    half = width_of(said, 10) / 2 + 4
    for t in (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74):
        x, y = _on(curve, t)
        frame = (x - half, y - 6, x + half, y + 6)
        if not any(frame[0] < b[2] and b[0] < frame[2] and frame[1] < b[3] and b[1] < frame[3] for b in taken):
            taken.append(frame)
            return [Label(x=x, y=y + 3.5, text=said, size=10, anchor="middle", halo=True, data={"edge": edge.key})]
    return []


def _port_label(edge: CircuitEdge, curve: tuple[Point, Point, Point, Point]) -> Mark:
    x, y = curve[3]
    return Label(x=x, y=y + 9, text=edge.port, size=9, anchor="middle", bold=True, halo=True, data={"edge": edge.key})


def _said(circuit: Circuit, edges: Sequence[CircuitEdge]) -> list[str]:
    """What the reader has to know: width, letters, and what was left out."""
    drawn = {edge.key for edge in edges}
    left_out = [abs(edge.value) for edge in circuit.edges if edge.key not in drawn]
    lines = [f"width: {circuit.unit} lost when this reader alone hears the other sentence's sender"]
    lines.append("q, k, v: by queries, keys, values; dashed orange: breaking it helps; orange word: what differs")
    if left_out:
        why = f"below {number(circuit.threshold)}" if len(edges) < MOST else f"beside the {MOST} strongest"
        lines.append(f"not drawn: {len(left_out)} edges {why}, the strongest of them {number(max(left_out))}")
    if not edges:
        lines.append("no edge is strong enough to be drawn")
    return lines
