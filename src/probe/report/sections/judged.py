"""How good the circuit is: faithfulness as a range beside random circuits, its size, its holes and idle edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from probe.report.document import Number, Part, Section, Table
from probe.report.material import Material
from probe.report.sections.drawn import drawn
from probe.report.sentences import effect, faithful, holes, signed, smallest


def judged(material: Material) -> Section | None:
    """Drawn for the first contrast whose circuit was judged; of the others, what is said of them."""
    parts: list[Part | None] = []
    says: list[str] = []
    for contrast, result in material.named("evidence-").items():
        name = str(result.details.get("contrast", contrast))
        size, edges = len(result.details.get("circuit", ())), int(result.details.get("edges", 0))
        rows = [row for row in material.rows(f"evidence-{contrast}") if row["metric"] == "faithfulness"]
        sizes, subsets = material.rows(f"sizes-{contrast}"), material.rows(f"subsets-{contrast}")
        if not parts:
            title = f"How faithful the circuit of the {name} is"
            said = faithful(size, edges, rows)
            parts.append(drawn(material, "evidence", title, said, keep=_asked_everywhere, only=f"evidence-{contrast}"))
            if sizes:
                title = f"How small the circuit of the {name} can be"
                figure = drawn(material, "sizes", title, smallest(sizes), only=f"sizes-{contrast}")
                parts.append(figure and replace(figure, panels=figure.panels[-1:]))  # on the logarithmic axis
        else:
            says.append(f"The {name}: {faithful(size, edges, rows)} {smallest(sizes) if sizes else ''}".strip())
        if subsets:
            parts.append(_subsets(contrast, name, subsets))
    made = tuple(part for part in parts if part is not None)
    return Section(name="judged", title="How good is this circuit", says=tuple(says), parts=made) if made else None


def _asked_everywhere(row: dict[str, Any]) -> bool:
    """The rows that are drawn; the sentence over them counts those by role too."""
    return row["metric"] == "faithfulness" and row["value"] is not None and row["positions"] == "all"


def _subsets(contrast: str, name: str, rows: list[dict[str, Any]]) -> Table:
    return Table(
        name=f"subsets-{contrast}",
        title=f"Holes and idle edges in the circuit of the {name}",
        says=holes(rows),
        columns=("what", "edges", "how many", "value"),
        rows=tuple(
            (
                row["metric"],
                row["subset"],
                Number(value=row["edges"], text=f"{row['edges']:.0f}"),
                Number(value=row["value"], text=signed(row["value"]) if row.get("low") is None else effect(row)),
            )
            for row in rows
        ),
        note="Completeness: how differently the circuit and the whole model take the loss of the same edges (0: "
        "alike). "
        "Minimality: the most that this edge changes in any part of the circuit that was tried.",
        folded=True,
    )
