"""Traces: the contrasts that a task allows, broken on purpose in the model of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from probe import store
from probe.errors import ProbeError
from probe.lab.data import run_dataset
from probe.lab.models import provenance, untrained_model, with_blocks
from probe.processes import side_by_side
from probe.result import AnalysisResult, Provenance
from probe.store import Run
from probe.tasks.dataset import Dataset
from probe.tasks.examples import Example, shuffled

if TYPE_CHECKING:
    from probe.analyses.evidence import Evidence
    from probe.analyses.trace import Trace
    from probe.contrasts import Contrast
    from probe.models.transformer import Transformer


def contrasts_of(dataset: Dataset, pairs: int | None = None) -> list[Contrast]:
    """The contrasts that a cloze task allows, over its held-out pairs: the word of its contrast, and the nouns' order.

    Both directions of a minimal pair count, so that no kind of adjective is the clean one.

    Args:
        dataset: of a cloze task.
        pairs: so many of each contrast, 2 or more, drawn by a lot that is always the same, every noun pair in its turn;
            all by default. A minimal pair counts as two, so that one less is taken of an odd number.

    Returns:
        One of the name of the contrast's slot, and `order of the nouns`; without those that have no pair.

    Raises:
        ProbeError: the task declares no contrast, or `pairs` is below 2.
    """
    _checked(pairs)
    from probe.contrasts import Contrast
    from probe.tasks.dataset import minimal_pairs
    from probe.tasks.spec import Cloze

    cloze = dataset.spec.question
    if not isinstance(cloze, Cloze) or cloze.contrast is None:
        raise ProbeError(f"{dataset.name} declares no contrast to trace; use a task with one, as winograd-hard")
    minimal = _drawn(minimal_pairs(dataset.held_out), pairs and pairs // 2)
    by_words = {example.prompt: example for example in dataset.examples}
    first, second = cloze.candidate_slots
    swapped = []
    for example in dataset.held_out:
        prompt, (x, y) = list(example.prompt), (example.positions[first], example.positions[second])
        prompt[x], prompt[y] = prompt[y], prompt[x]
        if tuple(prompt) in by_words:
            swapped.append((example, by_words[tuple(prompt)]))
    found = {
        cloze.contrast: [*minimal, *((b, a) for a, b in minimal)],
        "order of the nouns": _drawn(swapped, pairs),
    }
    words = dataset.vocabulary
    contrasts = []
    for name, both in found.items():
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


def _drawn(pairs: Sequence[tuple[Example, Example]], n: int | None) -> list[tuple[Example, Example]]:
    """`n` of the pairs, or all: groups take turns, and within them a lot decides, so that no word is always the one.

    Every k-th would not do: sentences stand in the order of their words, and a step that fits takes one adjective only.
    """
    taken: Counter[str] = Counter()
    turns = []
    for i in shuffled(range(len(pairs)), Random("pairs")):
        group = pairs[i][0].group
        turns.append((taken[group], i))
        taken[group] += 1
    turns.sort(key=lambda turn: turn[0])
    return [pairs[i] for i in sorted(i for _, i in turns[:n])]


def _as_tensors(arrays: Mapping[str, Any]) -> dict[str, Any]:
    import torch

    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def trace_run(run: Run, pairs: int | None = None) -> list[Trace]:
    """Trace every contrast of a run's task, and keep the tables with the run.

    Args:
        run: a finished run.
        pairs: so many held-out pairs of each contrast, 2 or more; all by default.

    Returns:
        A `Trace` for each contrast. Where the model answers too few pairs its tables are empty, and its `strategy` says
        so.

    Raises:
        NotThere: the run is not finished.
        ProbeError: `pairs` below 2, a task without a contrast, a model without blocks, or one whose stream is no sum.
    """
    from probe.analyses.trace import trace

    model, contrasts, source = _opened(run, pairs)
    traces = [trace(model, contrast, source) for contrast in contrasts]  # all, before any is kept: half is no trace
    for done in traces:
        _keep(run, pairs, *((done.nodes, done.edges, done.ways) if done.checks else ()))
    return traces


def trace_runs(
    runs: Sequence[Run], pairs: int | None = None, processes: int = 1, tell: Callable[[Run], None] = lambda run: None
) -> list[tuple[Run, Trace]]:
    """Trace every contrast of several runs, so many processes side by side; `tell` hears which run is begun."""
    _checked(pairs)
    jobs = [(run, pairs) for run in runs]
    found = side_by_side(_traced, jobs, processes, lambda job, begun: tell(job[0]))
    return [(run, done) for run, traces in zip(runs, found, strict=True) for done in traces]


def _traced(job: tuple[Run, int | None], tell: Callable[[str], None]) -> list[Trace]:
    tell("begun")
    return trace_run(*job)


def examine(
    run: Run, pairs: int | None = None, processes: int = 1, show: Callable[[list[Trace]], None] = lambda traces: None
) -> tuple[list[Trace], list[Evidence], AnalysisResult | None]:
    """Trace every contrast and put the circuits to the tests; sweeps and the logit lens are kept with the run too.

    With two processes or more the tests run beside the trace; `show` gets the traces as soon as they are there.

    Returns:
        The traces, what stands behind each circuit, and direct effects; the last two empty where nothing is traced.
    """
    _checked(pairs)
    if processes > 1:
        jobs = [("evidence", run, pairs), ("trace", run, pairs)]
        evidence, (traces, effects) = side_by_side(_examined, jobs, 2, lambda job, traces: show(traces))
    else:
        traces, effects = _examined(("trace", run, pairs), show)
        evidence = _examined(("evidence", run, pairs), show) if effects is not None else []
    return traces, evidence, effects


def _examined(job: tuple[str, Run, int | None], tell: Callable[[list[Trace]], None]) -> Any:
    """One half of `examine`: the evidence, or the traces with everything else."""
    what, run, pairs = job
    if what == "evidence":
        return evidence_of(run, pairs)
    traces = trace_run(run, pairs)
    tell(traces)
    if not any(done.checks for done in traces):
        return traces, None
    effects = attribution_of(run, pairs)
    sweeps_of(run, pairs)
    lens_of(run, pairs)
    return traces, effects


def stability_of(traced: Sequence[tuple[Run, Trace]]) -> AnalysisResult | None:
    """How much of their circuits traced runs share, heads matched by what they do.

    Args:
        traced: runs that differ in their seed, each with the traces of `trace_run`.

    Returns:
        Rows `what, subject, value, low, high, n` over `n` runs. `value` is the share of runs with an `edge kind`, the
        mean effect of a matched `head` as a share of the logit difference, or the `overlap` of two runs' circuits
        (Jaccard, 1: the same). None where fewer than two runs have been traced, or their models differ in shape.

    Raises:
        NotThere: the folder of a run is gone.
    """
    from probe.analyses.stability import stability

    runs: dict[str, dict[str, Any]] = {}
    for run, done in traced:
        if done.checks:
            runs.setdefault(run.name, {})[done.nodes.details["contrast"]] = (done.nodes.table, done.edges.table)
    shapes = {run.name: (run.config["n_layers"], run.config["n_heads"]) for run, _ in traced if run.name in runs}
    if len(runs) < 2 or len(set(shapes.values())) > 1:
        return None
    return stability(runs, provenance(traced[0][0]))


JUDGED = 40
"""Pairs of each contrast that stand behind a circuit's evidence: half to find it, half to judge it."""
SWEPT = 60
"""Pairs of each contrast over which places are swept and effects in logits taken; the trace itself takes all."""


def evidence_of(run: Run, pairs: int | None = None) -> list[Evidence]:
    """What stands behind the circuit of a run's model, kept with the run.

    Args:
        run: a finished run.
        pairs: so many of each contrast, 2 or more, but no more than 40; half to find the circuit, half to judge.

    Returns:
        An `Evidence` for each contrast; none where the model answers too few pairs of it right, both ways.

    Raises:
        NotThere: the run is not finished.
        ProbeError: `pairs` below 2, a task without a contrast, a model without blocks, or one whose stream is no sum.
    """
    from probe.analyses.evidence import evidence

    model, contrasts, source = _opened(run, _at_most(JUDGED, pairs))
    found = evidence(model, untrained_model(run), contrasts, source)
    for each in found:
        _keep(run, pairs, each.faithfulness, each.subsets, each.sizes)
    return found


def sweeps_of(run: Run, pairs: int | None = None) -> list[AnalysisResult]:
    """Activation patching at every place, for every contrast, kept with the run.

    Args:
        run: a finished run.
        pairs: so many of each contrast, 2 or more, but no more than 60.

    Returns:
        For each contrast rows `kind, layer, head, position, role, metric` (noising, or denoising), `value, low, high`
        (95 % over noun pairs), `ratio_of_means`. `value` is a share of the logit difference: lost by noising, gained
        by denoising. Empty where the model answers no pair right, both ways.

    Raises:
        NotThere: the run is not finished.
        ProbeError: `pairs` below 2, a task without a contrast, or a model without blocks.
    """
    from probe.analyses.sweeps import sweeps

    model, contrasts, source = _opened(run, _at_most(SWEPT, pairs))
    return _keep(run, pairs, *(sweeps(model, contrast, source) for contrast in contrasts))


def attribution_of(run: Run, pairs: int | None = None) -> AnalysisResult:
    """Direct and total effects of every part on the sentences of the first contrast, kept with the run.

    Args:
        run: a finished run.
        pairs: so many of the contrast, 2 or more, but no more than 60.

    Returns:
        Rows `node, metric, value, low, high` in logits, 95 % over noun pairs. The `direct` ones sum to the logit
        difference (`biases` is what no part wrote); `direct, beyond the mean` and `total` are what goes when the output
        is the mean for its place, directly or with all that others made of it. Empty where the model answers fewer than
        eight pairs right, both ways.

    Raises:
        NotThere: the run is not finished.
        ProbeError: `pairs` below 2, a task without a contrast, a model without blocks, or one whose stream is no sum.
    """
    from probe.analyses.attribution import attribution

    model, contrasts, source = _opened(run, _at_most(SWEPT, pairs))
    return _keep(run, pairs, attribution(model, contrasts[0], source))[0]


def lens_of(run: Run, pairs: int | None = None) -> AnalysisResult:
    """The logit lens on the sentences of the first contrast, kept with the run.

    Args:
        run: a finished run.
        pairs: so many of the contrast, 2 or more; all by default.

    Returns:
        Rows `kind, layer, position, role, metric, value, low, high`, 95 % over noun pairs; `value` is in logits (`logit
        difference`), a `probability`, or the `rank` of the answer (1: first).

    Raises:
        NotThere: the run is not finished.
        ProbeError: `pairs` below 2, a task without a contrast, or a model without blocks.
    """
    from probe.analyses.lens import lens

    model, contrasts, source = _opened(run, pairs)
    return _keep(run, pairs, lens(model, contrasts[0], source))[0]


def _opened(run: Run, pairs: int | None) -> tuple[Transformer, list[Contrast], Provenance]:
    """A run's model, the contrasts of its task, and where what is found comes from."""
    _checked(pairs)
    contrasts = contrasts_of(run_dataset(run), pairs)
    if not contrasts:
        raise ProbeError(f"{run.manifest['task']}: no two held-out sentences differ in one thing alone")
    return with_blocks(run), contrasts, provenance(run)


def _at_most(most: int, pairs: int | None) -> int:
    """The pairs that are asked for, but no more than an analysis needs."""
    return most if pairs is None else min(pairs, most)


def _checked(pairs: int | None) -> None:
    """Refuse a number of pairs that has no interval over pairs; before anything is computed."""
    if pairs is not None and pairs < 2:
        raise ProbeError(f"pairs = {pairs}: must be 2 or more; leave it out for all of them")


def _keep(run: Run, pairs: int | None, *results: AnalysisResult) -> list[AnalysisResult]:
    """Save results that hold anything under their names, with the pairs that were asked for: `verify` asks again."""
    kept = [replace(result, details={**result.details, "asked": pairs}) for result in results]
    for result in kept:
        if len(result.table):
            store.save_result(run, result.name.replace(" ", "-"), result)
    return kept
