"""How good a circuit is, where the answer is carried and who writes it."""

from __future__ import annotations

from collections.abc import Sequence

from probe.report.sentences.words import Row, listed, percent, signed


def sweeps_said(contrast: str, rows: Sequence[Row]) -> str:
    """At which places the stream before each layer carries a contrast."""
    said = []
    for layer in sorted({row["layer"] for row in rows}):
        at = [r for r in rows if r["layer"] == layer and r["metric"] == "noising" and abs(r["value"]) >= 0.25]
        places = listed(f"{r['role']} {r['position']} ({signed(r['value'])})" for r in at)
        said.append(f"before layer {layer} {f'at {places}' if places else 'at no single place'}")
    return f"The {contrast} is carried {'; '.join(said)}."


def lens_said(rows: Sequence[Row]) -> str:
    """When the stream at the answer's place first says the answer; rows of the logit difference."""
    last = max(row["position"] for row in rows)
    at_end = [row for row in rows if row["position"] == last]
    final = at_end[-1]
    if final["value"] <= 0:
        return f"At the end the stream does not favour the answer (logit difference {signed(final['value'])})."
    first = next(row for row in at_end if row["value"] >= final["value"] / 2)
    where = {"resid_pre": "before", "resid_mid": "after the attention of", "resid_post": "after"}[first["kind"]]
    return (
        f"At the answer's place the stream first holds half of the answer {where} layer {first['layer']} "
        f"(logit difference {signed(first['value'])} of {signed(final['value'])} at the end)."
    )


def writers(rows: Sequence[Row]) -> str:
    """Who writes the answer itself, and who matters only through others."""
    direct = {row["node"]: row["value"] for row in rows if row["metric"] == "direct"}
    total = {row["node"]: row["value"] for row in rows if row["metric"] == "total"}
    whole = sum(direct.values())
    if abs(whole) < 1e-6:
        return "No part writes towards the answer: the direct effects sum to 0."
    top = sorted(direct, key=lambda node: -abs(direct[node]))[:3]
    said = f"Of a logit difference of {whole:.2f}, {listed(f'{node} writes {signed(direct[node])}' for node in top)}"
    through = [n for n in total if n != "embedding" and abs(total[n]) >= 0.2 * abs(whole) > 2 * abs(direct.get(n, 0.0))]
    if through:
        them = listed(f"{node} ({signed(total[node])})" for node in through)
        said += f"; only through later parts {'matters' if len(through) == 1 else 'matter'} {them}"
    return f"{said}."


def faithful(size: int, edges: int, rows: Sequence[Row]) -> str:
    """The range of faithfulness over all ways of asking, beside random circuits; rows of faithfulness."""
    ours = [row for row in rows if row["circuit"] == "found" and row["value"] is not None]
    if not ours:
        return "There is nothing to be faithful to: the model's own effect cannot be told from 0."
    low, high = min(row["value"] for row in ours), max(row["value"] for row in ours)
    said = (
        f"{size} of {edges} edges keep {percent(low)} to {percent(high)} of the effect, over {len(ours)} ways of asking"
    )
    for level in ("edge", "node"):
        random = [
            r["value"] for r in rows if r["circuit"] == "random" and r["level"] == level and r["value"] is not None
        ]
        if random:
            said += f"; random circuits of as many {level}s {percent(min(random))} to {percent(max(random))}"
    return f"{said}. A single number of these would be a choice."


def smallest(rows: Sequence[Row]) -> str:
    """From how many edges on a circuit keeps nine tenths, and what a random one keeps then."""
    found = sorted((row for row in rows if row["circuit"] == "found"), key=lambda row: row["edges"])
    whole = found[-1]["edges"]
    enough = next((row for row in found if row["value"] >= 0.9), None)
    if enough is None:
        return f"No circuit of up to {whole} edges keeps nine tenths of the effect."
    random = next((r["value"] for r in rows if r["circuit"] == "random" and r["edges"] == enough["edges"]), None)
    beside = f" A random circuit of that size keeps {percent(random)} on average." if random is not None else ""
    return f"The strongest {enough['edges']} of {whole} edges keep {percent(enough['value'])} of the effect.{beside}"


def holes(rows: Sequence[Row]) -> str:
    """The largest hole, and how many edges are idle."""
    complete = [row for row in rows if row["metric"] == "completeness"]
    minimal = [row for row in rows if row["metric"] == "minimality"]
    said = []
    if complete:
        worst = max(complete, key=lambda row: abs(row["value"]))
        said.append(f"The largest hole is {worst['value']:.2f} ({worst['subset']})")
    if minimal:
        idle = sum(abs(row["value"]) < 0.05 for row in minimal)
        said.append(f"{idle} of {len(minimal)} edges are idle (below 0.05)")
    return f"{'; '.join(said)}."
