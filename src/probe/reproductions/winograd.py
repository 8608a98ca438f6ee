"""A question with a right answer: whom does "too tired" speak of? Five models, easy and hard, two ways of training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from probe.reproductions.answering import WAYS, Contrasts, dataset_of, made_of, measure, prompts_of
from probe.reproductions.claims import (
    Claim,
    Figure,
    Job,
    Measured,
    NotRun,
    Reproduction,
    Rule,
    above,
    below,
    within,
)

TASKS = ("hard", "easy")
MODELS = {
    "uniform": "uniform mean",
    "one-block": "one block",
    "two-block": "two blocks",
    "attention-only-1": "one layer, no MLP",
    "attention-only-2": "two layers, no MLP",
}
SOLVED = 0.995
ALWAYS = within(1, 1, "so in every seed")


def key_of(task: str, model: str, way: str) -> str:
    """A row's name."""
    return f"{task} {model} {way}"


def _of(task: str, model: str, way: str, number: str = "last") -> Callable[[Measured], float]:
    return lambda m: m[key_of(task, model, way)][number]


def _uses(model: str, way: str, strategy: str) -> Callable[[Measured], float]:
    """1 where the trace says so, 0 where it says otherwise; `NotRun` where nothing could be traced."""

    def value(m: Measured) -> float:
        found = m[key_of("hard", model, way)]["strategy"]
        if found.startswith("not traced"):
            raise NotRun(model)
        return float(found.startswith(strategy))

    return value


def _composition_is_why(way: str, m: Measured) -> float:
    """1 for a seed in which all of it holds."""
    one_fails = _of("hard", "one-block", way, "best")(m) < SOLVED
    two_answer = _of("hard", "two-block", way, "best")(m) >= SOLVED
    return float(one_fails and two_answer and _uses("two-block", way, "two hops")(m) == 1)


def _row(m: Measured, adjective: str, block: int) -> list[float]:
    return m[key_of("hard", "two-block", "chapter")]["rows"][adjective][block]


PLACES = {"the first noun": 1, "the second noun": 6, "too": 10, "the adjective": 11, "the comma": 12, "itself": 14}
"""Where they stand; the last is "the", whose row answers."""
ADJECTIVE = PLACES["the adjective"]
CROSSER, CROSSED = ("tired", "scared", "slow", "weak"), ("wet", "wide", "busy", "steep")


def _shared_difference(m: Measured) -> float:
    """Largest difference of block 1's row between the two sentences, at any position."""
    return max(abs(x - y) for x, y in zip(_row(m, "tired", 0), _row(m, "wet", 0), strict=True))


def _spread(m: Measured) -> float:
    """Largest difference between the rows of block 2 for adjectives of one kind, at any position."""
    worst = 0.0
    for kind in (CROSSER, CROSSED):
        for weights in zip(*(_row(m, adjective, 1) for adjective in kind), strict=True):
            worst = max(worst, max(weights) - min(weights))
    return worst


def _rate(statement: str, value: Callable[[Measured], float], rule: Rule | None, chapter: str = "") -> Claim:
    return Claim(statement=statement, value=value, rule=rule, chapter=chapter, form=".1%")


def _points(low: float, high: float) -> Rule:
    return within(low, high, f"{low:.1%} to {high:.1%}")


def _accuracies(way: str) -> list[Claim]:
    """The chapter's accuracies, at its own setting or at our defaults."""
    return [
        _rate(f"easy, uniform mean ({way})", _of("easy", "uniform", way), _points(SOLVED, 1), "100.0 %"),
        _rate(f"easy, one block ({way})", _of("easy", "one-block", way), _points(0.867, 0.967), "91.7 %"),
        _rate(
            f"easy: the bag of words beats one block by ({way})",
            lambda m: _of("easy", "uniform", way)(m) - _of("easy", "one-block", way)(m),
            above(0, within(0.0415, 0.1245, "half to one and a half of 8.3 %")), "8.3 %",
        ),
        *(
            _rate(f"easy, {MODELS[model]} ({way})", _of("easy", model, way), None)
            for model in ("two-block", "attention-only-1", "attention-only-2")
        ),
        _rate(f"hard, uniform mean ({way})", _of("hard", "uniform", way), _points(0.179, 0.379), "27.9 %"),
        _rate(f"… wrong noun of the pair ({way})", _of("hard", "uniform", way, "wrong"), _points(0.4, 0.6), "half"),
        _rate(f"hard, one block ({way})", _of("hard", "one-block", way), _points(0.877, 0.977), "92.7 %"),
        _rate(f"hard, two blocks ({way})", _of("hard", "two-block", way), _points(SOLVED, 1), "100 %"),
        _rate(
            f"hard: two blocks beat one by ({way})",
            lambda m: _of("hard", "two-block", way)(m) - _of("hard", "one-block", way)(m),
            above(0, within(0.0365, 0.1095, "half to one and a half of 7.3 %")), "7.3 %",
        ),
        *(
            _rate(f"hard, {MODELS[model]} ({way})", _of("hard", model, way), None)
            for model in ("attention-only-1", "attention-only-2")
        ),
    ]  # fmt: skip


def _mechanism(way: str) -> list[Claim]:
    """What would have to hold if composition were why two blocks succeed and one does not."""
    never = below(SOLVED)
    return [
        _rate(
            f"one block never answers all, its best along training ({way})", _of("hard", "one-block", way, "best"),
            never, "92.7 %",
        ),
        _rate(
            f"… nor does one layer without MLP, best along training ({way})",
            _of("hard", "attention-only-1", way, "best"), never,
        ),
        _rate(f"two blocks that answer compose: two hops ({way})", _uses("two-block", way, "two hops"), ALWAYS),
        _rate(
            f"two layers without MLP that answer compose: two hops ({way})",
            _uses("attention-only-2", way, "two hops"), ALWAYS,
        ),
        _rate(f"one block that answers does so in one hop ({way})", _uses("one-block", way, "one hop"), ALWAYS),
        _rate(
            f"so composition is why: one block never answers all, two blocks do and compose ({way})",
            partial(_composition_is_why, way), ALWAYS, "that is why",
        ),
    ]  # fmt: skip


def _on(block: int, adjective: str, word: str, figure: float, more_than: float | None = None) -> Claim:
    """How much the answer's place looks at a word: more than so much, where the chapter builds on it, then how much."""
    reach = 0.15 if figure > 0.1 else 0.05
    size = within(max(0.0, figure - reach), min(1.0, figure + reach))
    return Claim(
        statement=f"block {block + 1}, {adjective}, on {word}",
        value=lambda m: _row(m, adjective, block)[PLACES[word]],
        rule=size if more_than is None else above(more_than, size), chapter=f"{figure:.2f}",
    )  # fmt: skip


MAP = [
    Claim(
        statement="block 1 looks alike in both sentences: largest difference of its row", value=_shared_difference,
        rule=below(0.05), chapter="the same",
    ),
    _on(0, "tired", "the first noun", 0.70, more_than=0.5),
    _on(0, "tired", "the second noun", 0.06),
    _on(0, "tired", "the comma", 0.05),
    _on(0, "tired", "itself", 0.19),
    _on(1, "tired", "the adjective", 1.00, more_than=0.5),
    _on(1, "wet", "the second noun", 0.49, more_than=0.25),
    _on(1, "wet", "too", 0.20),
    _on(1, "wet", "itself", 0.25),
    Claim(
        statement="the same row for all adjectives of a kind: largest difference in block 2", value=_spread,
        rule=below(0.2), chapter="the same",
    ),
]  # fmt: skip


# -- pictures and notes ------------------------------------------------------------------------------------------


def _rows(by_seed: Mapping[int, Measured], task: str, model: str, way: str) -> list[Mapping[str, Any]]:
    """What was measured of a model on a task, by all seeds that were run."""
    key = key_of(task, model, way)
    return [m[key] for m in by_seed.values() if key in m]


def _along(by_seed: Mapping[int, Measured], task: str, way: str, column: int) -> dict[str, list[tuple[float, float]]]:
    """Model -> (share of its training, mean over seeds)."""
    series = {}
    for model, label in MODELS.items():
        runs = [row["along"] for row in _rows(by_seed, task, model, way)]
        if runs:
            steps = runs[0][-1][0]
            means = [sum(look[column] for look in looks) / len(looks) for looks in zip(*runs, strict=True)]
            at = [look[0] / steps for look in runs[0]]
            series[f"{label}, {len(runs)} seed{'s' if len(runs) > 1 else ''}"] = list(zip(at, means, strict=True))
    return series


SHOWN = 4
"""Seeds whose maps are drawn: a map is a draw."""


def _figures(by_seed: Mapping[int, Measured]) -> Sequence[Figure]:
    found = [
        Figure(
            name=f"{task}-{way}-{what.replace(' ', '-')}", series=_along(by_seed, task, way, column), y_label=what,
            title=f"winograd-{task}, {way}: {what} on held-out sentences, mean over seeds", x_label="share of training",
        )
        for task in TASKS
        for way in WAYS
        for column, what in ((1, "accuracy"), (2, "wrong noun"))
    ]  # fmt: skip
    words = [f"{i} {word}" for i, word in enumerate(prompts_of(dataset_of("hard"))["tired"])]
    words[ADJECTIVE] = f"{ADJECTIVE} tired / wet"
    shown = [seed for seed, m in by_seed.items() if key_of("hard", "two-block", "chapter") in m]
    for seed in shown[:SHOWN]:
        series = {
            f"block {block + 1}, {adjective}": list(zip(words, _row(by_seed[seed], adjective, block), strict=True))
            for block in (0, 1)
            for adjective in ("tired", "wet")
        }
        title = f"two blocks, seed {seed}: where the answer's place looks, mean over heads"
        found.append(Figure(name=f"pair-s{seed}", title=title, x_label="", y_label="share of attention", series=series))
    return found


def _notes(by_seed: Mapping[int, Measured]) -> Sequence[tuple[str, str]]:
    notes = []
    for way in WAYS:
        lines = []
        for model, label in MODELS.items():
            rows = _rows(by_seed, "hard", model, way)
            if rows:
                solved, ever = (sum(row[number] >= SOLVED for row in rows) for number in ("last", "best"))
                seeds = "1 seed" if len(rows) == 1 else f"{len(rows)} seeds"
                lines.append(f"{label}: {seeds}; all answered at the last step by {solved}, ever by {ever}")
                counted = Counter(row["strategy"] for row in rows if "strategy" in row)
                lines += [f"    {count} x {strategy}" for strategy, count in counted.most_common()]
        if lines:
            notes.append((f"how the adjective reaches the answer, winograd-hard, {way}", "\n".join(lines)))
    for seed, m in by_seed.items():
        key = key_of("hard", "two-block", "chapter")
        if key in m:
            lines = [" " * 16 + " ".join(f"{word[:5]:>5}" for word in prompts_of(dataset_of("hard"))["tired"])]
            for adjective, blocks in m[key]["rows"].items():
                for block, row in enumerate(blocks, start=1):
                    lines.append(f"{adjective:8}block {block} " + " ".join(f"{weight:5.2f}" for weight in row))
            notes.append((f"the answer's row for every adjective (two blocks, seed {seed})", "\n".join(lines)))
            break
    return notes


def reproduction(contrasts_of: Contrasts) -> Reproduction:
    """The reproduction; what a trace needs to know of a task is passed in."""
    return Reproduction(
        name="winograd",
        title="A question with a right answer",
        setting="chapter: torch's AdamW at a constant 1e-3, width 128, 3,000 steps of 64 sentences, weights as "
        "torch's modules begin; defaults: probe train. Accuracy over the whole vocabulary on held-out sentences, "
        "seeds judged one by one",
        jobs=[
            Job(
                key=key_of(task, model, way),
                measure=partial(measure, task, model, way, contrasts_of),
                made_of=partial(made_of, task, model, way),
            )
            for way in WAYS
            for task in TASKS
            for model in MODELS
        ],
        claims=[
            *_accuracies("chapter"),
            *_mechanism("chapter"),
            *MAP,
            *_accuracies("defaults"),
            *_mechanism("defaults"),
        ],
        seeds=16,
        figures=_figures,
        notes=_notes,
    )
