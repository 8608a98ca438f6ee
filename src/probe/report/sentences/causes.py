"""What causes the answer: edges, parts, and heads that look without causing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probe.report.sentences.words import CLEAR, Row, counted, effect, listed


def strongest_edges(contrast: str, edges: Sequence[Row]) -> str:
    """Which edges carry a contrast."""
    strong = sorted((e for e in edges if abs(e["value"]) >= CLEAR), key=lambda e: -abs(e["value"]))
    if not strong:
        return f"No single edge carries as much as {CLEAR:.0%} of the {contrast}."
    first = strong[0]
    return (
        f"{counted(len(strong), 'edge')} of {len(edges)} carry {CLEAR:.0%} or more of the {contrast} by themselves; "
        f"the strongest, {first['sender']} → {arrival(first)}, {effect(first)}."
    )


def arrival(edge: Row) -> str:
    """The receiving end of an edge, with its port."""
    port = {"q": "queries", "k": "keys", "v": "values"}.get(edge["port"])
    return f"{edge['receiver']} ({port})" if port else str(edge["receiver"])


def loudest_places(nodes: Sequence[Row]) -> str:
    """Which parts at which places lose the most."""
    noising = sorted((r for r in nodes if r["metric"] == "noising"), key=lambda r: -abs(r["value"]))
    strong = [row for row in noising if abs(row["value"]) >= CLEAR]
    if not strong:
        return f"No part at any one place carries as much as {CLEAR:.0%}."
    said = listed(f"{row['node']} at {row['role']} ({row['value']:+.2f})" for row in strong[:3])
    places = sorted({row["position"] for row in strong})
    return (
        f"{counted(len(strong), 'part')} of {len(noising)} carry {CLEAR:.0%} or more, at "
        f"position{'s' if len(places) > 1 else ''} {listed(map(str, places))}; the most: {said}."
    )


def silent_lookers(looked: Mapping[str, float], caused: Mapping[str, float]) -> str:
    """Heads that look hard at one word from the answer's place, and cause nothing there: a map is no mechanism."""
    idle = [head for head, weight in looked.items() if weight >= 0.5 and abs(caused.get(head, 0.0)) < CLEAR]
    busy = [head for head, weight in looked.items() if weight >= 0.5 and abs(caused.get(head, 0.0)) >= CLEAR]
    if not idle and not busy:
        return "No head puts half of its attention on one word at the answer's place."
    if not idle:
        return (
            f"Every head that puts half of its attention on one word there ({listed(busy)}) also causes something "
            "there."
        )
    said = (
        f"{listed(idle)} put{'s' if len(idle) == 1 else ''} half of their attention or more on one word at the "
        "answer's place "
    )
    said += f"and {'causes' if len(idle) == 1 else 'cause'} nothing there (below {CLEAR:.0%})"
    return said + (f"; {listed(busy)} do both." if busy else ".")
