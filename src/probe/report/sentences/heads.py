"""What heads are called, and what could compose with what."""

from __future__ import annotations

from collections.abc import Sequence

from probe.report.sentences.words import Row, counted, listed


def named_heads(rows: Sequence[Row]) -> str:
    """Which heads earn a name."""
    names: dict[str, list[str]] = {}
    for row in rows:
        if row.get("name"):
            names.setdefault(row["name"], []).append(f"L{row['layer']}H{row['head']}")
    if not names:
        return "No head earns a name: on random repeated sequences none scores 0.50 or more and above its control."
    return (
        "; ".join(f"{listed(heads)}: {name} head{'s' if len(heads) > 1 else ''}" for name, heads in names.items()) + "."
    )


def composed(rows: Sequence[Row]) -> str:
    """Whether any pair of heads composes more than chance in the weights; rows from the largest down."""
    first = rows[0]
    times = first["value"] / first["control"]
    pair = (
        f"{first['sender']} → {first['receiver']} ({first['metric']}), {first['value']:.3f}, {times:.1f} times chance"
    )
    if times < 1.5:
        return f"No pair of heads stands out: the largest score is that of {pair}."
    above = sum(row["value"] >= 1.5 * row["control"] for row in rows)
    return (
        f"{counted(above, 'pairing')} of {len(rows)} score 1.5 times chance or more; the largest: {pair}. It says "
        "what could."
    )
