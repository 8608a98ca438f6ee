"""The report on several runs: do they all work, in the same way, and which head of one is which of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from probe.figures.bars import Bar, Bars, bars_svg
from probe.figures.findings import Row, records
from probe.intervals import bootstrap_interval, share_interval
from probe.report.document import Figure, Lines, Number, Panel, Part, Report, Section, Table
from probe.report.material import Material
from probe.report.sections.causes import PORTS
from probe.report.sentences import common_kinds, counted, effect, listed, percent, shared_edges, signed, ways_said
from probe.report.training import sweep_summary
from probe.result import AnalysisResult
from probe.store import but_seed

UNTRACED, UNNAMED = "not traced", "traced before strategies were kept"
"""What stands in place of a strategy; no way to the answer."""
SHOWN = 6
"""Runs that have a column of their own."""


def comparison_of(materials: Sequence[Material], stability: AnalysisResult | None = None) -> Report:
    """Compare runs; `stability` is that of the runs of one shape, where there are several."""
    sections = [_compared(materials), _works(materials), _strategies(materials), _ways(materials)]
    sections.append(_heads(materials, stability) if stability is not None else None)
    made = tuple(section for section in sections if section is not None)
    first = materials[0]
    tasks = list(dict.fromkeys(each.dataset.name for each in materials))
    variants = list(dict.fromkeys(each.run.manifest["variant"] for each in materials))
    return Report(
        title=f"{counted(len(materials), 'run')} of {listed(variants)} on {listed(tasks)}, side by side",
        subtitle=f"seeds {listed(str(each.run.manifest['training']['seed']) for each in materials)} · first: "
        f"{first.run.name}",
        summary=tuple(_says(section) for section in made[1:]),
        sections=(*made, _reproduce(materials)),
        numbers={
            "schema": 1,
            "runs": [each.run.name for each in materials],
            "held_out": [each.summary["held_out"]["referent_accuracy"] for each in materials],
        },
    )


def _says(section: Section) -> str:
    return (
        section.says[0]
        if section.says
        else next(part.says for part in section.parts if isinstance(part, Figure | Table))
    )


def name_of(material: Material) -> str:
    """A run in a table: its variant and seed."""
    return f"{material.run.manifest['variant']}, seed {material.run.manifest['training']['seed']}"


def _compared(materials: Sequence[Material]) -> Section:
    rows = tuple(
        (
            each.run.name,
            each.run.manifest["variant"],
            Number(value=each.run.manifest["training"]["seed"], text=str(each.run.manifest["training"]["seed"])),
            Number(value=sum(each.parameters.values()), text=f"{sum(each.parameters.values()):,}"),
            Number(value=each.summary["steps"], text=f"{each.summary['steps']:,}"),
        )
        for each in materials
    )
    return Section(
        name="compared",
        title="Who is compared",
        parts=(
            Table(
                name="runs",
                title="The runs",
                says=_alike(materials),
                columns=("run", "variant", "seed", "parameters", "steps"),
                rows=rows,
            ),
        ),
    )


def _alike(materials: Sequence[Material]) -> str:
    """What the runs share, and what they do not."""
    differ = []
    for what, values in (
        ("task", {each.run.manifest["data_sha256"] for each in materials}),
        ("variant", {each.run.manifest["variant"] for each in materials}),
        ("seed", {each.run.manifest["training"]["seed"] for each in materials}),
    ):
        if len(values) > 1:
            differ.append(f"{what} ({len(values)} values)")
    kinds = {(each.run.manifest["data_sha256"], each.run.manifest["variant"]) for each in materials}
    if len({but_seed(each.run) for each in materials}) > len(kinds):
        differ.append("settings of model or training")
    if not differ:
        return "They differ in no setting of task, model or training."
    said = f"They differ in {listed(differ)}."
    return (
        said
        if differ != [f"seed ({len(materials)} values)"]
        else f"{said} All else is equal, so what differs is chance."
    )


def _works(materials: Sequence[Material]) -> Section:
    bars = []
    for each in materials:
        scores, ceiling = each.summary["held_out"], each.counts.ceiling
        row = next(
            (r for r in each.rows("accuracy") if (r["split"], r["condition"], r["metric"]) == _OURS),
            {"low": None, "high": None},
        )
        bars.append(
            Bar(
                label=name_of(each),
                value=scores["referent_accuracy"],
                low=row["low"],
                high=row["high"],
                beside=(("order-blind, at best", ceiling), ("wrong noun", scores["distractor_rate"])),
                maximum=1.0,
            )
        )
    return Section(
        name="works",
        title="Do they work",
        parts=(
            Figure(
                name="accuracy",
                title="Right on held_out, run by run",
                says=" ".join(_spread(name, group) for name, group in _by_variant(materials).items()),
                panels=(Panel(svg=bars_svg(Bars(title="held_out", bars=tuple(bars), unit="share of sentences"))),),
                note="Whiskers: 95 % cluster bootstrap over noun pairs, within a run. The interval over runs is in "
                "the sentence.",
            ),
        ),
    )


_OURS = ("held_out", "trained", "referent accuracy")


def _by_variant(materials: Sequence[Material]) -> dict[str, list[Material]]:
    """Runs that are alike but for the seed; a variant that was run with several settings has a group for each."""
    groups: dict[tuple[str, str], list[Material]] = {}
    for each in materials:
        name = f"{each.run.manifest['variant']} on {each.dataset.name}"
        groups.setdefault((name, but_seed(each.run)), []).append(each)
    names = [name for name, _ in groups]
    return {
        name if names.count(name) == 1 else f"{name} (as {group[0].run.name})": group
        for (name, _), group in groups.items()
    }


def _spread(name: str, group: Sequence[Material]) -> str:
    total = sweep_summary([each.summary for each in group])
    mean, low, high = (total["held_out"][key]["referent_accuracy"] for key in ("mean", "low", "high"))
    solved = total["solved"]
    over = f", 95 % interval over runs {percent(low)} to {percent(high)}" if len(group) > 1 else ""
    return f"{name}: {percent(mean)} right on average{over}; {solved['count']} of {solved['n']} solved it."


def _strategies(materials: Sequence[Material]) -> Section | None:
    tables: list[Part] = []
    contrasts = list(dict.fromkeys(contrast for each in materials for contrast in each.named("trace-ways-")))
    for contrast in contrasts:
        named: Counter[tuple[str, str]] = Counter()
        sizes: Counter[str] = Counter()
        for variant, group in _by_variant(materials).items():
            for each in group:
                ways = each.named("trace-ways-").get(contrast)
                strategy = ways.details.get("strategy", UNNAMED) if ways else UNTRACED
                named[variant, strategy] += 1
                sizes[variant] += 1
        if not named:
            continue
        rows = []
        for (variant, strategy), count in named.most_common():
            low, high = share_interval(count, sizes[variant])
            share = Number(value=count / sizes[variant], text=f"{count} of {sizes[variant]}")
            rows.append((variant, strategy, share, f"{low:.0%} to {high:.0%}"))
        by_strategy = Counter[str]()
        for (_, strategy), count in named.items():
            by_strategy[strategy] += count
        untold = by_strategy.pop(UNTRACED, 0) + by_strategy.pop(UNNAMED, 0)
        tables.append(
            Table(
                name=f"strategies-{contrast}",
                title=f"By which way the {contrast.replace('-', ' ')} reaches the answer",
                says=ways_said(contrast.replace("-", " "), by_strategy, untold),
                columns=("model", "strategy", "runs", "95 % (Wilson)"),
                rows=tuple(rows),
            )
        )
    return Section(name="strategies", title="Do they work in the same way", parts=tuple(tables)) if tables else None


def _ways(materials: Sequence[Material]) -> Section | None:
    """What each layer loses by each port, over runs of the first one's variant."""
    group = next(iter(_by_variant(materials).values()))
    parts: list[Part] = []
    for contrast in materials[0].named("trace-ways-"):
        values: dict[tuple[int, str, str], list[float]] = {}
        for each in group:
            for row in each.rows(f"trace-ways-{contrast}"):
                values.setdefault((row["layer"], row["port"], row["source"]), []).append(row["value"])
        rows: list[tuple[Any, ...]] = []
        for (layer, port, source), of_runs in values.items():
            if max(map(abs, of_runs)) >= 0.1:
                mean = sum(of_runs) / len(of_runs)
                low, high = bootstrap_interval(of_runs)
                text = f"{signed(mean)} [{signed(low)}, {signed(high)}]"
                extent = f"{signed(min(of_runs))} to {signed(max(of_runs))}"
                place = Number(value=layer, text=str(layer))
                rows.append((place, PORTS[port], source, Number(value=mean, text=text), extent))
        if rows and len(group) > 1:
            widest = max(rows, key=lambda row: float(row[4].split(" to ")[1]) - float(row[4].split(" to ")[0]))
            parts.append(
                Table(
                    name=f"spread-{contrast}",
                    title=f"From whom each layer hears of the {contrast.replace('-', ' ')}, over {len(group)} runs",
                    says=f"Runs differ most in what layer {widest[0].text} hears from {widest[2]} by its "
                    f"{widest[1]}: from {widest[4]}.",
                    columns=("layer", "reads by", "from", "lost: mean [95 % over runs]", "smallest to largest"),
                    rows=tuple(rows),
                )
            )
    return Section(name="spread", title="How far do they differ", parts=tuple(parts)) if parts else None


def _heads(materials: Sequence[Material], stability: AnalysisResult) -> Section:
    """Heads matched by what they do, and which kinds of edges the runs share."""
    names = {each.run.name: name_of(each) for each in materials}
    medoid, matches = str(stability.details["medoid"]), stability.details["matches"]
    rows = records(stability)
    deeds: dict[str, Row] = {}
    for row in rows:
        head = row["subject"].partition(": ")[0]
        if row["what"] == "head" and abs(row["value"]) > abs(deeds.get(head, {"value": 0.0})["value"]):
            deeds[head] = row
    others = [run for run in stability.details["runs"] if run != medoid][:SHOWN]
    overlap = {row["subject"]: row for row in rows if row["what"] == "overlap"}
    kinds = sorted((row for row in rows if row["what"] == "edge kind"), key=lambda row: -row["value"])
    return Section(
        name="heads",
        title="Which head of one is which of another",
        parts=(
            Table(
                name="matched",
                title=f"Heads matched to those of {names[medoid]}, the run most like all others",
                says=shared_edges(overlap) if overlap else "No two of these runs were traced on the same contrast.",
                columns=("head", "what it does most", "on average [95 % over runs]", *(names[run] for run in others)),
                rows=tuple(
                    (
                        head,
                        row["subject"].partition(": ")[2],
                        Number(value=row["value"], text=effect(row)),
                        *(str(matches[run].get(head, "–")) for run in others),
                    )
                    for head, row in sorted(deeds.items())
                ),
                note=f"{stability.convention}. Heads that do nothing in any run are left out."
                + (f" The first {SHOWN} runs are shown." if len(stability.details["runs"]) - 1 > SHOWN else ""),
            ),
            Table(
                name="edge-kinds",
                title="Kinds of edges, and how many runs have them",
                says=common_kinds(kinds),
                columns=("edge", "runs", "95 % (Wilson)"),
                rows=tuple(
                    (
                        row["subject"],
                        Number(value=row["value"], text=f"{row['value'] * row['n']:.0f} of {row['n']}"),
                        f"{row['low']:.0%} to {row['high']:.0%}",
                    )
                    for row in kinds
                ),
                folded=len(kinds) > 20,
            ),
        ),
    )


def _reproduce(materials: Sequence[Material]) -> Section:
    names = " ".join(each.run.name for each in materials)
    commands = [f"probe compare {names}", *(f"probe verify {each.run.name}" for each in materials)]
    gone = sorted({f"{name} of {each.run.name}: {why}" for each in materials for name, why in each.missing.items()})
    return Section(
        name="reproduce",
        title="How to reproduce",
        says=(f"Left out, with the reason: {'; '.join(gone)}.",) if gone else (),
        parts=(Lines(title="Commands", text="\n".join(commands)),),
    )
