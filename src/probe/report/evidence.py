"""What stands behind a circuit, as text: the range of its faithfulness, its holes, its useless edges, its size."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from probe.result import AnalysisResult

Row = Mapping[str, Any]


def evidence_text(faithfulness: AnalysisResult, subsets: AnalysisResult, sizes: AnalysisResult) -> str:
    """One contrast: a line for what there is to explain, a small table of the range, and what is missing or idle."""
    details = faithfulness.details
    rows = faithfulness.table.to_dict("records")
    moved = {row["circuit"]: row for row in rows if row["metric"] == "logits to explain"}
    lines = [
        f"evidence, {details['contrast']} ({details['pairs']} pairs that the circuit was not found on)",
        "",
        f"  circuit: {len(details['circuit'])} of {details['edges']} edges; the contrast moves the answer by "
        f"{moved['found']['value']:.1f} logits",
        f"  (untrained: {_number(moved['untrained']['value'])})",
        "",
        "  faithfulness (1: all of it) where what is cut carries the other sentence's",
        "  value, zero, a mean, the mean for its role, or another sentence's:",
        "  ".ljust(20) + "all positions".ljust(20) + "by role".ljust(20) + "random, same size",
    ]
    for level in ("edge", "node"):
        for ablation in dict.fromkeys(row["ablation"] for row in rows):
            line = f"  {level}s: {ablation.replace('mean by role', 'role mean')}".ljust(20)
            for positions in ("all", "by role"):
                line += _interval(_one(rows, "found", level, ablation, positions)).ljust(20)
            lines.append(line + _interval(_one(rows, "random", level, ablation, "all")))
    ours = (row["value"] for row in rows if row["circuit"] == "found" and row["metric"] == "faithfulness")
    told = [value for value in ours if not math.isnan(value)]
    lines += [f"  range over all of these: {_number(min(told))} to {_number(max(told))}", ""] if told else [""]
    parts = subsets.table.to_dict("records")
    holes = [row for row in parts if row["metric"] == "completeness"]
    random, greedy = holes[0], holes[-1]
    worst = max(holes[1:-1], key=lambda row: row["value"])
    lines += [
        "  completeness (0: without a subset the circuit loses what the model loses)",
        f"    {random['subset']}: {random['value']:.2f} on average",
        f"    worst class, {worst['subset']}: {worst['value']:.2f}",
        *_wrapped(f"{greedy['subset']}: {greedy['value']:.2f}"),
        "  minimality (largest effect that an edge has on any part of the circuit)",
    ]
    members = sorted((row for row in parts if row["metric"] == "minimality"), key=lambda row: -abs(row["value"]))
    idle = [row["subset"] for row in members if abs(row["value"]) < 0.01]
    lines += _wrapped("largest: " + ", ".join(f"{row['subset']} {row['value']:+.2f}" for row in members[:4]))
    lines += _wrapped(f"below 0.01 for this contrast: {', '.join(idle) if idle else 'none'}")
    areas = sizes.details
    lines.append("  size curve, area (random circuits)")
    for axis in ("linear", "logarithmic"):
        lines.append(f"    {axis} axis: {areas[f'area, found, {axis}']:.2f} ({areas[f'area, random, {axis}']:.2f})")
    return "\n".join(lines)


def attribution_text(result: AnalysisResult) -> str:
    """Direct and total effect of each part, in logits, the largest first."""
    by_node: dict[str, dict[str, Row]] = {}
    for row in result.table.to_dict("records"):
        by_node.setdefault(row["node"], {})[row["metric"]] = row
    details = result.details
    total = sum(parts["direct"]["value"] for parts in by_node.values())
    lines = [
        f"effects in logits, {details['contrast']}: the direct ones sum to the difference, {total:.2f}",
        "",
        "  ".ljust(14) + "direct".ljust(22) + "beyond the mean".ljust(22) + "total",
    ]
    for node, parts in sorted(by_node.items(), key=lambda item: -max(abs(r["value"]) for r in item[1].values())):
        line = f"  {node}".ljust(14)
        for metric in ("direct", "direct, beyond the mean", "total"):
            line += (_interval(parts[metric]) if metric in parts else "").ljust(22)
        lines.append(line.rstrip())
    return "\n".join(lines)


def _wrapped(said: str) -> list[str]:
    return wrap(said, 80, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False)


def _one(rows: Sequence[Row], circuit: str, level: str, ablation: str, positions: str) -> Row:
    wanted = (circuit, level, ablation, positions, "faithfulness")
    keys = ("circuit", "level", "ablation", "positions", "metric")
    return next(row for row in rows if tuple(row[key] for key in keys) == wanted)


def _interval(row: Row) -> str:
    if math.isnan(row["value"]):
        return "nothing to explain"
    return f"{_number(row['value'])} [{_number(row['low'])},{_number(row['high'])}]"


def _number(value: float) -> str:
    """Two digits, and no minus before a zero."""
    return f"{round(value, 2) + 0.0:.2f}"
