"""Probes and interchange as text: what can be read where, and what of it the model uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from probe.result import AnalysisResult

READABLE = 0.8
"""A target counts as readable where the probe is right this often."""
USED = 0.5
"""And as used along the probe where so many answers become what they must when it alone is swapped."""
MOST = 3
"""Places at which a target is used that are shown with all that was measured."""
UNMOVED = 0.05
"""A place is not used where swapping all of it changes fewer answers."""
SHOWN = 0.1
"""Interchange that exceeds its floor by less is left out of the text; the table holds it."""

Row = dict[str, Any]
Place = tuple[str, int, int]


def probes_text(
    run: str, probes: AnalysisResult, interchange: AnalysisResult, subspaces: AnalysisResult | None = None
) -> str:
    """For each target a table of layer × position, its best site, and what of it is used; then the interchange."""
    everything = probes.table.to_dict("records")
    rows = [row for row in everything if row["kind"] != "z"]
    moved = _moved(interchange)
    lines = [f"linear probes of {run}: what can be read in the residual stream, in % of held-out sentences"]
    lines.append(
        "(· before the word is there; a probe shows presence, not use: the causal checks stand below each table)"
    )
    for target in dict.fromkeys(row["target"] for row in rows):
        lines += ["", *_target(target, [row for row in rows if row["target"] == target], moved)]
        lines += _heads([row for row in everything if row["target"] == target])
    lines += ["", interchange_text(interchange)]
    return "\n".join(lines if subspaces is None else [*lines, "", subspaces_text(subspaces)])


def place_name(row: Mapping[str, Any]) -> str:
    """Where in the stream.

    >>> place_name({"kind": "resid_mid", "layer": 0, "role": "adjective", "position": 11})
    'adjective (11), within layer 0'
    """
    return f"{row['role']} ({row['position']}), {_stage(row['kind'], row['layer'])}"


def _stage(kind: str, layer: int) -> str:
    return {"resid_pre": f"before layer {layer}", "resid_mid": f"within layer {layer}"}.get(kind, "at the end")


def _place(row: Mapping[str, Any]) -> Place:
    return row["kind"], row["layer"], row["position"]


def _moved(interchange: AnalysisResult) -> dict[Place, float]:
    """Place -> the largest share of answers that change when all of it is swapped, over the variables."""
    moved: dict[Place, float] = {}
    for row in interchange.table.to_dict("records"):
        if (row["metric"], row["condition"]) == ("answer unchanged", "trained"):
            moved[_place(row)] = max(moved.get(_place(row), 0.0), 1 - row["value"])
    return moved


def _target(target: str, rows: Sequence[Row], moved: Mapping[Place, float]) -> list[str]:
    by_metric: dict[tuple[str, str], dict[Place, Row]] = {}
    for row in rows:
        by_metric.setdefault((row["metric"], row["condition"]), {})[_place(row)] = row
    accuracy = by_metric["accuracy", "trained"]
    selectivity = by_metric.get(("selectivity", "trained"), {})
    floor = next(iter(accuracy.values()))["floor"]
    roles = {row["position"]: row["role"] for row in rows}
    positions = range(max(roles) + 1)
    lines = [f"{target}   (always the most frequent one: {floor:.0%})"]
    lines.append(f"{'':24}" + "".join(f"{_short(roles.get(position, '')):>6}" for position in positions))
    blocks = {"": accuracy, "untrained ": by_metric["accuracy", "untrained"], "selectivity ": selectivity}
    for name, block in blocks.items():
        for kind, layer in dict.fromkeys((kind, layer) for kind, layer, _ in block):
            cells = (block.get((kind, layer, position)) for position in positions)
            label = f"  {name}{_stage(kind, layer).replace('layer ', 'L')}"
            lines.append(f"{label:24}" + "".join(f"{_cell(cell):>6}" for cell in cells))
    if not selectivity:
        lines.append("  selectivity is 0 by construction: the label is the word itself")
    along = by_metric["interchange along the probe", "trained"]
    used = [place for place in along if along[place]["value"] > USED and accuracy[place]["value"] >= READABLE]
    named = used[:MOST] or [max(accuracy, key=lambda place: accuracy[place]["value"])]
    lines.append(_use(accuracy, along, moved))
    for place in named:
        lines += _measured({key: rows[place] for key, rows in by_metric.items() if place in rows})
    return lines


def _short(role: str) -> str:
    return role if len(role) <= 5 else role[:4] + "…"


def _cell(row: Row | None) -> str:
    return "·" if row is None else f"{round(100 * row['value']):d}"


def _measured(rows: Mapping[tuple[str, str], Row]) -> list[str]:
    """All that was measured at one place."""
    accuracy, bits = rows["accuracy", "trained"], rows["codelength", "trained"]
    said = [f"accuracy {_share(accuracy)}", f"untrained {rows['accuracy', 'untrained']['value']:.0%}"]
    if ("selectivity", "trained") in rows:
        said.append(f"selectivity {_share(rows['selectivity', 'trained'])}")
    said.append(f"{bits['value']:.0f} bits of {bits['floor']:.0f}")
    splits = [metric for metric, condition in rows if metric.startswith("accuracy, ") and condition == "trained"]
    shares = (
        f"{split.removeprefix('accuracy, ')} {rows[split, 'trained']['value']:.0%} "
        f"(untrained {rows[split, 'untrained']['value']:.0%})"
        for split in splits
    )
    lines = [f"    {place_name(accuracy)}:", f"      {', '.join(said)}"]
    lines += [f"      scored on {', on '.join(shares)}"] if splits else []
    causal = [
        f"{words} {_share(rows[metric, 'trained'])} (random directions {rows[metric, 'control']['value']:.0%})"
        for metric, words in (
            ("interchange along the probe", "swapped along the probe: the answer becomes what it must"),
            ("lost by erasure", "erased: right answers lost"),
        )
    ]
    return [*lines, *(f"      {line}" for line in causal)]


def _share(row: Row) -> str:
    return f"{row['value']:.0%} [{row['low']:.0%}, {row['high']:.0%}]"


def _use(accuracy: Mapping[Place, Row], along: Mapping[Place, Row], moved: Mapping[Place, float]) -> str:
    """At how many of the places where a target can be read it is used.

    Not used: swapping everything that stands there changes no answer, or the place reaches none.
    """
    readable = [place for place, row in accuracy.items() if row["value"] >= READABLE]
    used = [place for place in readable if along[place]["value"] > USED]
    idle = [place for place in readable if place not in used and moved.get(place, 0.0) <= UNMOVED]
    rest = len(readable) - len(used) - len(idle)
    said = f"  readable (≥ {READABLE:.0%}) at {len(readable)} of {len(accuracy)} places: "
    said += f"used along the probe at {len(used)}; present, not used at {len(idle)}"
    return said + (f"; {rest} matter in another way" if rest else "")


def _heads(rows: Sequence[Row]) -> list[str]:
    """The heads' outputs from which most can be read."""
    heads = [r for r in rows if (r["kind"], r["metric"], r["condition"]) == ("z", "accuracy", "trained")]
    best = sorted(heads, key=lambda row: -row["value"])[:3]
    said = ", ".join(
        f"L{row['layer']}H{row['head']} at {row['role']} ({row['position']}) {row['value']:.0%}" for row in best
    )
    return [f"  in heads' outputs: {said}"] if best else []


def interchange_text(result: AnalysisResult) -> str:
    """The places that carry one variable and no other."""
    rows = result.table.to_dict("records")
    lines = ["interchange: one place is taken from another sentence; the answer is what this variable alone demands"]
    for variable in dict.fromkeys(row["variable"] for row in rows):
        of_variable = [row for row in rows if row["variable"] == variable and row["metric"] == "interchange accuracy"]
        found = [r for r in of_variable if r["condition"] == "trained" and r["value"] - r["floor"] >= SHOWN]
        control = max((r["value"] for r in of_variable if r["condition"] == "untrained"), default=0.0)
        lines.append(f"  {variable} ({of_variable[0]['n']} pairs; untrained at most {control:.0%}):")
        lines += [f"    {place_name(row):44}{_share(row)}" for row in found]
    return "\n".join(lines)


def subspaces_text(result: AnalysisResult) -> str:
    """Learned subspaces beside both of their controls."""
    by_variable: dict[str, dict[str, Row]] = {}
    for row in result.table.to_dict("records"):
        by_variable.setdefault(row["variable"], {})[row["condition"]] = row
    lines = ["learned subspaces (on held-out pairs; arbitrary labels and an untrained model must fail):"]
    for variable, by in by_variable.items():
        row = by["trained"]
        lines.append(f"  {variable}: {place_name(row)}, {row['dimension']} of {row['of']} dimensions: {_share(row)}")
        controls = f"arbitrary labels {_share(by['control'])}, untrained {_share(by['untrained'])}"
        lines.append(f"    {controls}")
    return "\n".join(lines)
