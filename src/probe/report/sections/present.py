"""What can be read where, and whether it is used: linear probes with their controls, and interchange."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from probe.report.document import Part, Section
from probe.report.material import Material
from probe.report.sections.drawn import drawn
from probe.report.sentences import interchanged, readable

Row = dict[str, Any]


def present(material: Material) -> Section | None:
    """Probes on the stream, and the swaps that say whether what they read is used."""
    parts: list[Part | None] = []
    probes = [row for row in material.rows("probes") if (row.get("head") is None or row["head"] < 0)]
    if probes:
        parts.append(
            drawn(material, "probes", "What a linear probe reads, and where", readable(probes), keep=_probe_shown)
        )
    swaps = [row for row in material.rows("interchange") if row.get("dimension") is None]
    if swaps:
        title = "Where swapping a variable gives the answer that it should"
        seen = {row["role"] for row in swaps if _swap_shown(row) and row["value"] is not None and row["value"] >= 0.05}
        keep = lambda row: _swap_shown(row) and row["role"] in seen  # noqa: E731
        figure = drawn(material, "interchange", title, interchanged(swaps), keep=keep)
        parts.append(figure and replace(figure, note=f"{figure.note} Places where it never works are left out."))
    made = tuple(part for part in parts if part is not None)
    return Section(name="present", title="What is present, and used", parts=made) if made else None


def _probe_shown(row: Row) -> bool:
    return row["condition"] == "trained" and row["metric"] == "selectivity"


def _swap_shown(row: Row) -> bool:
    places = ("resid_pre", "resid_post")
    return row["metric"] == "interchange accuracy" and row["condition"] == "trained" and row["kind"] in places
