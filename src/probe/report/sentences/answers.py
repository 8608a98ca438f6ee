"""What was asked and how well it is answered, beside what needs no word order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from probe.report.sentences.words import Row, interval, listed, percent


def worth_of_order(ceiling: float, transfer: float) -> str:
    """What the order of words is worth, from the two exact counts."""
    if ceiling >= 0.999:
        start = (
            "The words alone tell every answer, whatever their order: a model that solves this task has shown nothing "
            "about attention."
        )
    elif ceiling > 0.55:
        start = (
            f"The words alone, blind to their order, can tell up to {percent(ceiling)} of the answers: only what a "
            "model has above that needs order."
        )
    else:
        start = (
            f"The words alone, blind to their order, can tell at most {percent(ceiling)} of the answers: whoever has "
            "more has used their order."
        )
    return f"{start} A table of bags of words learned from train scores {percent(transfer)} on held_out."


def does_it_work(trained: Row, untrained: Row | None, ceiling: float, transfer: float) -> str:
    """The verdict on held_out."""
    said = (
        f"It names the right word in {percent(trained['value'])} of {trained['n']} held-out sentences "
        f"({interval(trained)})"
    )
    floor = max(ceiling, transfer)
    if trained["low"] > floor:
        said += f": more than any order-blind answer can have over all sentences ({percent(floor)})."
    elif trained["high"] < floor:
        said += f": less than the best order-blind answer could have over all sentences ({percent(floor)})."
    else:
        said += f": not told apart from the best order-blind answer over all sentences ({percent(floor)})."
    if untrained is not None:
        said += f" Before training it named {percent(untrained['value'])}."
    return said


def over_seeds(solved: Mapping[str, float]) -> str:
    """How many of the seeds solve the task."""
    n, count = int(solved["n"]), int(solved["count"])
    how = "every one" if count == n else "none" if count == 0 else f"{count}"
    return f"Of {n} seeds trained alike, {how} solved it on held_out ({interval(solved)})."


def learned_at(metrics: Sequence[Row]) -> str:
    """When validation accuracy passed a half and nine tenths."""
    last = metrics[-1]
    reached = {
        level: next((row["step"] for row in metrics if row["validation"]["referent_accuracy"] >= level), None)
        for level in (0.5, 0.9)
    }
    end = f"at the end (step {last['step']}) it stands at {percent(last['validation']['referent_accuracy'])}"
    if reached[0.5] is None:
        return f"Validation accuracy never reached one half; {end}."
    if reached[0.9] is None:
        return f"Validation accuracy passed one half by step {reached[0.5]} and never reached nine tenths; {end}."
    return f"Validation accuracy passed one half by step {reached[0.5]} and nine tenths by step {reached[0.9]}; {end}."


def changes_said(rows: Sequence[Row]) -> str:
    """Dated change points, the first four of `dated`; where none was found, that."""
    found = dated(rows)
    if not found:
        return "No curve has a change point that could be dated." if rows else ""
    said = [f"{what_changed(row)} at step {row['step']:.0f} [{row['low']:.0f}, {row['high']:.0f}]" for row in found[:4]]
    more = f", and {len(found) - 4} more" if len(found) > 4 else ""
    return f"Change points, fitted: {listed(said)}{more}."


def dated(rows: Sequence[Row]) -> list[Row]:
    """The changes that were found: those of the whole model first, then those of heads, the largest first."""

    def by_size(row: Row) -> tuple[bool, float]:
        return row["layer"] >= 0, -abs((row.get("after") or 0.0) - (row.get("before") or 0.0))

    return sorted((row for row in rows if row["step"] is not None), key=by_size)


def what_changed(row: Row) -> str:
    """The curve of a change: of the model, or of one head."""
    return row["metric"] if row["layer"] < 0 else f"L{row['layer']}H{row['head']} {row['metric']}"
