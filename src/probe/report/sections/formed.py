"""How it came to be: curves over training with dated change points, and the maps at every checkpoint."""

from __future__ import annotations

from typing import Any

from probe.figures.lines import Change, Lines, Series, lines_svg
from probe.report.attention import map_panel
from probe.report.document import Figure, Number, Panel, Part, Section, Table
from probe.report.material import Material, weights_along
from probe.report.sentences import as_the_chapter, changes_said, dated, learned_at, what_changed

FORMATION = {
    "previous token": "best previous token",
    "induction": "best induction",
    "in-context score": "in-context score, nats",
}
"""Scores of the formation that the strip shows, and their names there."""


def formed(material: Material) -> Section | None:
    """The training strip, and the maps along it."""
    if len(material.metrics) < 2:
        return None
    parts: list[Part] = [_strip(material)]
    parts += _maps(material)
    return Section(name="formed", title="How it came to be", parts=tuple(parts))


def _strip(material: Material) -> Figure:
    metrics = material.metrics
    first = metrics[0]["loss"]
    series = [
        _series("right (validation)", metrics, lambda row: row["validation"]["referent_accuracy"]),
        _series("loss ÷ first", metrics, lambda row: row["loss"] / first),
        _series("wrong noun", metrics, lambda row: row["validation"]["distractor_rate"], control=True),
    ]
    series += _formation(material)
    changes = tuple(
        Change(name=what_changed(row), x=row["step"], low=row.get("low"), high=row.get("high"))
        for row in dated(material.rows("formation-changes"))
    )
    drawn = Lines(
        title=f"Training of {material.run.manifest['variant']} on {material.dataset.name}",
        series=tuple(series),
        x_is="step",
        unit="share right on validation; loss as a share of its first value",
        changes=changes[:6],
        levels=(("order-blind", material.counts.ceiling),),
    )
    return Figure(
        name="training",
        title="When it learned",
        says=" ".join(filter(None, (learned_at(metrics), changes_said(material.rows("formation-changes"))))),
        panels=(Panel(svg=lines_svg(drawn)),),
        note=f"First loss {first:.2f} nats a token; validation n = {metrics[0]['validation']['n']}; dashed grey: the "
        "wrong noun of the "
        "pair; level: the best answer blind to order.",
        role="strip",
    )


def _series(name: str, rows: Any, value: Any, control: bool = False) -> Series:
    return Series(name=name, points=tuple((float(row["step"]), float(value(row))) for row in rows), control=control)


def _formation(material: Material) -> list[Series]:
    """The best head of each kind at each step."""
    best: dict[str, dict[int, float]] = {}
    for row in material.rows("formation"):
        if row["metric"] in FORMATION:
            steps = best.setdefault(row["metric"], {})
            steps[row["step"]] = max(steps.get(row["step"], float("-inf")), row["value"])
    return [
        Series(name=FORMATION[metric], points=tuple((float(s), v) for s, v in sorted(steps.items())))
        for metric, steps in best.items()
    ]


def _maps(material: Material) -> list[Part]:
    """Maps that a slider moves through the checkpoints, and in words what the answer's row rests on at each."""
    view, along = material.view, material.along
    if view is None or along is None:
        return []
    weights, sentence = weights_along(along), view.sentences[0]
    steps, tokens = sorted(weights), sentence.tokens
    rows = []
    for step in steps:
        means = weights[step][0].mean(axis=1)
        said = [as_the_chapter(tokens, means[layer, sentence.query]) for layer in range(len(means))]
        accuracy = next((m["validation"]["referent_accuracy"] for m in material.metrics if m["step"] == step), None)
        right = "–" if accuracy is None else f"{accuracy:.0%}"
        rows.append((Number(value=step, text=f"{step:,}"), right, *said))
    blocks = tuple(f"block {layer + 1}, mean" for layer in view.layers)
    table = Table(
        name="along",
        title="The answer's row at each checkpoint",
        says=_settled(steps, weights, sentence.query, tokens),
        columns=("step", "right", *blocks),
        rows=tuple(rows),
        note=f"Row {sentence.query} of: {' '.join(tokens)}. Uniform attention would be "
        f"{1 / (sentence.query + 1):.3f} on each word.",
    )
    if len(tokens) > 48 or len(steps) < 2:
        return [table]
    last = weights[steps[-1]][0]
    panels = []
    for i, layer in enumerate(view.layers):
        named = [("mean", last[i].mean(axis=0)), *((f"L{layer}H{head}", last[i, head]) for head in view.heads)]
        for name, values in named:
            key = f"t.s0.L{layer}.mean" if name == "mean" else f"t.s0.{name}"
            title = f"mean of block {layer + 1}" if name == "mean" else name
            panels.append(
                Panel(
                    svg=map_panel(sentence, values, title, key, words=name == "mean", changed=view.changed),
                    group=f"block {layer + 1}",
                )
            )
    figure = Figure(
        name="maps-along",
        title="The maps as they formed",
        says=f"{len(steps)} checkpoints from step {steps[0]} to step {steps[-1]}. {table.says}",
        panels=tuple(panels),
        note="Same sentence and scale as above. Without a script the maps are those of the last checkpoint.",
        role="live",
    )
    return [figure, table]


def _settled(steps: list[int], weights: Any, query: int, tokens: tuple[str, ...]) -> str:
    """Between which checkpoints the answer's row of the last block moved most."""
    rows = [weights[step][0][-1].mean(axis=0)[query] for step in steps]
    moves = [float(abs(b - a).sum() / 2) for a, b in zip(rows, rows[1:], strict=False)]
    if not moves:
        return "There is one checkpoint."
    most = max(range(len(moves)), key=lambda i: moves[i])
    top = int(rows[-1].argmax())
    return (
        f"The last block's row moved most between steps {steps[most]} and {steps[most + 1]} ({moves[most]:.2f} of "
        f"its weight); at the end it rests most on {tokens[top]}@{top} ({rows[-1][top]:.2f})."
    )
