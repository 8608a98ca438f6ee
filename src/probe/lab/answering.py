"""Models as functions from prompts and candidates to scores: what an audit asks them, without knowing torch."""

from __future__ import annotations

from pathlib import Path

from probe import store
from probe.audit.retention import AnswerFunction, Options, Prompt
from probe.errors import ProbeError
from probe.lab.models import open_model


def answers_of_run(runs: Path, name: str) -> AnswerFunction:
    """A run's model: the logit of each candidate after the prompt. A word that it does not know is named."""
    run = store.open_run(runs, name)
    words = run.vocabulary

    def answers(prompts: list[Prompt], options: list[Options]) -> list[tuple[float, float]]:
        import torch

        model = open_model(run)
        found: list[tuple[float, float]] = [(0.0, 0.0)] * len(prompts)
        for length in sorted({len(prompt) for prompt in prompts}):
            rows = [i for i, prompt in enumerate(prompts) if len(prompt) == length]
            with torch.no_grad():
                logits = model.next_word_logits(torch.from_numpy(words.batch_of([prompts[i] for i in rows])))
            for i, of_row in zip(rows, logits, strict=True):
                first, second = words.encode(_two(options[i])).tolist()
                found[i] = (float(of_row[first]), float(of_row[second]))
        return found

    return answers


def answers_of_pretrained(folder: Path) -> AnswerFunction:
    """A local Hugging Face model: the log-probability of each candidate after the prompt."""
    from probe.models.pretrained import continuation_scores, open_pretrained

    bridge = open_pretrained(folder)

    def answers(prompts: list[Prompt], options: list[Options]) -> list[tuple[float, float]]:
        scores = (continuation_scores(bridge, " ".join(p), _two(o)) for p, o in zip(prompts, options, strict=True))
        return [(first, second) for first, second in scores]

    return answers


def _two(options: Options) -> tuple[str, str]:
    if len(options) != 2:
        raise ProbeError(f"a model is asked questions of two candidates, not of {len(options)}")
    return options[0], options[1]
