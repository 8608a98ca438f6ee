"""A figure of the catalogue in a report: the same drawing that `probe figure` makes, under a sentence of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from probe.figures.catalogue import figure_of, keys_of, kind_of, missing
from probe.figures.figure import part_svg
from probe.report.document import Figure, Panel
from probe.report.material import Material, findings_of


def drawn(
    material: Material,
    name: str,
    title: str,
    says: str,
    keep: Callable[[dict[str, Any]], bool] | None = None,
    only: str = "*",
) -> Figure | None:
    """A figure of the catalogue, or None where its results are not there.

    Args:
        material: of the run.
        name: the figure's, as `probe figure` lists it.
        title: over it, in the report.
        says: a sentence made from its numbers.
        keep: which rows are drawn; all by default.
        only: which of its results, by name.
    """
    kind = kind_of(name)
    results = {key: material.results[key] for key in keys_of(kind, material.results) if fnmatchcase(key, only)}
    if missing(kind, results):
        return None
    if keep is not None:
        for key, result in results.items():
            wanted = [keep(row) for row in material.rows(key)]
            results[key] = replace(result, table=result.table[wanted])
    figure = figure_of(name, findings_of(material, results))
    panels = tuple(Panel(svg=part_svg(part)) for part in figure.parts)
    suffix = f"-{only.split('-', 1)[1]}" if "-" in only else ""
    return Figure(name=f"{name}{suffix}", title=title, says=says, panels=panels, note=figure.caption)
