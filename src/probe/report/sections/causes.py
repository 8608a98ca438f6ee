"""What causes the answer: each contrast broken on purpose, as a circuit, by layer and port, and part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from probe.figures.circuit import Circuit, CircuitEdge, CircuitNode, circuit_svg
from probe.report.document import Cell, Figure, Number, Panel, Part, Section, Table
from probe.report.material import Material
from probe.report.sentences import arrival, effect, loudest_places, silent_lookers, strongest_edges

Row = dict[str, Any]
LISTED = 0.01
"""Weaker edges are in the tables of the run folder, not on the page."""
DIRECTIONS = {"noising": "noising: lost [95 %]", "denoising": "denoising: gained [95 %]"}
PORTS = {"q": "queries", "k": "keys", "v": "values", "mlp": "MLP", "all": "queries, keys and values"}


def causes(material: Material) -> Section | None:
    """A circuit, what each layer hears, and every part's effect, for each contrast that was traced."""
    parts: list[Part] = []
    says: list[str] = []
    for contrast, ways in material.named("trace-ways-").items():
        nodes, edges = material.rows(f"trace-nodes-{contrast}"), material.rows(f"trace-edges-{contrast}")
        if not nodes or not edges:
            continue
        name, pairs = ways.details["contrast"], ways.details["pairs"]
        if "strategy" in ways.details:
            says.append(f"The {name}, over {pairs} pairs: {ways.details['strategy']}.")
        if "checks" in ways.details:
            worst = max(ways.details["checks"].values())
            says.append(
                "Nulls of this trace: clean into clean changes nothing, everything from the other run gives the "
                "other answer; largest error "
                f"{worst:.1e}{'' if worst < 1e-3 else ': THEY DO NOT HOLD, so its effects are no evidence'}."
            )
        parts += _contrast(material, contrast, ways.details, nodes, edges, ways.table.to_dict("records"))
    if not parts:
        return None
    parts.insert(1, _lookers(material))
    return Section(name="causes", title="What causes the answer", says=tuple(says), parts=tuple(parts))


def _contrast(
    material: Material, contrast: str, details: Mapping[str, Any], nodes: list[Row], edges: list[Row], ways: list[Row]
) -> list[Part]:
    roles = {int(position): role for position, role in details["roles"].items()}
    words = _words(material, roles)
    drawn = Circuit(
        title=f"What carries the {details['contrast']}",
        words=words,
        changed=tuple(details["changed"]),
        nodes=tuple(
            CircuitNode(
                name=row["node"], position=row["position"], value=row["value"], low=row["low"], high=row["high"]
            )
            for row in nodes
            if row["metric"] == "noising"
        ),
        edges=tuple(
            CircuitEdge(**{key: row[key] for key in ("sender", "receiver", "port", "value", "low", "high")})
            for row in edges
        ),
    )
    convention = material.results[f"trace-edges-{contrast}"].convention
    return [
        Figure(
            name=f"circuit-{contrast}",
            title=f"What carries the {details['contrast']} to the answer",
            says=strongest_edges(str(details["contrast"]), edges),
            panels=(Panel(svg=circuit_svg(drawn)),),
            note=f"Maximum 1 (all of the answer), floor 0; n = {details['pairs']} pairs; {convention}. "
            "Where there is a script, an edge that is clicked shows both ends' maps and numbers.",
            role="circuit",
            edges={e.key: _facts(e, edges, nodes) for e in drawn.edges if abs(e.value) >= drawn.threshold},
        ),
        Table(
            name=f"ways-{contrast}",
            title=f"From whom each layer hears of the {details['contrast']}",
            says="Lost when a layer sees the other sentence's words, with what MLPs make of them in place, or what "
            "earlier heads moved.",
            columns=("layer", "reads by", "from", "lost [95 %]"),
            rows=tuple(
                (
                    Number(value=row["layer"], text=str(row["layer"])),
                    PORTS[row["port"]],
                    row["source"],
                    Number(value=row["value"], text=effect(row)),
                )
                for row in ways
                if row["layer"] > 0 or row["source"] == "words" or row["port"] == "mlp"
            ),
        ),
        Table(
            name=f"parts-{contrast}",
            title=f"Every part at every place: what it carries of the {details['contrast']}",
            says=loudest_places(nodes),
            columns=("part", "at", "position", *(DIRECTIONS[metric] for metric in _metrics(nodes))),
            rows=_places(nodes),
            note=f"Parts below {LISTED} are left out. Noising: taken from the other sentence there. "
            + (
                "Denoising: put into the other sentence. The two need not agree."
                if "denoising" in _metrics(nodes)
                else "Every pair counts both ways, so that denoising is the same number."
            ),
            folded=True,
        ),
        Table(
            name=f"edges-{contrast}",
            title=f"All edges of the {details['contrast']}",
            says="Lost when this reader alone sees the other sentence's sender.",
            columns=("sender", "reader", "lost [95 %]"),
            rows=tuple(
                (row["sender"], arrival(row), Number(value=row["value"], text=effect(row)))
                for row in sorted(edges, key=lambda row: -abs(row["value"]))
                if abs(row["value"]) >= LISTED
            ),
            note=f"{sum(abs(row['value']) < LISTED for row in edges)} edges below {LISTED} are left out.",
            folded=True,
        ),
    ]


def _words(material: Material, roles: Mapping[int, str]) -> tuple[str, ...]:
    """What stands at each position: the template's own word, or the role in braces."""
    template = getattr(material.dataset.spec.question, "template", ())
    fixed = {i: token for i, token in enumerate(template) if not token.startswith("{")}
    return tuple(fixed.get(i, roles[i]) for i in sorted(roles))


def _facts(edge: CircuitEdge, edges: Sequence[Row], nodes: Sequence[Row]) -> dict[str, Any]:
    """What a page shows of an edge that is chosen."""
    row = next(r for r in edges if (r["sender"], r["receiver"], r["port"]) == (edge.sender, edge.receiver, edge.port))
    says = [f"this reader alone hears the other sentence's sender: {effect(row)} lost"]
    for name in (edge.sender, edge.receiver):
        own = [r for r in nodes if r["node"] == name]
        if own:
            strongest = max((r for r in own if r["metric"] == "noising"), key=lambda r: abs(r["value"]))
            back = [r for r in own if r["metric"] == "denoising" and r["position"] == strongest["position"]]
            says.append(
                f"{name} at {strongest['role']} ({strongest['position']}), taken from the other sentence: "
                f"{effect(strongest)} lost"
                + "".join(f"; put into the other sentence: {effect(row)} gained" for row in back)
            )
    heads = [name for name in (edge.sender, edge.receiver) if name.startswith("L") and "H" in name]
    return {"title": f"{edge.sender} → {arrival(row)}", "says": says, "nodes": heads}


def _metrics(nodes: Sequence[Row]) -> list[str]:
    """Noising, and denoising where it was asked for."""
    return list(dict.fromkeys(row["metric"] for row in nodes))


def _places(nodes: Sequence[Row]) -> tuple[tuple[Cell, ...], ...]:
    """Parts and places with an effect in either direction, the strongest first."""
    both: dict[tuple[str, str, int], dict[str, Row]] = {}
    for row in nodes:
        both.setdefault((row["node"], row["role"], row["position"]), {})[row["metric"]] = row
    felt = {place: r for place, r in both.items() if max(abs(row["value"]) for row in r.values()) >= LISTED}
    order = sorted(felt.items(), key=lambda item: -abs(item[1]["noising"]["value"]))
    return tuple(
        (
            node,
            role,
            Number(value=position, text=str(position)),
            *(Number(value=rows[metric]["value"], text=effect(rows[metric])) for metric in _metrics(nodes)),
        )
        for (node, role, position), rows in order
    )


def _lookers(material: Material) -> Table:
    """Where heads look from the answer's place, beside what they cause there: a map is no mechanism."""
    view = material.view
    assert view is not None
    sentence = view.sentences[0]
    looked: dict[str, tuple[str, float]] = {}
    for i, layer in enumerate(view.layers):
        for j, head in enumerate(view.heads):
            row = sentence.weights[i, j, sentence.query]
            looked[f"L{layer}H{head}"] = (
                f"{sentence.tokens[int(row.argmax())]} ({int(row.argmax())})",
                float(row.max()),
            )
    caused: dict[str, Row] = {}
    for name in material.named("trace-nodes-"):
        for row in material.rows(f"trace-nodes-{name}"):
            at_end = row["position"] == sentence.query and row["metric"] == "noising" and row["node"] in looked
            if at_end and abs(row["value"]) > abs(caused.get(row["node"], {"value": 0.0})["value"]):
                caused[row["node"]] = row
    return Table(
        name="looks-and-causes",
        title="Where a head looks from the answer's place, and what it causes there",
        says=silent_lookers(
            {head: weight for head, (_, weight) in looked.items()}, {head: row["value"] for head, row in caused.items()}
        ),
        columns=("head", "looks most at", "with", "causes there, at most [95 %]"),
        rows=tuple(
            (
                head,
                word,
                Number(value=weight, text=f"{weight:.2f}"),
                Number(value=caused[head]["value"], text=effect(caused[head])) if head in caused else _nothing(),
            )
            for head, (word, weight) in looked.items()
        ),
        note=f"Looks: {' '.join(sentence.tokens)}. Causes: the larger of the traced contrasts, at position "
        f"{sentence.query}.",
    )


def _nothing() -> Number:
    return Number(value=0.0, text="0.00")
