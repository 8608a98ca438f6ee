"""What can be read where, and whether it is used: linear probes with their controls, and interchange."""

from __future__ import annotations

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
        parts.append(drawn(material, "interchange", title, interchanged(swaps), keep=_swap_shown))
    made = tuple(part for part in parts if part is not None)
    return Section(name="present", title="What is present, and used", parts=made) if made else None


def _probe_shown(row: Row) -> bool:
    return row["condition"] == "trained" and row["metric"] in ("accuracy", "selectivity")


def _swap_shown(row: Row) -> bool:
    return row["metric"] == "interchange accuracy" and row["condition"] == "trained"
