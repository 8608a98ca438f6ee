"""Figures of what is where in the stream: the logit lens, probes, interchange."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from probe.figures.figure import Figure
from probe.figures.findings import Findings, Row, caption, grid, measured, place_of, split
from probe.figures.heatmap import HeatMap

SITES = {"resid_pre": "before layer {}", "resid_mid": "within layer {}", "resid_post": "after layer {}"}
"""The stream's places, in words."""
LENS = {"logit difference": "logits", "probability": "of the answer", "rank": "of the answer; 1 is first"}
"""Units of what the lens reads."""


def site_of(row: Mapping[str, Any]) -> str:
    """Where in the model: `before layer 0`, `L1H2`.

    >>> site_of({"kind": "resid_post", "layer": 1}), site_of({"kind": "z", "layer": 1, "head": 2})
    ('after layer 1', 'L1H2')
    """
    kind, layer, head = str(row.get("kind") or ""), row["layer"], row.get("head")
    if head is not None and head >= 0:
        return f"L{layer:.0f}H{head:.0f}"
    return SITES[kind].format(f"{layer:.0f}") if kind in SITES else f"{kind} {layer:.0f}".strip()


def lens(found: Findings) -> Figure:
    """Stream × position: what the model would say if it stopped there."""
    result = found.results["lens"]
    parts = tuple(
        grid(
            part,
            site_of,
            place_of,
            title=str(metric),
            unit=LENS.get(str(metric), result.unit),
            rows_are="stream",
            columns_are="position",
        )
        for (metric,), part in split(found.rows("lens"), "metric").items()
    )
    said = "The stream at every place, read by the unembedding as if the model ended there"
    return Figure(
        name="lens",
        title=f"When the answer is in the stream of {found.about}",
        caption=caption(said, measured(result)),
        parts=parts,
    )


def probes(found: Findings) -> Figure:
    """Stream × position for every target: accuracy, selectivity, untrained, and what swapping along the probe does."""
    return _probes(found, "probes", heads=False)


def probes_by_head(found: Findings) -> Figure:
    """Head × position for every target: what can be read off a head's output."""
    return _probes(found, "probes-by-head", heads=True)


def _probes(found: Findings, name: str, heads: bool) -> Figure:
    result = found.results["probes"]
    rows = [row for row in found.rows("probes") if (row.get("head") is not None and row["head"] >= 0) == heads]
    shown = [row for row in rows if row["metric"] != "codelength" and row["condition"] != "control"]
    parts = _stacked(shown, "target", "share", "head" if heads else "stream")
    said = "Presence is not use: what a probe reads counts where swapping or erasing along it changes the answer"
    return Figure(
        name=name,
        title=f"What can be read where in {found.about}",
        caption=caption(said, measured(result)),
        parts=tuple(parts),
    )


def interchange(found: Findings) -> Figure:
    """Stream × position for every variable: how often swapping there gives what the causal model predicts."""
    result = found.results["interchange"]
    rows = [
        row
        for row in found.rows("interchange")
        if row.get("dimension") is None and (row["metric"] == "interchange accuracy" or row["condition"] == "trained")
    ]
    parts = _stacked(rows, "variable", result.unit, "stream")
    said = "The stream at one place taken from a sentence in which this variable has another value"
    return Figure(
        name="interchange",
        title=f"Where the variables of the task live in {found.about}",
        caption=caption(said, measured(result)),
        parts=tuple(parts),
    )


def _stacked(rows: list[Row], of: str, unit: str, rows_are: str) -> list[HeatMap]:
    """A map for each target or variable, its measures under each other; those with a sign in a map of their own."""
    parts: list[HeatMap] = []
    signed = {row["metric"] for row in rows if row["value"] is not None and row["value"] < -0.005}
    for (name,), about in split(rows, of).items():
        for sign in (False, True):
            chosen = [row for row in about if (row["metric"] in signed) == sign]
            measures = split(chosen, "metric", "condition")
            floors = {row["floor"] for row in chosen if row.get("floor") is not None}
            if chosen:
                parts.append(
                    grid(
                        [row for of_measure in measures.values() for row in of_measure],
                        _measure_and_site if len(measures) > 1 else site_of,
                        place_of,
                        title=f"{name}: {next(iter(measures))[0]}" if len(measures) == 1 else str(name),
                        unit=unit,
                        rows_are=rows_are,
                        columns_are="position",
                        floor=floors.pop() if len(floors) == 1 else None,
                        signed=sign,
                    )
                )
    return parts


def _measure_and_site(row: Mapping[str, Any]) -> str:
    condition = f", {row['condition']}" if row["condition"] != "trained" else ""
    return f"{row['metric']}{condition}: {site_of(row)}"
