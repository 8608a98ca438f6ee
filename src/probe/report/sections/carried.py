"""Where the answer is carried: what each place of the stream holds of it, and who writes it."""

from __future__ import annotations

from probe.report.document import Part, Section
from probe.report.material import Material
from probe.report.sections.drawn import drawn
from probe.report.sentences import lens_said, sweeps_said, writers


def carried(material: Material) -> Section | None:
    """Sweeps over the residual stream, the logit lens, direct and total effects."""
    parts: list[Part | None] = []
    for contrast, result in material.named("sweeps-").items():
        name = str(result.details.get("contrast", contrast))
        rows = [row for row in material.rows(f"sweeps-{contrast}") if row["kind"] == "resid_pre"]
        parts.append(
            drawn(
                material,
                "sweeps",
                f"At which place the stream carries the {name}",
                sweeps_said(name, rows),
                keep=lambda row: row["kind"] == "resid_pre" and row["metric"] == "noising",
                only=f"sweeps-{contrast}",
            )
        )
    lens = [row for row in material.rows("lens") if row["metric"] == "logit difference"]
    if lens:
        parts.append(
            drawn(
                material,
                "lens",
                "When the answer can be read off",
                lens_said(lens),
                keep=lambda row: row["metric"] == "logit difference",
            )
        )
    for contrast in material.named("attribution-"):
        rows = material.rows(f"attribution-{contrast}")
        parts.append(drawn(material, "attribution", "Who writes it", writers(rows), only=f"attribution-{contrast}"))
    made = tuple(part for part in parts if part is not None)
    return Section(name="carried", title="Where it is carried", parts=made) if made else None
