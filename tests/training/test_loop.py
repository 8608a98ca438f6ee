"""Training: what is deterministic, what resumes to the same bytes, what stops and says why."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Generator

from probe import lab, store
from probe.errors import ProbeError
from probe.models.config import make_config
from probe.models.transformer import initialised
from probe.tasks.dataset import Dataset, make_dataset
from probe.tasks.spec import load_task
from probe.training import checkpoints, loop
from probe.training.config import TrainingConfig


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return make_dataset(load_task("winograd-hard"))


@pytest.fixture(scope="module")
def data(dataset: Dataset) -> loop.TrainingData:
    return loop.training_data(dataset)


def begin(data: loop.TrainingData, config: TrainingConfig, **settings) -> loop.TrainingState:
    size = {"d_vocab": 36, "n_ctx": data.train.shape[1], "d_model": 16, "n_heads": 2, **settings}
    return loop.start(initialised(make_config("two-block", **size), Generator().manual_seed(config.seed)), config)


def same(a: checkpoints.Arrays, b: checkpoints.Arrays) -> bool:
    return a.keys() == b.keys() and all(a[name].tobytes() == b[name].tobytes() for name in a)


SHORT = TrainingConfig(steps=12, evaluate_every=4, checkpoint_every=4)


@pytest.mark.parametrize("optimizer", ["muon", "adamw"])
def test_same_seed_same_bytes_other_seed_other_bytes(data: loop.TrainingData, optimizer: str) -> None:
    def weights(seed: int) -> checkpoints.Arrays:
        config = TrainingConfig(steps=6, evaluate_every=3, optimizer=optimizer, seed=seed)
        state = begin(data, config)
        list(loop.train(state, data, config))
        return checkpoints.model_arrays(state.model)

    assert same(weights(1), weights(1))
    assert not same(weights(1), weights(2))


@pytest.mark.parametrize("optimizer", ["muon", "adamw"])
@pytest.mark.parametrize("settings", [{}, {"residual_dropout": 0.1, "attention_dropout": 0.1}])
def test_a_state_that_was_saved_between_any_two_steps_goes_on_to_the_same_bytes(
    data: loop.TrainingData, optimizer: str, settings: dict
) -> None:
    config = TrainingConfig(steps=9, evaluate_every=4, optimizer=optimizer)
    unbroken = begin(data, config, **settings)
    list(loop.train(unbroken, data, config))
    for cut in (1, 4, 7):
        state, asked = begin(data, config, **settings), iter(range(1, 100))
        list(loop.train(state, data, config, stop=lambda: next(asked) >= cut))  # noqa: B023
        assert state.step == cut
        saved = checkpoints.state_arrays(state)
        again = begin(data, TrainingConfig(**{**config.as_dict(), "seed": 5}), **settings)
        checkpoints.load_state_arrays(again, saved, "state")
        list(loop.train(again, data, config))
        assert same(checkpoints.state_arrays(again), checkpoints.state_arrays(unbroken))


def test_every_epoch_shows_every_sentence_once(data: loop.TrainingData) -> None:
    config = TrainingConfig(batch_size=130)
    seen = torch.cat([loop._batch(data, config, step) for step in range(1, 25)])  # 24 x 130 = 2 epochs of 1560
    for epoch in seen.split(1560):
        assert torch.equal(epoch[np.lexsort(epoch.T.numpy())], data.train[np.lexsort(data.train.T.numpy())])
    assert not torch.equal(*seen.split(1560))


def test_a_batch_may_be_larger_than_an_epoch(data: loop.TrainingData) -> None:
    assert len(loop._batch(data, TrainingConfig(batch_size=4000), 3)) == 4000


def test_training_touches_no_global_generator(data: loop.TrainingData) -> None:
    state = torch.get_rng_state()
    config = TrainingConfig(steps=2)
    list(loop.train(begin(data, config, residual_dropout=0.1), data, config))
    assert torch.equal(torch.get_rng_state(), state)


def test_step_0_is_the_untrained_model(data: loop.TrainingData) -> None:
    first = next(iter(loop.train(begin(data, SHORT), data, SHORT)))
    assert first.step == 0
    assert first.loss == pytest.approx(math.log(36), abs=0.05)  # knows nothing: uniform over the words
    assert 0.2 < first.held_out.pair_accuracy < 0.8


def test_the_answer_is_not_in_the_prompt_that_is_scored(data: loop.TrainingData) -> None:
    """A model that repeats the next word of its own input would be right everywhere if the answer were shown."""
    split = data.held_out
    seen: list[torch.Tensor] = []

    class Spy:
        def next_word_logits(self, prompts):
            seen.append(prompts)
            return torch.zeros(len(prompts), 36)

    assert loop.evaluate(Spy(), split).pair_accuracy == 0.5  # a model of zeros: ties everywhere
    assert {prompts.shape[1] for prompts in seen} == set(split.answer_position.tolist())


def test_until_cools_down_and_ends_only_if_validation_still_stands(
    data: loop.TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reached at 2, lost when cooled down at 6; reached at 8, kept at 12: done."""
    accuracies = iter([0.0, 1.0, 0.5, 0.5, 1.0, 0.5, 1.0])
    real = loop._evaluation

    def fake(state, data, began):
        import dataclasses

        evaluation = real(state, data, began)
        score = dataclasses.replace(evaluation.validation, referent_accuracy=next(accuracies))
        return dataclasses.replace(evaluation, validation=score)

    monkeypatch.setattr(loop, "_evaluation", fake)
    config = TrainingConfig(steps=100, evaluate_every=2, until=1.0, cooldown=4)
    assert [e.step for e in loop.train(begin(data, config), data, config)] == [0, 2, 4, 6, 8, 10, 12]


def test_cooling_down_takes_the_rate_to_nothing() -> None:
    config = TrainingConfig(steps=1000, lr=1.0, cooldown=4)
    assert [config.rate(step, cooling_since=100) for step in (101, 102, 104)] == [1.0, 0.75, 0.25]


@pytest.mark.parametrize("lr", [1e4, math.inf])
def test_a_diverging_loss_stops_with_what_to_change(data: loop.TrainingData, lr: float) -> None:
    config = TrainingConfig(steps=50, lr=lr, warmup=0, optimizer="adamw")
    with pytest.raises(ProbeError, match=r"the loss is .* at step \d+.*lower --lr"):
        list(loop.train(begin(data, config), data, config))


def test_the_rate_rises_stays_and_ends_near_nothing() -> None:
    config = TrainingConfig(steps=200, warmup=20, decay=0.5, lr=1.0)
    rates = [config.rate(step) for step in range(1, 201)]
    assert rates[0] == pytest.approx(1 / 20)
    assert max(rates) == 1.0
    assert rates[99] == pytest.approx(1.0)
    assert rates[-1] == pytest.approx(0.01)
    assert all(a >= b for a, b in zip(rates[100:], rates[101:], strict=False))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps = 0"),
        ({"batch_size": -1}, "batch_size = -1"),
        ({"lr": -1.0}, "not negative"),
        ({"until": 1.5}, "until = 1.5"),
        ({"optimizer": "adam"}, "did you mean 'adamw'"),
        ({"seed": -1}, "seed = -1"),
        ({"decay": 2.0}, "decay = 2.0"),
    ],
)
def test_impossible_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ProbeError, match=message):
        TrainingConfig(**settings)


# -- run folders -------------------------------------------------------------------------------------------------


def plan(dataset: Dataset, **training) -> lab.Plan:
    config = TrainingConfig(**{"steps": 60, "evaluate_every": 5, "checkpoint_every": 10, **training})
    return lab.make_plan(dataset, "two-block", config, {"d_model": 16, "n_heads": 2})


def test_an_interrupted_run_goes_on_to_the_same_weights(dataset: Dataset, tmp_path: Path) -> None:
    whole = lab.plan_run(plan(dataset), tmp_path / "a")
    lab.advance_run(whole)
    broken = lab.plan_run(plan(dataset), tmp_path / "b")
    for cut in (7, 19):  # between checkpoints, twice
        asked = iter(range(1, 1000))
        with pytest.raises(KeyboardInterrupt):
            lab.advance_run(broken, stop=lambda: next(asked) >= cut)  # noqa: B023
        assert not broken.finished
    lab.advance_run(broken)
    assert (whole.path / "model.safetensors").read_bytes() == (broken.path / "model.safetensors").read_bytes()
    without_time = [[{**row, "seconds": 0} for row in store.read_metrics(run)] for run in (whole, broken)]
    assert without_time[0] == without_time[1]
    assert store.checkpoint_steps(whole) == store.checkpoint_steps(broken) == [0, 10, 20, 30, 40, 50, 60]


def test_killed_at_any_moment_a_run_resumes_to_the_same_bytes(dataset: Dataset, tmp_path: Path) -> None:
    """SIGKILL, at a handful of moments spread over the run."""
    whole = lab.plan_run(plan(dataset), tmp_path / "whole")
    lab.advance_run(whole)
    expected = (whole.path / "model.safetensors").read_bytes()
    run = lab.plan_run(plan(dataset), tmp_path / "killed")
    script = (
        "import sys; from pathlib import Path; from probe import lab, store; p = Path(sys.argv[1]);"
        "lab.advance_run(store.open_run(p.parent, p.name), lambda row: print(row['step'], flush=True))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(lab.__file__).parents[2]), "OMP_NUM_THREADS": "1"}
    for lines in (1, 4, 2):
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(run.path)], stdout=subprocess.PIPE, text=True, env=environment
        )
        assert process.stdout is not None
        for _ in range(lines):
            process.stdout.readline()
        time.sleep(0.003 * lines)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    lab.advance_run(store.open_run(run.path.parent, run.name))
    assert (run.path / "model.safetensors").read_bytes() == expected


@pytest.mark.parametrize("ending", [{}, {"until": 0.05, "cooldown": 10, "steps": 400, "evaluate_every": 10}])
def test_a_run_whose_last_write_failed_is_at_its_end(
    dataset: Dataset, tmp_path: Path, ending: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk between the last checkpoint and the weights: what goes on from there trains no further."""
    whole = lab.plan_run(plan(dataset, **ending), tmp_path / "whole")
    lab.advance_run(whole)
    steps = [row["step"] for row in store.read_metrics(whole)]
    assert (steps[-1] < ending.get("steps", 60)) == ("until" in ending), "one ends by its steps, one before"
    run, save = lab.plan_run(plan(dataset, **ending), tmp_path / "broken"), store.save_arrays

    def full(path: Path, arrays: checkpoints.Arrays) -> None:
        if path.name == "model.safetensors":
            raise OSError(28, "No space left on device")
        save(path, arrays)

    monkeypatch.setattr(store, "save_arrays", full)
    with pytest.raises(OSError, match="No space"):
        lab.advance_run(run)
    monkeypatch.setattr(store, "save_arrays", save)
    lab.advance_run(store.open_run(run.path.parent, run.name))
    assert [row["step"] for row in store.read_metrics(run)] == steps
    assert (run.path / "model.safetensors").read_bytes() == (whole.path / "model.safetensors").read_bytes()


def test_checkpoints_are_kept_at_the_evaluation_that_comes_then_or_next(dataset: Dataset, tmp_path: Path) -> None:
    """One that falls between two evaluations is not lost."""
    run = lab.plan_run(plan(dataset, steps=40, evaluate_every=10, checkpoint_every=15), tmp_path)
    lab.advance_run(run)
    assert store.checkpoint_steps(run) == [0, 20, 30]


def test_a_truncated_state_is_refused_by_name(dataset: Dataset, tmp_path: Path) -> None:
    run = lab.plan_run(plan(dataset), tmp_path)
    asked = iter(range(1, 1000))
    with pytest.raises(KeyboardInterrupt):
        lab.advance_run(run, stop=lambda: next(asked) >= 12)
    path = store.checkpoint_path(run, "state")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ProbeError, match="state.safetensors is truncated"):
        lab.advance_run(run)


def test_a_state_of_another_model_is_refused_by_name(dataset: Dataset, tmp_path: Path) -> None:
    run = lab.plan_run(plan(dataset), tmp_path)
    foreign = {"step": np.array(3), "cooling": np.array(-1), "losses": np.zeros(0), "model.x": np.ones(2)}
    store.save_arrays(store.checkpoint_path(run, "state"), foreign)
    with pytest.raises(ProbeError, match="state.safetensors (lacks|has an unknown tensor)"):
        lab.advance_run(run)
    store.save_arrays(store.checkpoint_path(run, "state"), {"x": np.ones(2)})
    with pytest.raises(ProbeError, match="no training state"):
        lab.advance_run(run)


def test_the_same_settings_are_the_same_run_and_others_are_not(dataset: Dataset, tmp_path: Path) -> None:
    first, second = (lab.plan_run(plan(dataset), tmp_path) for _ in range(2))
    other = lab.plan_run(plan(dataset, lr=0.01), tmp_path)
    assert first.path == second.path != other.path


def test_a_finished_run_is_not_trained_again(dataset: Dataset, tmp_path: Path) -> None:
    run = lab.plan_run(plan(dataset, steps=3), tmp_path)
    first = lab.advance_run(run)
    changed = (run.path / "model.safetensors").stat().st_mtime_ns
    assert lab.advance_run(run) == first
    assert (run.path / "model.safetensors").stat().st_mtime_ns == changed


def test_seeds_side_by_side_are_the_runs_that_one_process_makes(dataset: Dataset, tmp_path: Path) -> None:
    plans = [plan(dataset, steps=8, seed=seed) for seed in (3, 1)]
    alone = [lab.advance_run(lab.plan_run(each, tmp_path / "alone")) for each in plans]
    together = [lab.plan_run(each, tmp_path / "together") for each in plans]
    told: list[int] = []
    results = lab.train_side_by_side(together, 2, lambda run, row: told.append(row["step"]))
    assert [result["seed"] for result in results] == [3, 1]
    for one, run in zip(alone, together, strict=True):
        path = tmp_path / "alone" / one["run"] / "model.safetensors"
        assert path.read_bytes() == (run.path / "model.safetensors").read_bytes()
    assert sorted(told) == [0, 0, 5, 5, 8, 8]


def test_an_error_in_a_worker_reaches_the_parent(dataset: Dataset, tmp_path: Path) -> None:
    runs = [lab.plan_run(plan(dataset, lr=1e5, optimizer="adamw", warmup=0, seed=seed), tmp_path) for seed in (0, 1)]
    with pytest.raises(ProbeError, match="lower --lr"):
        lab.train_side_by_side(runs, 2)


def test_the_weights_of_a_run_open_as_they_were(dataset: Dataset, tmp_path: Path) -> None:
    run = lab.plan_run(plan(dataset, steps=20), tmp_path)
    summary = lab.advance_run(run)
    data = loop.training_data(dataset)
    assert loop.evaluate(lab.open_model(run), data.held_out).as_dict() == summary["held_out"]
    assert loop.evaluate(lab.open_model(run, step=0), data.held_out).as_dict() == summary["untrained"]["held_out"]
    with pytest.raises(ProbeError, match="kept no weights of step 7"):
        lab.open_model(run, step=7)
