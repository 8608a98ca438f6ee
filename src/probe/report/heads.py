"""The heads of a run as text: scores beside their floor, rows of the answer's place, and when what formed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from probe.result import AnalysisResult

COLUMNS = {
    "previous token": "prev. token",
    "first token": "first token",
    "duplicate token": "dupl. token",
    "induction": "induc tion",
    "control": "fixed dist.",
    "entropy": "entr. nats",
    "effective tokens": "eff. words",
    "copying": "copy- ing",
    "copying eigenvalues": "eigen val.",
}
"""What stands in the table, and its heading in two lines of five letters; so a row of nine fits 80 columns."""
SHOWN = 0.05
"""Shares of attention below this are left out of the text; the tables hold them all."""
CHANGED = 0.1
"""So are changes of a head's score by less than this share of the largest value that the score takes, 1 at least."""

Row = Mapping[str, Any]


def heads_text(run: str, scores: AnalysisResult, composition: AnalysisResult, roles: AnalysisResult) -> str:
    """Scores, floors and names of all heads; where each looks from the answer's place; what could compose."""
    rows = scores.table.to_dict("records")
    by_head: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_head.setdefault(_head(row), {})[row["metric"]] = row
    halves = [heading.split() for heading in COLUMNS.values()]
    lines = [f"heads of {run}", ""]
    lines += [f"{'':5}" + "".join(f"{half[line]:>6}" for half in halves) for line in (0, 1)]
    for head, of_head in by_head.items():
        name = ", ".join(row["name"] for row in of_head.values() if row["name"])
        values = [of_head["induction"]["control"] if c == "control" else of_head[c]["value"] for c in COLUMNS]
        lines.append((f"{head:5}" + "".join(f"{value:6.2f}" for value in values) + f"  {name}").rstrip())
    first = next(iter(by_head.values()))
    for what in ("floor", "maximum"):
        values = [f"{'':6}" if c == "control" else f"{first[c][what]:6.2f}" for c in COLUMNS]
        lines.append(f"{what[:5]:5}" + "".join(values).rstrip())
    widest = max((row["high"] - row["low"]) / 2 for row in rows if row["metric"] in ("induction", "previous token"))
    lines += [
        "",
        *_wrapped(f"floor: a head that weighs all words alike (of entropies: one word). {scores.convention}."),
    ]
    lines += _wrapped(
        "fixed dist.: the most that looking back by one fixed distance explains; a head is named after induction only "
        "where it scores above that, and copying where both definitions reach 0.5. Shares are known to "
        f"±{widest:.2f} (95 %)."
    )
    lines += [
        "",
        f"where the answer's place looks, mean over {roles.details['n']} held-out prompts",
        f"({roles.floor}):",
    ]
    lines += _roles_lines(roles)
    found = sorted(composition.table.to_dict("records"), key=lambda row: -row["value"])[:6]
    if found:
        lines += ["", "strongest compositions in the weights", f"({composition.floor}):"]
        lines += [f"  {row['sender']} → {row['receiver']} ({row['metric']})  {row['value']:.3f}" for row in found]
        above = sum(row["value"] > row["control_95"] for row in composition.table.to_dict("records"))
        n = len(composition.table)
        lines.append(f"  above that percentile: {above} of {n} pairs and ways, {n / 20:.0f} by chance")
    return "\n".join(lines)


def _roles_lines(roles: AnalysisResult) -> list[str]:
    """Each head's three largest roles, the untrained model's share of the same in brackets."""
    shares: dict[str, dict[tuple[str, int], dict[str, float]]] = {}
    for row in roles.table.to_dict("records"):
        place = shares.setdefault(_head(row), {}).setdefault((row["role"], row["position"]), {})
        place[row["condition"]] = row["value"]
    lines = []
    for head, places in shares.items():
        most = sorted(places.items(), key=lambda place: -place[1]["trained"])[:3]
        said = [f"{_place(*place)} {of['trained']:.2f} ({of['untrained']:.2f})" for place, of in most]
        kept = [text for text, (_, of) in zip(said, most, strict=True) if of["trained"] >= SHOWN]
        lines.append(f"  {head}  " + "   ".join(kept))
    return [*lines, "  in brackets: the same model before training"]


def rows_text(run: str, rows: AnalysisResult) -> str:
    """The row of the answer's place for every filler: each block's mean over heads, then each head."""
    table = rows.table.to_dict("records")
    tables: dict[tuple[int, int], list[Row]] = {}
    for row in table:
        tables.setdefault((row["layer"], row["head"]), []).append(row)
    n = rows.details["n"]
    lines = [f"where the answer's place looks in {run}", f"(mean over {n} held-out prompts; {rows.floor})"]
    for (layer, head), of_head in sorted(tables.items(), key=lambda item: (item[0][1] >= 0, item[0])):
        title = f"L{layer}H{head}" if head >= 0 else f"block {layer + 1} (layer {layer}), mean over heads"
        lines += ["", title, *_filler_lines(of_head)]
    return "\n".join(lines)


def _filler_lines(rows: Sequence[Row]) -> list[str]:
    """A line a filler; as columns the roles that get a share anywhere, as many as fit 80."""
    most: dict[tuple[str, int], float] = {}
    by_filler: dict[tuple[str, str], dict[tuple[str, int], float]] = {}
    for row in rows:
        place = (row["role"], row["position"])
        most[place] = max(most.get(place, 0.0), row["value"])
        by_filler.setdefault((row["filler_group"], row["filler"]), {})[place] = row["value"]
    kept = sorted((place for place in most if most[place] >= SHOWN), key=lambda place: -most[place])
    width = max([8, *(len(_place(*place)) + 2 for place in kept)])
    columns = sorted(kept[: (80 - 22) // width], key=lambda place: place[1])
    lines = [f"  {'':20}" + "".join(f"{_place(*place):>{width}}" for place in columns)]
    for (group, filler), values in by_filler.items():
        lines.append(f"  {group:9} {filler:10}" + "".join(f"{values[place]:>{width}.2f}" for place in columns))
    return lines


def formation_text(run: str, curves: AnalysisResult, changes: AnalysisResult) -> str:
    """What changed when, in the order of the dates; and how much of what was looked at did not."""
    rows = changes.table.to_dict("records")
    dated = sorted((row for row in rows if row["step"] == row["step"]), key=lambda row: row["step"])
    largest: dict[str, float] = {}
    for row in curves.table.to_dict("records"):
        largest[row["metric"]] = max(1.0, row["value"], largest.get(row["metric"], 1.0))
    shown = [r for r in dated if r["head"] < 0 or abs(r["after"] - r["before"]) >= CHANGED * largest[r["metric"]]]
    details = changes.details
    lines = [f"formation of {run}: {details['checkpoints']} checkpoints, at most {details['gap']} steps apart", ""]
    lines.append(f"{'':26}{'changes at step':>15}{'95 %':>14}{'before':>9}{'after':>8}{'takes':>7}")
    for row in shown:
        takes = f"{row['duration']:.0f}" if row["duration"] >= details["gap"] else f"<{details['gap']}"
        interval = f"{row['low']:.0f} to {row['high']:.0f}"
        lines.append(
            f"{_curve(row):26}{row['step']:15.0f}{interval:>14}{row['before']:9.2f}{row['after']:8.2f}{takes:>7}"
        )
    silent = [row for row in rows if row["step"] != row["step"]]
    flat = [_curve(row) for row in silent if row["head"] < 0]
    lines.append("")
    if flat:
        lines += _wrapped(f"no change point: {', '.join(flat)} (a level or a straight line fits as well).")
    lines += _wrapped(
        f"not listed: {len(dated) - len(shown)} changes of heads below {CHANGED:.0%} of what the score can be, and "
        f"{len(silent) - len(flat)} curves that show no change point."
    )
    if any(row["duration"] < details["gap"] for row in shown):
        lines += _wrapped(
            "changes that take less than the gap of the checkpoints are dated no better than that; finer where the run "
            f"is trained again as it was, with --set checkpoint_every={_finer(details['gap'])} "
            f"--set evaluate_every={_finer(details['gap'])} beside."
        )
    lines += _wrapped(_order(dated, details["gap"]))
    lines += _wrapped(f"{changes.convention}. {curves.convention}.")
    return "\n".join(lines)


def _finer(gap: int) -> int:
    return max(1, gap // 4)


def _order(dated: Sequence[Row], gap: float) -> str:
    """Whether in-context learning and the first induction head form at one time, as far as checkpoints can tell."""
    falls = [row for row in dated if row["metric"] == "in-context score"]
    rises = [row for row in dated if row["metric"] == "induction" and row["after"] - row["before"] >= CHANGED]
    if not falls or not rises:
        return "in-context score and induction heads: no two dates to compare."
    context, head = max(falls, key=lambda row: abs(row["after"] - row["before"])), rises[0]
    when = "together with"
    if head["high"] + gap <= context["low"]:
        when = "before"
    elif context["high"] + gap <= head["low"]:
        when = "after"
    return f"the first induction head ({_head(head)}) forms {when} the largest change of the in-context score."


def _curve(row: Row) -> str:
    return row["metric"] if row["head"] < 0 else f"{_head(row)} {row['metric']}"


def _head(row: Row) -> str:
    return f"L{row['layer']}H{row['head']}"


def _place(role: str, position: int) -> str:
    return role if position < 0 else f"{role}@{position}"


def _wrapped(text: str, width: int = 78) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, break_on_hyphens=False)
