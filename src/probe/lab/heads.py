"""Heads: what each one scores, where it looks, what it could compose with; kept with the run."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe import store
from probe.errors import ProbeError
from probe.lab.data import run_dataset
from probe.lab.models import open_model, provenance, untrained_model
from probe.lab.training import Plan, make_plan, plan_run
from probe.result import AnalysisResult
from probe.store import Run
from probe.tasks.dataset import Dataset
from probe.tasks.spec import Cloze, TokenSequence

if TYPE_CHECKING:
    from probe.analyses.answer_rows import Prompts
    from probe.models.transformer import Transformer

TRAINING: dict[str, dict[str, Any]] = {"induction": {"lr": 0.01, "steps": 800}}
"""What a task is trained with where the defaults do not learn it (see its file)."""
FINE = 25
"""Steps between the checkpoints of a run that is trained to be scored."""


def heads_of(run: Run) -> tuple[AnalysisResult, AnalysisResult]:
    """Head scores, copying among them, and composition of a run's model; kept with the run.

    Returns:
        The scores: rows `layer, head, metric, value, low, high` (95 % over sequences), `floor, maximum, control, name`.
        `value` is a share of attention (`previous token`, `first token`, `duplicate token`, `induction`), nats
        (`entropy`), tokens (`effective tokens`), a share of raised logits (`copying`) or a ratio (`copying
        eigenvalues`); `name` is what the head is called after this score, or empty.
        Composition: rows `sender, receiver, metric` (Q, K or V), `value, control, control_95`, ratios of norms; the
        controls are mean and 95th percentile of random matrices of these ranks. Empty below two layers.

    Raises:
        NotThere: the run is not finished.
        ProbeError: the model has no attention heads, or its sentences are too short for a repeat of period 3.
    """
    import pandas as pd

    from probe.analyses.composition import composition_scores
    from probe.analyses.copying import copying
    from probe.analyses.heads import head_scores

    model, source = with_heads(run), provenance(run)
    d_vocab, longest = model.config.d_vocab, trained_length(run)
    scores = head_scores(model, d_vocab, longest, source, periods=periods_of(run))
    copied = copying(model, d_vocab, longest, source)
    both = replace(
        scores,
        table=pd.concat([scores.table, copied.table], ignore_index=True),
        unit=f"{scores.unit}, {copied.unit}",
        floor=f"{scores.floor}; copying: {copied.floor}",
        convention=f"{scores.convention}; copying on {copied.convention}",
    )
    composed = composition_scores(model, source)
    return kept(run, both), kept(run, composed)


def roles_of(run: Run) -> AnalysisResult:
    """Attention of the answer's place by role over held-out prompts, of the run's model and of its first weights.

    Kept with the run. The untrained model is the control: what it shows, nobody learned.

    Returns:
        Rows `condition` (trained, untrained), `layer, head, role, position, metric, value, low, high`, 95 % over noun
        pairs; `value` is a share of attention. `position` is -1 where it varies, or for the role `elsewhere`.

    Raises:
        NotThere: the run is not finished.
        ProbeError: the model has no attention heads.
    """
    from probe.analyses.answer_rows import head_roles

    models = {"trained": with_heads(run), "untrained": untrained_model(run)}
    return kept(run, head_roles(models, prompts_of(run_dataset(run)), provenance(run)))


def answer_rows_of(run: Run) -> AnalysisResult:
    """The row of the answer's place for every filler of the task's contrast, by block and by head; kept with the run.

    Returns:
        Rows `layer, head, filler, filler_group, role, position, value, low, high`, 95 % over noun pairs; `value` is a
        share of attention. `head` -1 is the mean over heads; `filler_group` the lexicon list of the filler; `position`
        is -1 where it varies, or for the role `elsewhere`.

    Raises:
        NotThere: the run is not finished.
        ProbeError: the task declares no contrast, or the model has no attention heads.
    """
    from probe.analyses.answer_rows import answer_rows

    dataset = run_dataset(run)
    prompts = prompts_of(dataset)
    if not prompts.fillers:
        raise ProbeError(f"{dataset.name} declares no contrast, so there are no fillers to set side by side")
    return kept(run, answer_rows(with_heads(run), prompts, provenance(run)))


def prompts_of(dataset: Dataset) -> Prompts:
    """The held-out prompts, up to the word before the answer, with every place that has a name.

    A place is named by the task's role, or by its word where all prompts share it.
    """
    import numpy as np
    import torch

    from probe.analyses.answer_rows import Prompts, Role

    examples = dataset.held_out
    tokens = dataset.vocabulary.batch_of([example.prompt for example in examples])
    where = {
        role: np.array([e.positions[role] for e in examples]) for role in examples[0].positions if role != "answer"
    }
    roles = [Role(name=role, positions=positions) for role, positions in where.items()]
    taken = {role.position for role in roles}
    for position in range(tokens.shape[1]):
        if position not in taken and (tokens[:, position] == tokens[0, position]).all():
            word = examples[0].prompt[position]
            roles.append(Role(name=word, positions=np.full(len(examples), position)))
    roles.sort(key=lambda role: (role.position < 0, role.position))
    question = dataset.spec.question
    contrast = question.contrast if isinstance(question, Cloze) else None
    listed = {word: name for name, words in dataset.spec.lexicon.items() for word in words}
    return Prompts(
        tokens=torch.from_numpy(tokens),
        roles=roles,
        groups=[example.group for example in examples],
        fillers=[e.tokens[e.positions[contrast]] for e in examples] if contrast else [],
        filler_groups=listed,
    )


def periods_of(run: Run) -> tuple[int, int] | None:
    """The periods of the repeated sequences that a run was trained on; None where it saw none, and any will do."""
    question = run_dataset(run).spec.question
    return question.periods if isinstance(question, TokenSequence) and question.rule == "repeat" else None


def trained_length(run: Run) -> int:
    """The longest sequence of which every position was trained; scores beyond it would tell of first weights.

    One less than the longest sentence: its last word is predicted, and nothing is predicted from it.
    """
    return min(run.config["n_ctx"], max(len(example.tokens) for example in run_dataset(run).examples) - 1)


def run_of_task(
    task: str, runs: Path, data: Path, threads: int = 1, argv: Sequence[str] = ()
) -> tuple[Run, Dataset | None]:
    """The newest finished run on a task's sentences that has heads; or a new one, not trained yet, and its data set.

    `argv` is the command that asks, for the manifest of a new run.
    """
    from probe.lab.data import open_dataset
    from probe.training.config import training_for

    dataset, _ = open_dataset(task, data)
    finished = []
    for name in store.run_names(runs):
        with contextlib.suppress(ProbeError):  # a damaged folder, or another version's, is not the run meant
            run = store.open_run(runs, name)
            if run.manifest["data_sha256"] == dataset.digest and run.finished and has_heads(run):
                finished.append(((run.path / "model.safetensors").stat().st_mtime, run))
    if finished:
        return max(finished, key=lambda dated: dated[0])[1], None
    settings: Mapping[str, Any] = {**TRAINING.get(dataset.name, {}), "checkpoint_every": FINE, "evaluate_every": FINE}
    plan: Plan = make_plan(dataset, "two-block", training_for("two-block", **settings), threads=threads)
    return plan_run(plan, runs, argv), dataset


def has_heads(run: Run) -> bool:
    """Whether there is anything to score."""
    return run.config.get("mixer") == "attention" and run.config.get("n_layers", 0) > 0


def with_heads(run: Run) -> Transformer:
    """The run's model, on as many threads as it was trained with.

    Raises:
        ProbeError: it has no attention heads.
    """
    import torch

    torch.set_num_threads(run.manifest["threads"])
    model = open_model(run)
    if not has_heads(run):
        raise ProbeError("this model has no attention heads to score")
    return model


def kept(run: Run, result: AnalysisResult) -> AnalysisResult:
    """Save a result in the run's folder."""
    store.save_result(run, result.name, result)
    return result
