"""Divide the sentences of a task into train, validation and held_out, honestly or, for the cheats, not.

`reversed-pair`: validation and held_out hold ordered pairs of nouns whose *reverse* was trained, and share no unordered
pair. A model that ignores order has seen the same bag with the other answer. `held-out-pair`: neither order was
trained. `random-rows`: rows are dealt at random, so near-twins stand on both sides; a leak on purpose.
"""

from __future__ import annotations

import random
from dataclasses import replace

from probe.errors import ProbeError
from probe.tasks.examples import Example, generate_sentences, shuffled
from probe.tasks.spec import TaskSpec

SIDES = ("train", "validation", "held_out")


def generate(spec: TaskSpec, seed: int) -> list[Example]:
    """Make the sentences of a task and assign each its split. Same spec and seed, same list, on any machine.

    Raises:
        ProbeError: a side would be empty.
    """
    generator = random.Random(f"probe {seed}")
    sentences = generate_sentences(spec, generator)
    sides = _assign(spec, sentences, generator)
    for side in SIDES:
        if side not in sides:
            raise ProbeError(
                f"task file {spec.file}: split: leaves {side} empty ({len(sentences)} sentences, "
                f"validation = {spec.split.validation}, held_out = {spec.split.held_out}); change these shares"
            )
    return [replace(example, split=side) for example, side in zip(sentences, sides, strict=True) if side]


def _assign(spec: TaskSpec, sentences: list[Example], generator: random.Random) -> list[str]:
    split = spec.split
    if split.method == "independent":
        counts = (split.train, int(split.validation), int(split.held_out))
        return [side for side, count in zip(SIDES, counts, strict=True) for _ in range(count)]
    if split.method == "random-rows":
        order = shuffled(range(len(sentences)), generator)
        side_of = _deal(order, split.validation, split.held_out)
        return [side_of[i] for i in range(len(sentences))]
    groups = {example.group for example in sentences}
    if split.method == "held-out-pair":
        side_of = _deal(shuffled(sorted(groups), generator), split.validation, split.held_out)
        return [side_of[example.group] for example in sentences]
    ordered = {example.candidates for example in sentences}
    both_orders = {example.group for example in sentences if example.candidates[::-1] in ordered}
    pairs = shuffled(sorted(both_orders), generator)
    side_of = _deal(pairs, split.validation, split.held_out)
    held_order = {pair: generator.random() < 0.5 for pair in pairs}
    sides = []
    for example in sentences:
        alphabetical = example.candidates[0] == example.group.split("|")[0]
        held = example.group in both_orders and alphabetical == held_order[example.group]
        sides.append(side_of[example.group] if held else "train")
    return sides


def _deal(items: list, validation: float, held_out: float) -> dict:
    """Deal shuffled items to the three sides by share, held_out first."""
    n_held = round(len(items) * held_out)
    n_validation = min(round(len(items) * validation), len(items) - n_held)
    sides = ["held_out"] * n_held + ["validation"] * n_validation
    return dict(zip(items, sides + ["train"] * (len(items) - len(sides)), strict=True))
