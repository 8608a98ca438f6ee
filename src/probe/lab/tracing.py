"""Traces: the contrasts that a task allows, broken on purpose in the model of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from probe import store
from probe.errors import ProbeError
from probe.lab.data import run_dataset
from probe.lab.models import open_model, provenance
from probe.store import Run
from probe.tasks.dataset import Dataset

if TYPE_CHECKING:
    from probe.analyses.trace import Trace
    from probe.contrasts import Contrast


def contrasts_of(dataset: Dataset, pairs: int | None = None) -> list[Contrast]:
    """The contrasts that a cloze task allows, over its held-out pairs: the word of its contrast, and the nouns' order.

    Both directions of a minimal pair count, so that no kind of adjective is the clean one. `pairs` takes about so many,
    evenly spaced.
    """
    from probe.contrasts import Contrast
    from probe.tasks.dataset import minimal_pairs
    from probe.tasks.spec import Cloze

    cloze = dataset.spec.question
    if not isinstance(cloze, Cloze) or cloze.contrast is None:
        raise ProbeError(f"{dataset.name} declares no contrast to trace; use a task with one, as winograd-hard")
    minimal = minimal_pairs(dataset.held_out)
    by_words = {example.prompt: example for example in dataset.examples}
    first, second = cloze.candidate_slots
    swapped = []
    for example in dataset.held_out:
        prompt, (x, y) = list(example.prompt), (example.positions[first], example.positions[second])
        prompt[x], prompt[y] = prompt[y], prompt[x]
        if tuple(prompt) in by_words:
            swapped.append((example, by_words[tuple(prompt)]))
    found = {cloze.contrast: [*minimal, *((b, a) for a, b in minimal)], "order of the nouns": swapped}
    words = dataset.vocabulary
    contrasts = []
    for name, both in found.items():
        both = both[:: max(1, len(both) // pairs)] if pairs else both
        if not both:
            continue
        positions = both[0][0].positions
        roles = {i: token for i, token in enumerate(both[0][0].prompt)}
        roles |= {i: role for role, i in positions.items() if i < positions["answer"]}
        tensors = {
            "clean": words.batch_of([a.prompt for a, _ in both]),
            "other": words.batch_of([b.prompt for _, b in both]),
            "answer": words.encode([a.answer for a, _ in both]),
            "other_answer": words.encode([b.answer for _, b in both]),
        }
        roles[positions["answer"] - 1] = "answer's place"
        contrasts.append(Contrast(name=name, groups=[a.group for a, _ in both], roles=roles, **_as_tensors(tensors)))
    return contrasts


def _as_tensors(arrays: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def trace_run(run: Run, pairs: int | None = None) -> list[Trace]:
    """Trace every contrast of a run's task, and keep the tables with the run."""
    import torch

    from probe.analyses.trace import trace

    torch.set_num_threads(run.manifest["threads"])
    model, dataset, source = open_model(run), run_dataset(run), provenance(run)
    traces = []
    for contrast in contrasts_of(dataset, pairs):
        done = trace(model, contrast, source)
        for result in (done.nodes, done.edges, done.ways) if done.checks else ():
            store.save_result(run, result.name.replace(" ", "-"), result)
        traces.append(done)
    return traces
