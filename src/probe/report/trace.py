"""A trace as text: the strategy, the path, what each layer hears and from whom, nodes and edges with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

from probe.intervals import share_interval
from probe.result import AnalysisResult

SHOWN = 0.1
"""Effects below this share are left out of the text; the tables hold them all."""


def trace_text(
    strategy: str, nodes: AnalysisResult, edges: AnalysisResult, ways: AnalysisResult, checks: Mapping[str, float]
) -> str:
    """One contrast, from the sentence about it down to its numbers."""
    details = nodes.details
    lines = [*wrap(f"{details['contrast']} ({details['pairs']} pairs): {strategy}", 80), ""]
    if nodes.table.empty:
        return "\n".join(lines[:-1])
    path = _path(edges)
    if path:
        lines += [*wrap("path: " + path, 80, initial_indent="  ", subsequent_indent="        "), ""]
    lines += [
        "  lost (95 %) when a layer sees the other sentence's words in place (an MLP may",
        "  have written them anew there), or what earlier heads moved of them:",
        " " * 28 + "words".ljust(24) + "earlier heads",
    ]
    table = ways.table
    heard: dict[tuple[int, str], dict[str, Any]] = {}
    for row in table.to_dict("records"):
        heard.setdefault((row["layer"], row["port"]), {})[row["source"]] = row
    for (layer, port), values in heard.items():
        if max(abs(row["value"]) for row in values.values()) >= SHOWN:
            said = "".join(_effect(values[source]).ljust(24) for source in ("words", "earlier heads"))
            lines.append((f"    layer {layer}, {_port(port)}".ljust(28) + said).rstrip())
    metrics = list(dict.fromkeys(nodes.table["metric"]))
    if "denoising" in metrics:
        lines += ["", "  parts, taken from the other sentence (noising: lost) or given to it"]
        lines += ["  (denoising: gained):".ljust(34) + "noising".ljust(23) + "denoising"]
    else:
        lines += ["", "  parts, lost when taken from the other sentence (every pair counts both ways,"]
        lines += ["  so that denoising, what is gained when given to it, is the same number):"]
    wide: dict[tuple[str, int, str], dict[str, Any]] = {}
    for row in nodes.table.to_dict("records"):
        wide.setdefault((row["node"], row["position"], row["role"]), {})[row["metric"]] = row
    for (node, position, role), both in wide.items():
        if max(abs(row["value"]) for row in both.values()) >= SHOWN:
            said = "".join(_effect(both[metric]).ljust(23) for metric in metrics)
            lines.append((f"    {node} at {role} ({position})".ljust(34) + said).rstrip())
    lines += ["", "  edges (lost when this reader alone sees the other sentence's sender):"]
    shown = [row for row in edges.table.to_dict("records") if abs(row["value"]) >= SHOWN]
    for row in sorted(shown, key=lambda row: -abs(row["value"])):
        port = "" if row["port"] in ("mlp", "logits") else f" ({_port(row['port'])})"
        lines.append(f"    {row['sender']} → {row['receiver']}{port}".ljust(34) + _effect(row))
    worst = max(checks.values())
    lines += ["", f"  checks: {', '.join(checks)}:"]
    lines.append(f"          largest error {worst:.1e} ({'hold' if worst < 1e-3 else 'DO NOT HOLD'})")
    return "\n".join(lines)


def strategies_text(rows: Sequence[Mapping[str, str]]) -> str:
    """How many runs use which strategy, for each contrast, with a 95 % interval over runs (Wilson)."""
    lines = []
    for contrast in dict.fromkeys(row["contrast"] for row in rows):
        of_contrast = [row for row in rows if row["contrast"] == contrast]
        lines.append(f"{contrast}, {len(of_contrast)} runs:")
        for strategy, count in Counter(row["strategy"] for row in of_contrast).most_common():
            low, high = share_interval(count, len(of_contrast))
            lines.append(f"  {count:3} of {len(of_contrast)} ({low:.0%} to {high:.0%})  {strategy}")
    return "\n".join(lines)


def stability_text(result: AnalysisResult) -> str:
    """What the circuits of several seeds share: kinds of edges, overlap, and the strongest deeds of matched heads."""
    rows = result.table.to_dict("records")
    n = len(result.details["runs"])
    lines = [f"what the circuits of {n} seeds share (95 % over seeds; heads matched by what they do):", ""]
    for row in rows:
        if row["what"] == "overlap":
            lines.append(f"  edges that two seeds share, heads {row['subject']}:".ljust(58) + _share(row))
    lines += ["", "  kinds of edges, and in how many seeds they carry a tenth or more:"]
    kinds = [row for row in rows if row["what"] == "edge kind"]
    for row in kinds[:MOST]:
        count = f"{row['value'] * row['n']:3.0f} of {row['n']}"
        lines.append(f"    {count} ({row['low']:.0%} to {row['high']:.0%})  {row['subject']}")
    if len(kinds) > MOST:
        lines.append(f"    … and {len(kinds) - MOST} rarer kinds (--json has all)")
    lines += ["", f"  heads, named as in {result.details['medoid']}, and what their matches do on average:"]
    heads = sorted((row for row in rows if row["what"] == "head"), key=lambda row: -abs(row["value"]))
    lines += [f"    {row['subject']}".ljust(76) + _effect(row) for row in heads[:MOST]]
    return "\n".join(lines)


MOST = 12
"""Rows of a kind that the text shows."""


def _share(row: Mapping[str, Any]) -> str:
    spread = f" [{row['low']:.0%}, {row['high']:.0%}]" if row["low"] == row["low"] else ""
    return f"{row['value']:.0%}{spread}"


def _effect(row: Mapping[str, Any]) -> str:
    value, low, high = (round(row[key], 2) + 0.0 for key in ("value", "low", "high"))  # no minus before a zero
    return f"{value:+.2f} [{low:+.2f}, {high:+.2f}]"


def _port(port: str) -> str:
    return {"q": "queries", "k": "keys", "v": "values", "mlp": "MLP", "all": "q, k and v"}.get(port, port)


def _path(edges: AnalysisResult) -> str:
    """The chain of edges from the words to the logits whose weakest edge is the strongest."""
    rows = edges.table.to_dict("records")
    best: dict[str, tuple[float, str]] = {}
    into: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        into.setdefault(row["receiver"], []).append(row)

    def weakest(receiver: str) -> tuple[float, str]:
        """The best chain's weakest edge, and the chain in words."""
        if receiver in best:
            return best[receiver]
        found = (0.0, "")
        for row in into.get(receiver, []):
            here = f"{row['receiver']}" if row["port"] in ("mlp", "logits") else f"{row['receiver']}.{row['port']}"
            if row["sender"] == "embedding":
                option = (row["value"], f"words → {here}")
            else:
                strength, chain = weakest(row["sender"])
                option = (min(strength, row["value"]), f"{chain} → {here}")
            found = max(found, option)
        best[receiver] = found
        return found

    strength, chain = weakest("logits")
    return f"{chain}   (weakest edge {strength:.2f})" if strength >= SHOWN else ""
