"""The heads of a run as a table: a row a head, each score beside its floor; then the strongest compositions."""

from __future__ import annotations

from typing import Any

from probe.result import AnalysisResult


def heads_text(run: str, scores: AnalysisResult, composition: AnalysisResult) -> str:
    """Scores, floors and names of all heads."""
    rows = scores.table.to_dict("records")
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    by_head: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        by_head.setdefault(f"L{row['layer']}H{row['head']}", {})[row["metric"]] = row
    lines = [f"heads of {run} (share of attention; a head that knows nothing weighs all words alike)", ""]
    lines.append(f"{'':10}" + "".join(f"{metric:>17}" for metric in metrics))
    for head, of_head in by_head.items():
        name = ", ".join(row["name"] for row in of_head.values() if row["name"])
        lines.append(f"{head:10}" + "".join(f"{of_head[metric]['value']:>17.2f}" for metric in metrics) + f"   {name}")
    first = next(iter(by_head.values()))
    lines.append(f"{'floor':10}" + "".join(f"{first[metric]['floor']:>17.2f}" for metric in metrics))
    lines.append(f"{'maximum':10}" + "".join(f"{first[metric]['maximum']:>17.2f}" for metric in metrics))
    controls = max((row["control"] for row in rows if row["metric"] == "induction"), default=0.0)
    lines.append(f"best fixed distance, the control of induction: up to {controls:.2f}")
    lines.append(scores.convention)
    found = sorted(composition.table.to_dict("records"), key=lambda row: -row["value"])[:6]
    if found:
        lines += ["", f"strongest compositions in the weights ({composition.floor}):"]
        lines += [f"  {row['sender']} → {row['receiver']} ({row['metric']})  {row['value']:.3f}" for row in found]
    return "\n".join(lines)
