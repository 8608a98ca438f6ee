"""The tables of what training reached: every number beside its floor, intervals over seeds."""

from __future__ import annotations

import re

import pytest

from probe.intervals import share_interval
from probe.report.training import run_text, sweep_summary, sweep_text
from probe.tasks.dataset import make_dataset, order_blind_counts
from probe.tasks.spec import load_task

COUNTS = order_blind_counts(make_dataset(load_task("winograd-hard")))


def scores(accuracy: float, ties: int = 0) -> dict:
    rates = {"referent_accuracy": accuracy, "distractor_rate": 1 - accuracy, "pair_accuracy": accuracy}
    return {**rates, "ties": ties, "n": 240}


def summary(seed: int, accuracy: float, ties: int = 0) -> dict:
    return {
        "run": f"r{seed}",
        "path": f"runs/r{seed}",
        "task": "winograd-hard",
        "variant": "two-block",
        "blocks": 2,
        "seed": seed,
        "steps": 400,
        "seconds": 8.0,
        "parameters": 104576,
        "validation": scores(accuracy),
        "held_out": scores(accuracy, ties),
        "untrained": {"validation": scores(0.03125), "held_out": scores(0.0625)},
    }


def test_a_run_is_shown_beside_the_untrained_model_and_what_needs_no_model():
    text = run_text(summary(0, 0.98), COUNTS)
    for part in ["winograd-hard", "two-block", "seed 0", "104,576", "400 steps in 8.0 s (50 a second)", "runs/r0"]:
        assert part in text
    held_out = next(line for line in text.splitlines() if line.startswith("held_out"))
    untrained = [line for line in text.splitlines() if "untrained" in line][-1]
    assert re.findall(r"[\d.]+%", held_out) == ["98.0%", "2.0%", "98.0%"]
    assert re.findall(r"[\d.]+%", untrained) == ["6.2%", "93.8%", "6.2%"]
    assert "50.0% over all sentences" in text
    assert "0.0% on held_out" in text


def test_ties_are_told():
    assert "3 ties" in run_text(summary(0, 0.5, ties=3), COUNTS)
    assert "ties" not in run_text(summary(0, 0.5), COUNTS)


def test_no_time_is_no_division():
    assert "0 a second" in run_text(summary(0, 1.0) | {"seconds": 0.0}, COUNTS)


def test_a_sweep_counts_seeds_not_sentences():
    accuracies = [1.0, 1.0, 1.0, 0.5]
    total = sweep_summary([summary(seed, accuracy) for seed, accuracy in enumerate(accuracies)])
    low, high = share_interval(3, 4)
    assert total["solved"] == {"count": 3, "n": 4, "low": low, "high": high}
    assert total["held_out"]["mean"]["referent_accuracy"] == pytest.approx(0.875)
    assert total["untrained"]["mean"]["referent_accuracy"] == 0.0625
    for rates in (total["held_out"], total["validation"], total["untrained"]):
        for rate, mean in rates["mean"].items():
            assert rates["low"][rate] <= mean <= rates["high"][rate]


def test_the_table_of_a_sweep_has_a_line_for_each_seed():
    text = sweep_text([summary(seed, 1.0) for seed in range(3)], COUNTS)
    assert [line.split()[1] for line in text.splitlines() if line.startswith("seed ")] == ["0", "1", "2"]
    assert "3 of 3 seeds" in text
    assert "50.0% over all sentences" in text
