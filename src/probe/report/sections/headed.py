"""Which heads are what: scores on random repeated sequences beside floor and control, and what could compose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from probe.report.document import Number, Part, Section, Table
from probe.report.material import Material
from probe.report.sections.drawn import drawn
from probe.report.sentences import composed, named_heads, roles_said


def headed(material: Material) -> Section | None:
    """Heat map and table of head scores, where heads look by role, composition of the weights."""
    rows = material.rows("heads")
    if not rows:
        return None
    parts: list[Part | None] = [
        drawn(
            material,
            "heads",
            "What each head does on random repeated words",
            named_heads(rows),
            keep=lambda row: row["metric"] not in ("entropy", "effective tokens"),  # no shares; the table has them
        ),
        Table(
            name="head-table",
            title="Scores, floors and controls",
            says="A head has a name only where its score is 0.50 or more and stands above its control.",
            columns=("head", "score", "value [95 %]", "floor", "control", "name"),
            rows=tuple(_score(row) for row in rows),
            folded=True,
        ),
    ]
    looked = [row for row in material.rows("head-roles") if row["condition"] == "trained"]
    if looked:
        seen = {row["role"] for row in looked if row["value"] >= 0.05}
        title = "Where each head looks from the answer's place"
        by_role = drawn(material, "roles", title, roles_said(looked), keep=lambda row: _shown(row, seen))
        parts += [replace(by_role, note=f"{by_role.note} Places that never get 0.05 are left out.")] if by_role else []
    composition = sorted(material.rows("composition"), key=lambda row: -row["value"])
    if composition:
        parts.append(
            Table(
                name="composition",
                title="What could compose with what, in the weights",
                says=composed(composition),
                columns=("earlier head", "later head", "through", "score", "chance"),
                rows=tuple(_composition(row) for row in composition[:12]),
                note=f"The {min(12, len(composition))} largest of {len(composition)}. "
                f"{material.results['composition'].convention}.",
                folded=True,
            )
        )
    made = tuple(part for part in parts if part is not None)
    return Section(name="heads", title="Which heads are what", parts=made)


def _shown(row: dict[str, Any], roles: set[str]) -> bool:
    return row["condition"] == "trained" and row["role"] in roles


def _score(row: dict[str, Any]) -> tuple[str | Number, ...]:
    low, high = row.get("low"), row.get("high")
    text = f"{row['value']:.2f}" + ("" if low is None or high is None else f" [{low:.2f}, {high:.2f}]")
    beside = (Number(value=row[key], text=f"{row[key]:.2f}") for key in ("floor", "control"))
    return (
        f"L{row['layer']}H{row['head']}",
        row["metric"],
        Number(value=row["value"], text=text),
        *beside,
        row["name"] or "–",
    )


def _composition(row: dict[str, Any]) -> tuple[str | Number, ...]:
    numbers = (Number(value=row[key], text=f"{row[key]:.3f}") for key in ("value", "control"))
    return (row["sender"], row["receiver"], row["metric"], *numbers)
