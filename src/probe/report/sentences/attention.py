"""Where a model looks, in words: rows of attention, and what a changed word moves in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from probe.report.sentences.words import Row, counted, listed


def _at(tokens: Sequence[str], i: int) -> str:
    """A word and its position, because words repeat."""
    return f"{tokens[i]}@{i}"


def looks_said(block: str, tokens: Sequence[str], row: Sequence[float]) -> str:
    """What a row of attention rests on.

    >>> looks_said("block 2", ["the", "dog", "barked"], [0.05, 0.85, 0.1])
    'block 2 rests on dog@1 (0.85) and barked@2 (0.10)'
    """
    top = sorted(range(len(row)), key=lambda i: -row[i])[:3]
    if row[top[0]] < min(0.5, 2 / len(row)):
        return f"{block} spreads over all words (at most {row[top[0]]:.2f}, on {_at(tokens, top[0])})"
    kept = [i for i in top if row[i] >= 0.1] or top[:1]
    return f"{block} rests on {listed(f'{_at(tokens, i)} ({row[i]:.2f})' for i in kept)}"


def as_the_chapter(tokens: Sequence[str], row: Iterable[float]) -> str:
    """A row of attention in words, as the chapter prints it, with places.

    >>> as_the_chapter(["the", "dog"], [0.03, 0.97])
    'dog@1:0.97'
    """
    strong = [(i, weight) for i, weight in enumerate(row) if weight >= 0.05]
    return " ".join(f"{_at(tokens, i)}:{weight:.2f}" for i, weight in strong) or "spread"


def moved(block: str, tokens: Sequence[str], change: Sequence[float], words: tuple[str, str]) -> str:
    """What the changed word moves in a row."""
    order = sorted(range(len(change)), key=lambda i: -abs(change[i]))
    if abs(change[order[0]]) < 0.05:
        return f"{block} hardly changes (by at most {abs(change[order[0]]):.2f}) between {words[0]} and {words[1]}"
    gained = [i for i in order[:3] if change[i] >= 0.05]
    lost = [i for i in order[:3] if change[i] <= -0.05]
    said = [f"to {listed(f'{_at(tokens, i)} ({change[i]:+.2f})' for i in gained)}"] if gained else []
    said += [f"away from {listed(f'{_at(tokens, i)} ({change[i]:+.2f})' for i in lost)}"] if lost else []
    return f"{block} moves {' and '.join(said)} when {words[0]} becomes {words[1]}"


def rows_said(rows: Sequence[Row]) -> str:
    """Which block's row changes with the word in the slot; rows of block means over fillers."""
    said = []
    for layer in sorted({row["layer"] for row in rows}):
        spread: dict[Any, list[float]] = {}
        for row in rows:
            if row["layer"] == layer:
                spread.setdefault((row["role"], row["position"]), []).append(row["value"])
        (role, _), values = max(spread.items(), key=lambda item: max(item[1]) - min(item[1]))
        extent = max(values) - min(values)
        if extent < 0.05:
            said.append(f"block {layer + 1} is the same for all of them (within {extent:.2f})")
        else:
            said.append(f"block {layer + 1} differs most at {role}: {min(values):.2f} to {max(values):.2f}")
    fillers = len({row["filler"] for row in rows})
    return f"Over {fillers} words in the slot, {'; '.join(said)}."


def roles_said(rows: Sequence[Row]) -> str:
    """Where each layer's heads look from the answer's place, on average over sentences.

    `elsewhere` is no role, but all places that have none.
    """
    trained = [row for row in rows if row.get("condition", "trained") == "trained"]
    heads = {(row["layer"], row["head"]) for row in trained}
    top: dict[tuple[int, int], Row] = {}
    for row in trained:
        head = (row["layer"], row["head"])
        if row["role"] != "elsewhere" and (head not in top or row["value"] > top[head]["value"]):
            top[head] = row
    hard = [
        f"L{layer}H{head} at {row['role']} ({row['value']:.2f})"
        for (layer, head), row in top.items()
        if row["value"] >= 0.5
    ]
    if not hard:
        return "Over held-out sentences no head puts half of its attention on one role."
    return (
        f"Over held-out sentences {counted(len(hard), 'head')} of {len(heads)} "
        f"{'looks' if len(hard) == 1 else 'look'} at one role with half of {'its' if len(hard) == 1 else 'their'} "
        f"weight: {listed(hard)}."
    )
