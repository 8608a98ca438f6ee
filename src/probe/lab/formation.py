"""Formation: the scores of a run's heads at each of its checkpoints, and the dates of their changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probe import store
from probe.errors import ProbeError
from probe.lab.data import run_dataset
from probe.lab.heads import kept, periods_of, trained_length, with_heads
from probe.lab.models import open_model, provenance
from probe.result import AnalysisResult
from probe.store import Run


def formation_of(run: Run, tell: Callable[[str], None] = lambda said: None) -> tuple[AnalysisResult, AnalysisResult]:
    """Scores of every head over checkpoints, with loss, accuracy and in-context score, and the dates of their changes.

    Kept with the run, and read from there where nothing has changed.

    Args:
        run: with ten checkpoints or more.
        tell: hears how far it has come.

    Returns:
        The curves: rows `step, layer, head, metric, value`; layer and head -1 are the whole model (`loss` in nats,
        `accuracy` a share of sentences, `in-context score` in nats), the others are heads (shares; `entropy` in nats).
        The changes: rows `metric, layer, head`, `step` with its 95 % interval `low, high` and `duration`, in training
        steps, and the levels `before, after` in the unit of the metric; empty in a row without a change.

    Raises:
        ProbeError: the run kept too few checkpoints, and the message says how to keep more; or it has no heads.
        NotThere: the run is not finished.
    """
    found = [store.load_result(run, name) for name in ("formation", "formation-changes")]
    if found[0] is not None and found[1] is not None and found[0].provenance == found[1].provenance == provenance(run):
        return found[0], found[1]
    import torch

    from probe.analyses.copying import direct_copying
    from probe.analyses.formation import FEWEST, MODEL, formation
    from probe.analyses.heads import SHARES, in_context_score, repeats, scores_by_sequence
    from probe.metrics import next_token_loss
    from probe.training.loop import training_data

    steps = store.checkpoint_steps(run)
    if len(steps) < FEWEST:
        every = max(1, run.manifest["training"]["steps"] // 32)
        raise ProbeError(
            f"run {run.name} kept {len(steps)} checkpoints, {FEWEST} or more are needed to date a change; train it "
            f"again with: probe train --task {run.manifest['task']} --set checkpoint_every={every} "
            f"--set evaluate_every={every} (and the same settings as before)"
        )
    last = with_heads(run)
    d_vocab, longest = last.config.d_vocab, trained_length(run)
    drawn = repeats(d_vocab, longest, 16, torch.Generator().manual_seed(0), periods_of(run))
    generator = torch.Generator().manual_seed(1)
    words = torch.stack([torch.randperm(d_vocab, generator=generator)[: min(25, longest)] for _ in range(32)])
    held_out = training_data(run_dataset(run)).held_out
    accuracy = {row["step"]: row["held_out"]["referent_accuracy"] for row in store.read_metrics(run)}
    rows: list[dict[str, Any]] = []
    for number, step in enumerate(steps, start=1):
        if number % 8 == 1:
            tell(f"checkpoint {number} of {len(steps)}, step {step}")
        model = open_model(run, step)
        with torch.no_grad():
            loss = float(next_token_loss(model(held_out.tokens[:, :-1]), held_out.tokens))
        whole = {"loss": loss, "accuracy": accuracy[step], "in-context score": in_context_score(model, drawn)}
        place = {"step": step, "layer": MODEL, "head": MODEL}
        rows += [{**place, "metric": metric, "value": value} for metric, value in whole.items()]
        scores, _ = scores_by_sequence(model, drawn)
        by_head = {metric: scores[metric].mean(-1) for metric in (*SHARES, "entropy")}
        by_head["copying"] = direct_copying(model, words).mean(-1)
        for metric, values in by_head.items():
            for layer, of_layer in enumerate(values.tolist()):
                for head, value in enumerate(of_layer):
                    place = {"step": step, "layer": layer, "head": head}
                    rows.append({**place, "metric": metric, "value": value})
    listed = ", ".join(str(sample.period) for sample in drawn)
    convention = (
        f"heads on 16 random sequences of each period {listed}; loss (nats a word) and referent accuracy on held_out; "
        "in-context score: loss on the second copy of those sequences minus loss on the first, nats"
    )
    curves, dates = formation(rows, convention, provenance(run))
    return kept(run, curves), kept(run, dates)
