"""Runs: planned, trained (one or many side by side), interrupted, resumed."""

from __future__ import annotations

import contextlib
import math
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probe import store
from probe.errors import NotThere, ProbeError
from probe.files import digest, read_json, to_json, write_atomic
from probe.lab.data import run_dataset
from probe.models.config import ModelConfig, make_config
from probe.result import versions
from probe.store import Run
from probe.tasks.dataset import Dataset
from probe.training.config import TrainingConfig, training_for


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to train: everything but the seed is shared by the runs of a sweep."""

    dataset: Dataset
    variant: str
    model: ModelConfig
    training: TrainingConfig
    device: str = "cpu"
    threads: int = 1


def make_plan(
    dataset: Dataset,
    variant: str,
    training: TrainingConfig,
    model: Mapping[str, Any] | None = None,
    device: str = "cpu",
    threads: int = 1,
) -> Plan:
    """Fit a named variant, with changed `model` settings, to the words and the sentence length of a data set.

    Raises:
        ProbeError: there is no such variant, or a setting does not fit the data set.
    """
    n_ctx = max(len(example.tokens) for example in dataset.examples)
    config = make_config(variant, **{"d_vocab": len(dataset.vocabulary), "n_ctx": n_ctx, **(model or {})})
    if config.d_vocab != len(dataset.vocabulary):
        raise ProbeError(
            f"d_vocab = {config.d_vocab}: {dataset.name} has {len(dataset.vocabulary)} words; leave it out"
        )
    for name in ("lr", "weight_decay"):
        if not math.isfinite(getattr(training, name)):
            raise ProbeError(f"{name} = {getattr(training, name)}: not a number that training could use")
    if training.batch_size > 100 * len(dataset.train):
        raise ProbeError(f"batch_size = {training.batch_size}: train holds {len(dataset.train)} sentences")
    return Plan(dataset=dataset, variant=variant, model=config, training=training, device=device, threads=threads)


def plan_run(plan: Plan, runs: Path, argv: Sequence[str] = ()) -> Run:
    """Make the run's folder, or open the one that the same settings made before. Trains nothing yet.

    Raises:
        ProbeError: the folder is there, but damaged.
    """
    dataset, training = plan.dataset, plan.training
    settings = {
        "task": dataset.name,
        "spec": dict(dataset.spec.source),
        "data_seed": dataset.seed,
        "data_sha256": dataset.digest,
        "variant": plan.variant,
        "training": training.as_dict(),
        "device": plan.device,
        "threads": plan.threads,
    }
    key = digest({**settings, "model": plan.model.as_dict()})[:8]
    name = f"{dataset.name}-{plan.model.n_layers}b-s{training.seed}-{key}"
    if (runs / name / "manifest.json").exists():
        return store.open_run(runs, name)
    manifest = {
        **settings,
        "task_digest": dataset.spec.digest,
        "argv": list(argv),
        "dtype": "float32",
        "versions": versions(),
        "git_commit": git_commit(),
    }
    return store.create_run(runs, name, manifest, plan.model.as_dict(), dataset.vocabulary)


def advance_run(
    run: Run,
    tell: Callable[[dict[str, Any]], None] = lambda row: None,
    stop: Callable[[], bool] = lambda: False,
    dataset: Dataset | None = None,
) -> dict[str, Any]:
    """Train a planned run to its end, from its newest checkpoint if it has one; returns its summary.

    `dataset` saves generating it again from the manifest; it must be the one that the manifest names.

    Raises:
        KeyboardInterrupt: `stop` became true; the state is saved, calling again continues to the same bytes.
    """
    if run.finished and (run.path / "results" / "summary.json").exists():
        return summary(run)
    import torch

    from probe.models.transformer import Transformer, initialised, parameter_count
    from probe.training import checkpoints, loop

    torch.set_num_threads(run.manifest["threads"])
    device = run.manifest.get("device", "cpu")
    config = ModelConfig.from_dict(run.config, f"{run.path}/config.json")
    training = TrainingConfig.from_dict(run.manifest["training"], f"{run.path}/manifest.json: training")
    data = loop.training_data(dataset or run_dataset(run), device)
    newest = store.checkpoint_path(run, "state")
    earlier = 0.0
    if newest.exists():
        state = loop.start(Transformer(config).to(device), training)
        checkpoints.load_state_arrays(state, store.load_arrays(newest), str(newest))
        store.truncate_metrics(run, state.step)
        earlier = max((row["seconds"] for row in store.read_metrics(run)), default=0.0)
    else:
        generator = torch.Generator().manual_seed(training.seed)
        state = loop.start(initialised(config, generator).to(device), training)
        store.truncate_metrics(run, -1)

    def save(weights: bool) -> None:
        if weights:
            store.save_arrays(store.checkpoint_path(run, state.step), checkpoints.model_arrays(state.model))
        store.save_arrays(newest, checkpoints.state_arrays(state))

    for evaluation in loop.train(state, data, training, stop):
        row = {
            "step": evaluation.step,
            "loss": round(evaluation.loss, 6),
            "validation": evaluation.validation.as_dict(),
            "held_out": evaluation.held_out.as_dict(),
            "seconds": round(earlier + evaluation.seconds, 3),
        }
        store.append_metrics(run, row)
        tell(row)
        if training.keeps(state.step):
            save(weights=True)
    if not state.done:
        save(weights=False)
        raise KeyboardInterrupt
    rows = store.read_metrics(run)
    first, last = rows[0], rows[-1]
    result = {
        "steps": state.step,
        "seconds": last["seconds"],
        "parameters": parameter_count(state.model),
        "validation": last["validation"],
        "held_out": last["held_out"],
        "untrained": {"validation": first["validation"], "held_out": first["held_out"]},
    }
    write_atomic(run.path / "results" / "summary.json", to_json(result) + "\n")
    store.save_arrays(run.path / "model.safetensors", checkpoints.model_arrays(state.model))
    newest.unlink(missing_ok=True)
    return summary(run)


def summary(run: Run) -> dict[str, Any]:
    """What came out of a finished run, from its folder alone; the object that `probe train --json` prints.

    Returns:
        `run, path, task, variant, blocks, seed, steps, seconds, parameters`, and under `validation`, `held_out` and
        `untrained` the scores, shares of sentences.

    Raises:
        NotThere: the run is not finished.
        ProbeError: its summary is damaged.
    """
    if not run.finished:
        raise NotThere(f"run {run.name} is not finished; continue it with: probe train --resume {run.name}")
    values = read_json(run.path / "results" / "summary.json", "summary")
    for key in ("steps", "seconds", "parameters", "validation", "held_out", "untrained"):
        if key not in values:
            raise ProbeError(f"{run.path}/results/summary.json: {key} is missing; remove the file and train again")
    return {
        "run": run.name,
        "path": str(run.path),
        "task": run.manifest["task"],
        "variant": run.manifest["variant"],
        "blocks": ModelConfig.from_dict(run.config, f"{run.path}/config.json").n_layers,
        "seed": run.manifest["training"]["seed"],
        **values,
    }


def train_here(
    run: Run, tell: Callable[[dict[str, Any]], None] = lambda row: None, dataset: Dataset | None = None
) -> dict[str, Any]:
    """Train in this process, from the newest checkpoint if there is one; then the run is the latest one.

    Args:
        run: planned by `plan_run`.
        tell: hears of every evaluation.
        dataset: saves generating it again; it must be the one of the run's manifest.

    Returns:
        The run's summary (see `summary`).

    Raises:
        ProbeError: the loss runs away, or the task no longer generates the run's sentences.
        KeyboardInterrupt: Ctrl-C or SIGTERM; what was trained is saved, calling again goes on from there.
    """
    with interruptible() as stop:
        result = advance_run(run, tell, stop, dataset)
    store.mark_latest(run)
    return result


def train(
    dataset: Dataset,
    variant: str,
    runs: Path,
    training: TrainingConfig | None = None,
    model: Mapping[str, Any] | None = None,
) -> Run:
    """Train a named variant on a data set; what the same settings made before is opened, not trained again.

    Args:
        dataset: what is asked.
        variant: a named model, as `two-block` or `uniform`.
        runs: the folder of the runs.
        training: how; the variant's own settings by default (`training_for`).
        model: settings of the model that differ from the variant's.

    Returns:
        The finished run, which is now the latest one.

    Raises:
        ProbeError: there is no such variant, a setting does not fit the data set, or the loss runs away.
        KeyboardInterrupt: Ctrl-C or SIGTERM; what was trained is saved, calling again goes on from there.
    """
    run = plan_run(make_plan(dataset, variant, training or training_for(variant), model), runs)
    train_here(run, dataset=dataset)
    return run


def train_side_by_side(
    runs: Sequence[Run], processes: int, tell: Callable[[Run, dict[str, Any]], None] = lambda run, row: None
) -> list[dict[str, Any]]:
    """Train several runs, one process a core.

    Args:
        runs: planned by `plan_run`; at least one.
        processes: how many at a time.
        tell: hears of every evaluation, with the run that it is of.

    Returns:
        The summary of every run, in the order of the runs (see `summary`).

    Raises:
        ProbeError: no run is named; or of the first run that failed, the others are stopped.
        KeyboardInterrupt: Ctrl-C or SIGTERM; what was trained is saved, calling again goes on from there.
    """
    if not runs:
        raise ProbeError("there is no run to train; make some with plan_run, and name at least one")
    from probe.processes import side_by_side

    paths = [run.path for run in runs]
    by_path = dict(zip(paths, runs, strict=True))
    results = side_by_side(_train_path, paths, processes, lambda path, row: tell(by_path[path], row))
    store.mark_latest(runs[-1])
    return results


def _train_path(path: Path, tell: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The work of one process of a sweep: the run's folder says all there is to know."""
    with interruptible() as stop:
        return advance_run(store.open_run(path.parent, path.name), tell, stop)


@contextlib.contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Turn Ctrl-C and SIGTERM into a question that a loop asks between two steps. A second Ctrl-C does not wait.

    A second SIGTERM does: what stops a whole group of processes reaches a worker twice, from outside and by its parent.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def ask(number: int, frame: Any) -> None:
        if asked.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def git_commit() -> str | None:
    """The commit of the checkout that probe runs from, or None."""
    folder = Path(__file__).parent
    if not any((parent / ".git").exists() for parent in folder.parents):
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
