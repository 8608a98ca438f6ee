"""Several runs: in how many ways they answer, and how much of their circuits they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probe.report.sentences.words import Row, counted, listed


def ways_said(contrast: str, by_strategy: Mapping[str, int], untold: int = 0) -> str:
    """In how many ways a contrast reaches the answer, over runs; `untold` are those that were not traced.

    >>> ways_said("adjective", {"one hop": 1}, untold=2)
    'The adjective reaches the answer by one hop in the one run that was traced (2 were not).'
    """
    runs = sum(by_strategy.values())
    rest = f" ({untold} {'was' if untold == 1 else 'were'} not)" if untold else ""
    if not runs:
        return f"The {contrast} was traced in none of {untold} runs."
    traced = " that were traced" if untold else ""
    most, count = max(by_strategy.items(), key=lambda item: item[1])
    if runs == 1:
        return f"The {contrast} reaches the answer by {most} in the one run that was traced{rest}."
    if len(by_strategy) == 1:
        return f"The {contrast} reaches the answer in the same way in all {runs} runs{traced}{rest}: {most}."
    start = f"The {contrast} reaches the answer in {len(by_strategy)} different ways in {runs} runs{traced}{rest}"
    return f"{start}; no two do the same." if count == 1 else f"{start}; the commonest, in {count} of them: {most}."


def shared_edges(overlap: Mapping[str, Row]) -> str:
    """How much of their circuits runs share, heads paired by what they do or by their number."""
    ours, blind = overlap["by what they do"], overlap["by number"]
    alike = "No pairing of heads makes" if ours["value"] <= blind["value"] else "Pairing heads by what they do makes"
    return (
        f"{alike} the circuits more alike: {ours['value']:.2f} of the edges of two runs are shared "
        f"[{ours['low']:.2f}, {ours['high']:.2f}], {blind['value']:.2f} where heads are paired by their numbers."
    )


def common_kinds(rows: Sequence[Row]) -> str:
    """How many kinds of edges all runs have; rows by the share of runs."""
    if not rows:
        return "No run has an edge that carries a tenth of the effect."
    everywhere = [row["subject"] for row in rows if row["value"] == 1.0]
    if not everywhere:
        return f"Of {counted(len(rows), 'kind')} of edges none stands in every run."
    said, few = f"Of {counted(len(rows), 'kind')} of edges {len(everywhere)} stand in every run", listed(everywhere[:4])
    return f"{said}: {few}." if len(everywhere) <= 4 else f"{said}, among them {few}."
