"""Figures of heads: their scores, what they could compose with, where they look from the answer's place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probe.figures.drawing import number, short
from probe.figures.figure import Figure
from probe.figures.findings import Findings, Row, caption, grid, head_of, measured, place_of, split
from probe.figures.heatmap import HeatMap

UNITS = {"entropy": "nats", "effective tokens": "tokens", "copying eigenvalues": "ratio"}
"""Of head scores that are no shares."""


def heads(found: Findings) -> Figure:
    """Head × score, with floor and control as rows of their own; scores of other maxima in a map of their own."""
    result = found.results["heads"]
    rows = found.rows("heads")
    names: dict[str, list[str]] = {}
    for row in rows:
        if row.get("name"):
            said = names.setdefault(head_of(row), [])
            said += [row["name"]] if row["name"] not in said else []

    def named(row: Mapping[str, Any]) -> str:
        head = str(row.get("shown") or head_of(row))
        return f"{head} {', '.join(names[head])}" if head in names else head

    signed = {row["metric"] for row in rows if row["value"] is not None and row["value"] < -0.005}
    kinds: dict[tuple[Any, bool], list[Row]] = {}
    for row in rows:
        kinds.setdefault((row.get("maximum"), row["metric"] in signed), []).append(row)
    parts: list[HeatMap] = []
    for (maximum, _), part in kinds.items():
        beside: list[Row] = []
        for (metric,), scores in split(part, "metric").items():
            for name, column in (("floor", "floor"), ("control, at most", "control")):
                known = [row[column] for row in scores if row.get(column) is not None]
                beside += [{"shown": name, "metric": metric, "value": max(known)}] if known else []
        units = list(dict.fromkeys(UNITS.get(str(row["metric"]), "share") for row in part))
        scale = f"; maximum {number(maximum)}" if maximum is not None else ""
        parts.append(
            grid(
                [*part, *beside],
                named,
                lambda row: str(row["metric"]),
                title=short(", ".join(dict.fromkeys(str(row["metric"]) for row in part)), 40),
                unit=", ".join(units) + scale,
                rows_are="head",
                columns_are="score",
                high=maximum,
            )
        )
    said = "What each head does on random repeated sequences; a head has a name only where score and control agree"
    return Figure(
        name="heads", title=f"Heads of {found.about}", caption=caption(said, measured(result)), parts=tuple(parts)
    )


def composition(found: Findings) -> Figure:
    """Sender × receiver, for queries, keys and values."""
    result = found.results["composition"]
    rows = found.rows("composition")
    most = max(row["value"] for row in rows)
    parts = tuple(
        grid(
            part,
            lambda row: row["sender"],
            lambda row: row["receiver"],
            title=f"{metric}-composition",
            unit=result.unit,
            rows_are="sender",
            columns_are="receiver",
            high=most,
            floor=next((row["control"] for row in part if row.get("control") is not None), None),
        )
        for (metric,), part in split(rows, "metric").items()
    )
    said = "Which heads' weights could compose. What could compose need not: see `trace`"
    return Figure(
        name="composition",
        title=f"Composition in the weights of {found.about}",
        caption=caption(said, measured(result)),
        parts=parts,
    )


def roles(found: Findings) -> Figure:
    """Head × role, for the trained and the untrained model."""
    result = found.results["head-roles"]
    parts = tuple(
        grid(
            part,
            head_of,
            place_of,
            title=f"Attention of the answer's place, {condition or 'trained'}",
            unit=result.unit,
            rows_are="head",
            columns_are="to",
            floor=_uniform(found, "head-roles"),
        )
        for (condition,), part in split(found.rows("head-roles"), "condition").items()
    )
    said = "Mean over held-out prompts. Where a head looks is not what it does: see `trace`"
    return Figure(
        name="roles",
        title=f"Where the heads of {found.about} look, by role",
        caption=caption(said, measured(result)),
        parts=parts,
    )


def rows(found: Findings) -> Figure:
    """Filler × position, the mean over each block's heads."""
    return _answer_rows(found, means=True)


def rows_by_head(found: Findings) -> Figure:
    """Filler × position, for every head."""
    return _answer_rows(found, means=False)


def _answer_rows(found: Findings, means: bool) -> Figure:
    result = found.results["answer-rows"]
    chosen = [row for row in found.rows("answer-rows") if (row["head"] < 0) == means]
    parts = []
    for (layer, head), part in split(chosen, "layer", "head").items():
        title = f"Block {layer + 1} (layer {layer}), mean over heads" if means else f"L{layer}H{head}"
        parts.append(
            grid(
                [row for of_group in split(part, "filler_group").values() for row in of_group],
                lambda row: f"{row['filler']} ({row['filler_group']})",
                place_of,
                title=title,
                unit=result.unit,
                rows_are="word in the slot",
                columns_are="to",
                floor=_uniform(found, "answer-rows"),
            )
        )
    said = "Attention of the position that has to name the answer, for every word of the contrast"
    return Figure(
        name="rows" if means else "rows-by-head",
        title=f"The answer's row in {found.about}",
        caption=caption(said, measured(result)),
        parts=tuple(parts),
    )


def _uniform(found: Findings, key: str) -> float | None:
    visible = found.results[key].details.get("visible")
    return 1.0 / visible if visible else None
