"""Which heads are what: scores on random repeated sequences beside floor and control, and what could compose."""

from __future__ import annotations

from typing import Any

from probe.figures.heatmap import HeatMap, heatmap_svg
from probe.report.document import Figure, Number, Panel, Part, Section, Table
from probe.report.material import Material
from probe.report.sentences import composed, named_heads


def headed(material: Material) -> Section | None:
    """Heat map and table of head scores; composition of the weights."""
    rows = material.rows("heads")
    if not rows:
        return None
    result = material.results["heads"]
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    heads = list(dict.fromkeys(f"L{row['layer']}H{row['head']}" for row in rows))
    values = {(f"L{row['layer']}H{row['head']}", row["metric"]): row for row in rows}
    drawn = HeatMap(
        title="Head scores",
        rows=tuple(heads),
        columns=tuple(metrics),
        values=tuple(tuple(values[head, metric]["value"] for metric in metrics) for head in heads),
        unit=result.unit,
        rows_are="head",
    )
    parts: list[Part] = [
        Figure(
            name="head-scores",
            title="What each head does on random repeated words",
            says=named_heads(rows),
            panels=(Panel(svg=heatmap_svg(drawn)),),
            note=f"Maximum 1 on every score; floors (uniform attention): {_floors(rows, metrics)}. {result.convention}.",
        ),
        Table(
            name="head-table",
            title="Scores, floors and controls",
            says="A head has a name only where its score is 0.50 or more and stands above its control.",
            columns=("head", "score", "value", "floor", "control", "name"),
            rows=tuple(
                (
                    f"L{row['layer']}H{row['head']}",
                    row["metric"],
                    *(Number(value=row[key], text=f"{row[key]:.2f}") for key in ("value", "floor", "control")),
                    row["name"] or "–",
                )
                for row in rows
            ),
            folded=True,
        ),
    ]
    composition = sorted(material.rows("composition"), key=lambda row: -row["value"])
    if composition:
        parts.append(
            Table(
                name="composition",
                title="What could compose with what, in the weights",
                says=composed(composition),
                columns=("earlier head", "later head", "through", "score", "chance"),
                rows=tuple(_composition(row) for row in composition[:12]),
                note=f"The {min(12, len(composition))} largest of {len(composition)}. {material.results['composition'].convention}.",
                folded=True,
            )
        )
    return Section(name="heads", title="Which heads are what", parts=tuple(parts))


def _floors(rows: list[dict[str, Any]], metrics: list[str]) -> str:
    by_metric = {row["metric"]: row["floor"] for row in rows}
    return ", ".join(f"{metric} {by_metric[metric]:.2f}" for metric in metrics)


def _composition(row: dict[str, Any]) -> tuple[str | Number, ...]:
    numbers = (Number(value=row[key], text=f"{row[key]:.3f}") for key in ("value", "control"))
    return (row["sender"], row["receiver"], row["metric"], *numbers)
