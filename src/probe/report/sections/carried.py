"""Where the answer is carried: what each place of the stream holds of it, and who writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from probe.report.document import Figure, Part, Section
from probe.report.material import Material
from probe.report.sections.drawn import drawn
from probe.report.sentences import lens_said, sweeps_said, writers


def carried(material: Material) -> Section | None:
    """Sweeps over the residual stream, the logit lens, direct and total effects."""
    parts: list[Part | None] = []
    for contrast, result in material.named("sweeps-").items():
        name = str(result.details.get("contrast", contrast))
        rows = [row for row in material.rows(f"sweeps-{contrast}") if row["kind"] == "resid_pre"]
        lost = [row for row in rows if row["metric"] == "noising"]
        title = f"At which place the stream carries the {name}"
        parts.append(_felt(material, "sweeps", title, sweeps_said(name, rows), lost, f"sweeps-{contrast}"))
    lens = [row for row in material.rows("lens") if row["metric"] == "logit difference"]
    if lens:
        parts.append(_felt(material, "lens", "When the answer can be read off", lens_said(lens), lens))
    for contrast in material.named("attribution-"):
        rows = material.rows(f"attribution-{contrast}")
        heard = {row["node"] for row in rows if row["metric"] in ("direct", "total") and abs(row["value"]) >= 0.05}
        parts.append(
            drawn(
                material,
                "attribution",
                "Who writes it",
                writers(rows),
                keep=lambda row, heard=heard: row["node"] in heard and row["metric"] in ("direct", "total"),
                only=f"attribution-{contrast}",
            )
        )
    made = tuple(part for part in parts if part is not None)
    return Section(name="carried", title="Where it is carried", parts=made) if made else None


def _felt(
    material: Material, name: str, title: str, says: str, rows: Sequence[dict[str, Any]], only: str = "*"
) -> Figure | None:
    """A map of a value by place, without the places at which it never reaches a twentieth of its largest."""
    largest = max(abs(row["value"]) for row in rows)
    seen = {row["position"] for row in rows if abs(row["value"]) >= largest / 20}
    kind, metric = rows[0]["kind"] if name == "sweeps" else None, rows[0]["metric"]

    def keep(row: dict[str, Any]) -> bool:
        return row["position"] in seen and row["metric"] == metric and kind in (None, row["kind"])

    figure = drawn(material, name, title, says, keep=keep, only=only)
    return figure and replace(figure, note=f"{figure.note} Places below a twentieth of the largest value are left out.")
