"""Does it work: accuracies with intervals, beside the untrained model, the cheats and the other seeds."""

from __future__ import annotations

from typing import Any

from probe.figures.bars import Bar, Bars, bars_svg
from probe.report.document import Figure, Number, Panel, Section, Table
from probe.report.material import Material
from probe.report.sentences import does_it_work, over_seeds, percent
from probe.report.training import sweep_summary

Rates = dict[tuple[str, str, str], dict[str, Any]]


def works(material: Material) -> Section | None:
    """Bars on held_out, the table of both splits, and the seeds where there are several."""
    rates: Rates = {(r["split"], r["condition"], r["metric"]): r for r in material.rows("accuracy")}
    if not rates:
        return None
    counts = material.counts
    trained = rates["held_out", "trained", "referent accuracy"]
    untrained = rates.get(("held_out", "untrained", "referent accuracy"))
    says = does_it_work(trained, untrained, counts.ceiling, counts.transfer.accuracy)
    parts: list[Any] = [
        Figure(
            name="accuracy",
            title="Is it right, and more often than what is blind to order?",
            says=says,
            panels=(Panel(svg=bars_svg(_bars(material, rates))),),
            note=f"Shares of {trained['n']} held-out sentences; whiskers: 95 % cluster bootstrap over "
            f"{trained['groups']} noun pairs (Wilson where all or none are right). "
            f"{material.results['accuracy'].convention}.",
        ),
        Table(
            name="accuracies",
            title="All rates",
            says="The wrong noun stands beside the right one, because a model can know the pair and not the answer.",
            columns=("split", "model", "rate", "share", "95 %", "n"),
            rows=tuple(_row(row) for row in rates.values()),
            folded=True,
        ),
    ]
    if len(material.siblings) > 1:
        parts.append(_seeds(material))
    return Section(name="works", title="Does it work", parts=tuple(parts))


def _bars(material: Material, rates: Rates) -> Bars:
    counts, d_vocab = material.counts, len(material.dataset.vocabulary)
    floors = {"referent accuracy": 1 / d_vocab, "wrong noun": None, "pair accuracy": 0.5}
    bars = []
    for metric, floor in floors.items():
        ours = rates["held_out", "trained", metric]
        beside = []
        if ("held_out", "untrained", metric) in rates:
            beside.append(("untrained", rates["held_out", "untrained", metric]["value"]))
        if metric == "referent accuracy":
            beside += [("order-blind, at best", counts.ceiling), ("table of bags", counts.transfer.accuracy)]
        bars.append(
            Bar(
                label=metric,
                value=ours["value"],
                low=ours["low"],
                high=ours["high"],
                beside=tuple(beside),
                floor=floor,
                maximum=1.0 if metric != "wrong noun" else None,
            )
        )
    return Bars(title=f"{material.dataset.name}, held_out", bars=tuple(bars), unit="share of sentences")


def _row(row: dict[str, Any]) -> tuple[str | Number, ...]:
    return (
        row["split"],
        row["condition"],
        row["metric"],
        Number(value=row["value"], text=percent(row["value"])),
        f"{percent(row['low'])} to {percent(row['high'])}",
        Number(value=row["n"], text=str(row["n"])),
    )


def _seeds(material: Material) -> Table:
    total = sweep_summary(material.siblings)
    mean, low, high = (total["held_out"][key]["referent_accuracy"] for key in ("mean", "low", "high"))
    rows = [
        (
            Number(
                value=each["seed"], text=f"{each['seed']}{' (this run)' if each['run'] == material.run.name else ''}"
            ),
            Number(value=each["held_out"]["referent_accuracy"], text=percent(each["held_out"]["referent_accuracy"])),
            Number(value=each["held_out"]["distractor_rate"], text=percent(each["held_out"]["distractor_rate"])),
            Number(value=each["steps"], text=str(each["steps"])),
        )
        for each in material.siblings
    ]
    return Table(
        name="seeds",
        title="The same, from other seeds",
        says=f"{over_seeds(total['solved'])} Mean {percent(mean)}, 95 % interval over seeds {percent(low)} to "
        f"{percent(high)}.",
        columns=("seed", "right on held_out", "wrong noun", "steps"),
        rows=tuple(rows),
        note="A claim about an architecture is a claim about many seeds.",
    )
