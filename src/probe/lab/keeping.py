"""A model that was not trained here, as a run: then whatever reads runs reads it too, maps, traces and reports."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from probe import store
from probe.files import digest, to_json, write_atomic
from probe.result import versions
from probe.store import Run
from probe.tasks.dataset import Dataset
from probe.training.config import TrainingConfig

if TYPE_CHECKING:
    from probe.models.transformer import Transformer


def keep_model(model: Transformer, name: str, dataset: Dataset, runs: Path) -> Run:
    """Save a model with the task that it is to be asked, as a finished run of no training steps.

    Args:
        model: hand-made, or brought from elsewhere; its words are the data set's.
        name: what to call it; it stands where a trained run has its variant.
        dataset: the task.
        runs: the folder of the runs.
    """
    from torch import Generator

    from probe.models.transformer import initialised, parameter_count
    from probe.training import checkpoints, loop

    arrays, training = checkpoints.model_arrays(model), TrainingConfig()
    weights = digest(b"".join(array.tobytes() for array in arrays.values()))
    untrained = initialised(model.config, Generator().manual_seed(training.seed))
    manifest = {
        "task": dataset.name,
        "spec": dict(dataset.spec.source),
        "task_digest": dataset.spec.digest,
        "data_seed": dataset.seed,
        "data_sha256": dataset.digest,
        "variant": name,
        "training": training.as_dict(),
        "trained_here": False,
        "device": "cpu",
        "threads": 1,
        "dtype": "float32",
        "argv": [],
        "versions": versions(),
        "git_commit": None,
    }
    called = re.sub(r"[^\w]+", "-", name.lower()).strip("-")
    folder = f"{dataset.name}-{called}-{digest([dataset.digest, model.config.as_dict(), weights])[:8]}"
    run = store.create_run(runs, folder, manifest, model.config.as_dict(), dataset.vocabulary)
    data = loop.training_data(dataset)
    sides = {"validation": data.validation, "held_out": data.held_out}
    scores = {side: loop.evaluate(model, of_side).as_dict() for side, of_side in sides.items()}
    before = {side: loop.evaluate(untrained, of_side).as_dict() for side, of_side in sides.items()}
    summary = {"steps": 0, "seconds": 0.0, "parameters": parameter_count(model), **scores, "untrained": before}
    write_atomic(run.path / "results" / "summary.json", to_json(summary) + "\n")
    store.save_arrays(run.path / "model.safetensors", arrays)
    return run
