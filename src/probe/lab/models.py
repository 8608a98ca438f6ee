"""The model of a run, and where numbers that are computed from it come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probe import store
from probe.errors import NotThere, ProbeError
from probe.files import digest, to_json
from probe.models.config import ModelConfig
from probe.result import Provenance, versions
from probe.store import Run

if TYPE_CHECKING:
    from probe.models.transformer import Transformer


def open_model(run: Run, step: int | None = None) -> Transformer:
    """The model of a run, as it was at its end or at a checkpoint.

    Raises:
        NotThere: the run is not finished, or kept no weights of this step; the message names the steps that it kept.
        ProbeError: weights, configuration and words of the run do not belong together, or a file is damaged.
    """
    from probe.models.transformer import Transformer
    from probe.training.checkpoints import load_model_arrays

    if step is not None and step not in store.checkpoint_steps(run):
        raise NotThere(f"run {run.name} kept no weights of step {step}; it has {store.checkpoint_steps(run)}")
    path = run.path / "model.safetensors" if step is None else store.checkpoint_path(run, step)
    config = ModelConfig.from_dict(run.config, f"{run.path}/config.json")
    if config.d_vocab != len(run.vocabulary):
        raise ProbeError(
            f"{run.path}: config.json has d_vocab = {config.d_vocab}, vocabulary.json {len(run.vocabulary)}"
        )
    model = Transformer(config)
    load_model_arrays(model, store.load_arrays(path), str(path))
    return model


def with_blocks(run: Run) -> Transformer:
    """The model of a run, on as many threads as it was trained with.

    Raises:
        NotThere: the run is not finished.
        ProbeError: the model has no block to look into, or a file of it is damaged.
    """
    import torch

    torch.set_num_threads(run.manifest["threads"])
    model = open_model(run)
    if not model.config.n_layers:
        raise ProbeError("this model has no block to look into: it names a word from the last one alone")
    return model


def untrained_model(run: Run) -> Transformer:
    """The model of a run as it was before its first step, drawn again from the run's seed.

    Raises:
        NotThere: the run's folder holds no configuration.
        ProbeError: its configuration is damaged.
    """
    from torch import Generator

    from probe.models.transformer import initialised

    config = ModelConfig.from_dict(run.config, f"{run.path}/config.json")
    return initialised(config, Generator().manual_seed(run.manifest["training"]["seed"]))


ANALYSES = "3"
"""Raised whenever an analysis gives other numbers for the same weights, so that what was kept is computed again."""


def provenance(run: Run) -> Provenance:
    """Where numbers that are computed from this run, here and now, come from: its weights, and what computes."""
    weights = run.path / "model.safetensors"
    return Provenance(
        task_digest=run.manifest["task_digest"],
        model_digest=digest(to_json(run.config).encode() + weights.read_bytes()) if weights.exists() else "",
        seed=run.manifest["training"]["seed"],
        versions=versions() | {"analyses": ANALYSES},
        threads=run.manifest["threads"],
        dtype=run.manifest["dtype"],
        git_commit=run.manifest["git_commit"],
    )
