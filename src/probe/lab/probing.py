"""Probes and interchange: the variables of a task, looked for in the model of a run, and swapped there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from probe import store
from probe.lab.data import run_dataset
from probe.lab.models import provenance, untrained_model, with_blocks
from probe.lab.variables import swaps_of, targets_of
from probe.result import AnalysisResult
from probe.store import Run

if TYPE_CHECKING:
    from probe.models.transformer import Transformer

TRAINING_PAIRS = 384
"""Pairs from which a subspace is learned."""


def probes_of(run: Run) -> AnalysisResult:
    """Probes for the declared variables in a run's model and in an untrained one, kept with the run.

    Presence is no use: what can be read off a place need not matter there, so what happens when it is swapped or
    erased stands beside it.

    Returns:
        Rows `kind, layer, head, position, role` (a place), `target` (the variable), `metric, condition` (trained,
        control, untrained), `value, low, high` (95 % over noun pairs), `n, floor`. `value` is a share of held-out
        sentences (`accuracy`, `accuracy, other nouns` and the like, `selectivity`), of pairs (`interchange along the
        probe`, `lost by erasure`), or bits (`codelength`).

    Raises:
        NotThere: the run is not finished.
        ProbeError: the task declares no variables (a sequence task), or has too few pairs of sentences to swap them.
    """
    from probe.analyses.probes import probes

    sentences, targets = targets_of(run_dataset(run))
    return _kept(run, probes(_models(run), sentences, targets, provenance(run)))


def interchange_of(run: Run) -> AnalysisResult:
    """Interchange on the declared variables in a run's model and in an untrained one, kept with the run.

    Returns:
        Rows `kind, layer, position, role` (where the stream is taken from the other sentence), `variable, metric,
        condition` (trained, untrained), `value, low, high` (95 % over noun pairs), `n, floor`. `value` is the share of
        pairs whose answer is the predicted one (`interchange accuracy`), the old one (`answer unchanged`) or the other
        sentence's (`source's answer`); `floor` the same share when nothing is swapped.

    Raises:
        NotThere: the run is not finished.
        ProbeError: the task declares no variables (a sequence task), or has too few pairs of sentences to swap them.
    """
    from probe.analyses.interchange import interchange

    dataset = run_dataset(run)
    return _kept(run, interchange(_models(run), swaps_of(dataset, dataset.held_out), provenance(run)))


def subspaces_of(run: Run) -> AnalysisResult:
    """Learned subspaces for the declared variables, beside arbitrary labels and an untrained model; kept with the run.

    Half a minute; imports transformer_lens.

    Returns:
        Rows `kind, layer, position, role` (the place that was chosen for the variable), `variable, metric, condition`
        (trained, control, untrained), `dimension, of` (of the subspace, and of the stream), `value, low, high` (95 %
        over noun pairs), `n, floor`. `value` is the share of held-out pairs whose answer is the predicted one when
        this subspace alone is swapped. A variable has no rows where no place but the words matters.

    Raises:
        NotThere: the run is not finished.
        ProbeError: the task declares no variables (a sequence task), or has too few pairs of sentences to swap them.
    """
    from probe.analyses.interchange import subspaces

    dataset = run_dataset(run)
    training, held_out = swaps_of(dataset, dataset.train, TRAINING_PAIRS), swaps_of(dataset, dataset.held_out)
    return _kept(run, subspaces(_models(run), training, held_out, provenance(run)))


def _models(run: Run) -> dict[str, Transformer]:
    """The run's model and the one it was before training."""
    return {"trained": with_blocks(run), "untrained": untrained_model(run)}


def _kept(run: Run, result: AnalysisResult) -> AnalysisResult:
    store.save_result(run, result.name, result)
    return result
