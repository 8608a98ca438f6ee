"""Probes and interchange: the variables of a task, looked for in the model of a run, and swapped there."""

from __future__ import annotations

from probe import store
from probe.lab.data import run_dataset
from probe.lab.models import open_model, provenance, untrained_model
from probe.lab.variables import swaps_of, targets_of
from probe.result import AnalysisResult
from probe.store import Run

TRAINING_PAIRS = 384
"""Pairs from which a subspace is learned."""


def probes_of(run: Run) -> AnalysisResult:
    """Probes for the declared variables in a run's model and in an untrained one, kept with the run."""
    import torch

    from probe.analyses.probes import probes

    torch.set_num_threads(run.manifest["threads"])
    sentences, targets = targets_of(run_dataset(run))
    result = probes(
        {"trained": open_model(run), "untrained": untrained_model(run)}, sentences, targets, provenance(run)
    )
    store.save_result(run, result.name, result)
    return result


def interchange_of(run: Run, subspaces: bool = False) -> AnalysisResult:
    """Interchange on the declared variables in a run's model and in an untrained one, kept with the run."""
    import torch

    from probe.analyses.interchange import interchange

    torch.set_num_threads(run.manifest["threads"])
    dataset = run_dataset(run)
    swaps = swaps_of(dataset, dataset.held_out)
    training = swaps_of(dataset, dataset.train, TRAINING_PAIRS) if subspaces else []
    result = interchange(
        {"trained": open_model(run), "untrained": untrained_model(run)}, swaps, provenance(run), training
    )
    store.save_result(run, result.name, result)
    return result
