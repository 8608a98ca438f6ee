"""What can be read where, and whether it is used."""

from __future__ import annotations

from collections.abc import Sequence

from probe.report.sentences.words import Row, listed, percent, signed


def readable(rows: Sequence[Row]) -> str:
    """For each target where a probe reads it best, and by how much it beats its control."""
    said = []
    for target in dict.fromkeys(row["target"] for row in rows):
        own = [r for r in rows if r["target"] == target and r["value"] is not None]
        of_trained = [r for r in own if r["metric"] == "accuracy" and r["condition"] == "trained"]
        if not of_trained:
            continue
        best = max(of_trained, key=lambda row: row["value"])
        more = next((r for r in own if r["metric"] == "selectivity" and _same_place(r, best)), None)
        beside = f", {signed(more['value'])} above its control task" if more else ""
        said.append(f"{target} best {_place(best)} ({percent(best['value'])}{beside})")
    return f"Read off: {'; '.join(said)}. Presence is not use." if said else "No probe was fitted."


def interchanged(rows: Sequence[Row]) -> str:
    """For each variable the places at which swapping it works, layer by layer, beside the untrained model."""
    wanted = [r for r in rows if r["metric"] == "interchange accuracy" and r["value"] is not None]
    if not wanted:
        return "No variable was swapped."
    said = []
    for variable in dict.fromkeys(row["variable"] for row in wanted):
        own = [r for r in wanted if r["variable"] == variable]
        works = [r for r in own if r["condition"] == "trained" and r["value"] >= 0.5 and r["kind"] == "resid_pre"]
        layers = sorted({r["layer"] for r in works})
        places = [f"{listed(r['role'] for r in works if r['layer'] == n)} (before layer {n})" for n in layers]
        said.append(f"{variable} at {', then '.join(places)}" if places else f"{variable} nowhere before the end")
    blank = [r["value"] for r in wanted if r["condition"] == "untrained"]
    beside = f" In the untrained model it works in at most {percent(max(blank))} of the pairs." if blank else ""
    return f"Swapping works in half of the pairs or more: {'; '.join(said)}.{beside}"


def _same_place(a: Row, b: Row) -> bool:
    return a["condition"] == b["condition"] and all(
        a.get(key) == b.get(key) for key in ("kind", "layer", "head", "position")
    )


def _place(row: Row) -> str:
    where = {"resid_pre": "before", "resid_mid": "within", "resid_post": "after"}.get(str(row.get("kind")), "in")
    return f"{where} layer {row['layer']:.0f} at {row['role']}"
