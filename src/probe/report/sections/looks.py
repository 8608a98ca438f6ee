"""Where it looks: a minimal pair side by side with the difference, block means first, then every head."""

from __future__ import annotations

from dataclasses import replace

from probe.report.attention import keyed, maps_figure, maps_of_view, row_table, token_lines
from probe.report.document import Maps, Part, Section
from probe.report.material import Material, weights_along
from probe.report.sections.drawn import drawn
from probe.report.sentences import percent, rows_said


def looks(material: Material) -> Section | None:
    """Maps and the answer's row, as the chapter prints it."""
    view = material.view
    if view is None:
        return None
    parts: list[Part] = [token_lines(view), maps_figure(view, means=True), row_table(view)]
    means = [row for row in material.rows("answer-rows") if row["head"] < 0]
    if means:
        seen = {row["position"] for row in means if row["value"] >= 0.05}
        title = "The answer's row for every word in the slot"
        rows = drawn(material, "rows", title, rows_said(means), keep=lambda row: row["position"] in seen)
        parts += [replace(rows, note=f"{rows.note} Places that never get 0.05 are left out.")] if rows else []
    if view.heads:
        parts.append(maps_figure(view, means=False))
    return Section(
        name="looks",
        title="Where it looks",
        says=("A map says where a head looks, not whether that causes the answer; the next section breaks it to see.",),
        parts=tuple(parts),
    )


def maps_of(material: Material) -> Maps:
    """The numbers behind all the maps of a report, for hover and for the slider."""
    view = material.view
    if view is None:
        return Maps()
    maps = maps_of_view(view)
    if material.along is None or len(view.sentences[0].tokens) > 48:
        return maps
    weights = weights_along(material.along)
    steps = tuple(sorted(weights))
    by_step = [keyed(view, weights[step][0].mean(axis=1), weights[step][0]) for step in steps]
    right = {row["step"]: row["validation"]["referent_accuracy"] for row in material.metrics}
    return replace(
        maps,
        steps=steps,
        along={f"s0.{key}": tuple(of_step[key] for of_step in by_step) for key in by_step[0]},
        said=tuple(f"{percent(right[step])} right" if step in right else "" for step in steps),
    )
