"""What a run folder holds, as figures ask for it; and from its tidy tables to heat maps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from probe.figures.bars import Beside
from probe.figures.heatmap import HeatMap
from probe.result import AnalysisResult

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Findings:
    """One run: what was asked of it, how it trained, what was found out about it."""

    run: str
    """Its name."""
    digest: str
    """SHA-256 of its manifest."""
    about: str
    """Task and model, in words."""
    spec: Mapping[str, Any] = field(default_factory=dict)
    """The task, as its file says it."""
    metrics: Sequence[Mapping[str, Any]] = ()
    """The evaluations of training, by step."""
    results: Mapping[str, AnalysisResult] = field(default_factory=dict)
    """By the name under which they are kept."""

    def rows(self, key: str) -> list[Row]:
        """The rows of one result; none where it is not there."""
        return records(self.results[key]) if key in self.results else []

    def under(self, prefix: str) -> list[tuple[str, AnalysisResult]]:
        """Results whose names begin so, with what follows: the contrasts of a trace."""
        return [(key.removeprefix(prefix), result) for key, result in self.results.items() if key.startswith(prefix)]


def records(result: AnalysisResult) -> list[Row]:
    """The rows of a table, with None where there is no value."""
    rows = result.table.to_dict("records")
    return [{str(key): None if _missing(value) else value for key, value in row.items()} for row in rows]


def _missing(value: object) -> bool:
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value))


def head_of(row: Mapping[str, Any]) -> str:
    """`L1H2`; of a whole layer `L1`, of a whole model `model`."""
    layer, head = row.get("layer"), row.get("head")
    if layer is None or layer < 0:
        return "model"
    return f"L{layer:.0f}" if head is None or head < 0 else f"L{layer:.0f}H{head:.0f}"


def place_of(row: Mapping[str, Any]) -> str:
    """What stands at a position, and which it is: `adjective 11`; without a number where that varies."""
    position, role = row.get("position"), row.get("role")
    if position is None or position < 0:
        return str(role or "all positions")
    return f"{role} {position:.0f}" if role else f"{position:.0f}"


def _place(row: Mapping[str, Any]) -> float:
    """Sorts rows as the sentence runs; places that vary come last."""
    position = row.get("position")
    return math.inf if position is None or position < 0 else float(position)


def grid(
    rows: Iterable[Mapping[str, Any]],
    row_of: Callable[[Mapping[str, Any]], str],
    column_of: Callable[[Mapping[str, Any]], str],
    *,
    title: str,
    unit: str,
    rows_are: str = "",
    columns_are: str = "",
    signed: bool | None = None,
    high: float | None = None,
    floor: float | None = None,
) -> HeatMap:
    """A heat map of tidy rows, whose names stand in the order in which they come first; positions in their own.

    Args:
        rows: observations with a `value`; a later one replaces an earlier one of the same cell.
        row_of: names the row of an observation.
        column_of: names its column.
        title: of the map.
        unit: of the values.
        rows_are: what rows are.
        columns_are: what columns are.
        signed: two hues; by default where a value is clearly negative.
        high: the end of the scale; by default 1, or the largest value where that is more.
        floor: marked on the scale.
    """
    rows = list(rows)
    known = [row for row in rows if not _missing(row["value"])]
    cells = {(row_of(row), column_of(row)): float(row["value"]) for row in known}
    names = list(dict.fromkeys(map(row_of, rows)))
    columns = list(dict.fromkeys(map(column_of, sorted(rows, key=_place) if column_of is place_of else rows)))
    largest = max((abs(value) for value in cells.values()), default=1.0)
    return HeatMap(
        title=title,
        rows=tuple(names),
        columns=tuple(columns),
        values=tuple(tuple(cells.get((row, column)) for column in columns) for row in names),
        high=high or max(1.0, largest),
        unit=unit,
        diverging=min(cells.values(), default=0.0) < -0.005 if signed is None else signed,
        floor=floor,
        rows_are=rows_are,
        columns_are=columns_are,
    )


def split(rows: Iterable[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by the values of some columns, in order of appearance; a column that is not there is None."""
    parts: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        parts.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    return parts


def caption(*said: str) -> str:
    """Sentences that are not empty, each with its full stop."""
    return " ".join(f"{text.rstrip('.')}." for text in said if text)


def measured(result: AnalysisResult) -> str:
    """Floor, n and convention of a result, for a caption."""
    n = result.details.get("n") or result.details.get("pairs")
    counted = f"n = {n}; " if n else ""
    return f"Floor: {result.floor}; {counted}{result.convention}"


def beside(rows: Mapping[str, Row]) -> tuple[Beside, ...]:
    """Controls with their values, and their intervals where they have them."""
    found: list[Beside] = []
    for name, row in rows.items():
        low, high = row.get("low"), row.get("high")
        if row["value"] is not None and low is not None and high is not None:
            found.append((name, float(row["value"]), float(low), float(high)))
        elif row["value"] is not None:
            found.append((name, float(row["value"])))
    return tuple(found)


def estimate(row: Row) -> dict[str, Any]:
    """Value and interval of a row."""
    return {"value": float(row["value"]), "low": row.get("low"), "high": row.get("high")}
