"""Several runs: in how many ways they answer, and how much of their circuits they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probe.report.sentences.words import Row, counted, listed

UNNAMED = "no circuit"
"""How a strategy begins that names none."""


def ways_said(contrast: str, by_strategy: Mapping[str, int], untold: int = 0) -> str:
    """In how many ways a contrast reaches the answer, over runs; `untold` are those that were not traced.

    >>> ways_said("adjective", {"one hop": 1}, untold=2)
    'The adjective reaches the answer by one hop in the one run that was traced (2 were not).'
    >>> ways_said("adjective", {"one hop": 2, "no circuit of one or two hops: …": 1})
    'The adjective reaches the answer in the same way in all 2 runs, where it has a name (in 1 it has none): one hop.'
    """
    rest = f" ({untold} {'was' if untold == 1 else 'were'} not)" if untold else ""
    runs = sum(by_strategy.values())
    if not runs:
        return f"The {contrast} was traced in none of {untold} runs."
    named = {way: count for way, count in by_strategy.items() if not way.startswith(UNNAMED)}
    told = sum(named.values()) or runs
    traced = f" that {'was' if told == 1 else 'were'} traced{rest}" if untold else ""
    if not named:
        where = f"any of {runs} runs{traced}" if runs > 1 else f"the one run{traced or ' that was traced'}"
        return (
            f"The {contrast} reaches the answer in neither one hop nor two in {where}: no single reading carries half."
        )
    if told < runs:
        traced += f", where it has a name (in {runs - told} it has none)"
    if told == 1:
        return f"The {contrast} reaches the answer by {next(iter(named))} in the one run{traced or ' that was traced'}."
    if len(named) == 1:
        return f"The {contrast} reaches the answer in the same way in all {told} runs{traced}: {next(iter(named))}."
    most = max(named.values())
    start = f"The {contrast} reaches the answer in {len(named)} different ways in {told} runs{traced}"
    if most == 1:
        return f"{start}; no two do the same."
    common = [way for way, count in named.items() if count == most]
    return f"{start}; the commonest, in {most} of them{' each' if len(common) > 1 else ''}: {'; and '.join(common)}."


def shared_edges(overlap: Mapping[str, Row]) -> str:
    """How much of their circuits runs share, heads paired by what they do or by their number; two runs are one pair."""
    ours, blind = overlap["by what they do"], overlap["by number"]
    alike = "No pairing of heads makes" if ours["value"] <= blind["value"] else "Pairing heads by what they do makes"
    spread = "" if ours["low"] is None else f" [{ours['low']:.2f}, {ours['high']:.2f}]"
    return (
        f"{alike} the circuits more alike: {ours['value']:.2f} of the edges of two runs are shared{spread}, "
        f"{blind['value']:.2f} where heads are paired by their numbers."
    )


def common_kinds(rows: Sequence[Row]) -> str:
    """How many kinds of edges all runs have; rows by the share of the `n` runs in which their contrast was traced."""
    if not rows:
        return "No run has an edge that carries a tenth of the effect."
    runs = max(row["n"] for row in rows)
    everywhere = [row["subject"] for row in rows if row["value"] == 1.0 and row["n"] == runs]
    if not everywhere:
        return f"Of {counted(len(rows), 'kind')} of edges none stands in every run."
    said, few = f"Of {counted(len(rows), 'kind')} of edges {len(everywhere)} stand in every run", listed(everywhere[:4])
    return f"{said}: {few}." if len(everywhere) <= 4 else f"{said}, among them {few}."
