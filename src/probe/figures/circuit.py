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

from collections.abc import Mapping, Sequence

from probe.figures.circuit_layout import (
    COLUMN,
    EMBEDDING,
    LOGITS,
    MOST,
    NODE,
    ROW,
    TALL,
    Circuit,
    CircuitEdge,
    CircuitNode,
    Curve,
    Point,
    curve_of,
    ends_of,
    homes_of,
    order_of,
    placed,
    point_on,
    positions_of,
)
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

__all__ = ["Circuit", "CircuitEdge", "CircuitNode", "circuit_svg", "draw_circuit"]

THICK = 9.0
"""Width of an edge of effect 1."""


def circuit_svg(circuit: Circuit, style: Style = "auto") -> str:
    """A circuit as an SVG of its own."""
    return to_svg(draw_circuit(circuit), style)


def draw_circuit(circuit: Circuit) -> Drawing:
    """Lay out a circuit; one without a single strong edge says so."""
    edges = sorted((e for e in circuit.edges if abs(e.value) >= circuit.threshold), key=lambda e: abs(e.value))[-MOST:]
    homes = homes_of(circuit, edges)
    others = [n for n in circuit.nodes if abs(n.value) >= circuit.threshold and homes.get(n.name, -1) != n.position]
    others = sorted((n for n in others if n.name in homes), key=lambda n: -abs(n.value))[:MOST]
    positions = positions_of(circuit, homes, others)
    boxes, columns, width, bottom = placed(circuit, homes, others, positions)
    values = {(n.name, n.position): n for n in circuit.nodes}
    marks: list[Mark] = [Label(x=0, y=13, text=short(circuit.title, 110), size=12, bold=True, prose=True)]
    marks += _ground(circuit, columns, boxes, width, bottom)
    taken: list[tuple[Number, Number, Number, Number]] = [
        (x - NODE / 2, y - TALL / 2, x + NODE / 2, y + TALL / 2) for x, y in boxes.values()
    ]
    labels: list[Mark] = []
    for edge in edges:
        curves = [curve_of(a, b) for a, b in ends_of(edge, circuit, homes, boxes, columns, bottom)]
        marks += [_edge(edge, curve, len(curves)) for curve in curves]
    for edge in reversed(edges):  # the strongest chooses its place first
        curves = [curve_of(a, b) for a, b in ends_of(edge, circuit, homes, boxes, columns, bottom)]
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
        layer, kind, _ = order_of(name)
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


def _edge(edge: CircuitEdge, curve: Curve, parts: int) -> Shape:
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


def _edge_label(edge: CircuitEdge, curve: Curve, taken: list[tuple[Number, Number, Number, Number]]) -> list[Mark]:
    """The effect, at the first place along the curve where nothing else stands; nowhere where there is none."""
    said = number(edge.value, signed=True).replace("0.", ".", 1)
    half = width_of(said, 10) / 2 + 4
    for t in (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74):
        x, y = point_on(curve, t)
        frame = (x - half, y - 6, x + half, y + 6)
        if not any(frame[0] < b[2] and b[0] < frame[2] and frame[1] < b[3] and b[1] < frame[3] for b in taken):
            taken.append(frame)
            return [Label(x=x, y=y + 3.5, text=said, size=10, anchor="middle", halo=True, data={"edge": edge.key})]
    return []


def _port_label(edge: CircuitEdge, curve: Curve) -> Mark:
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
