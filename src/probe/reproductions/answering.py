"""One row of `winograd`: a model trained in one of two ways, looked at along training, and traced.

Accuracies are kept along training, because a last step can sit on a spike; and every model that answers is traced, so
that "composition across layers is the mechanism" is a statement that can come out otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import torch
from jaxtyping import Int
from torch import Generator, Tensor

from probe.activations import cached
from probe.analyses.trace import Contrast, trace
from probe.metrics import Score
from probe.models.config import ModelConfig, make_config
from probe.models.transformer import Transformer, initialised
from probe.reproductions.claims import Settings, Tell
from probe.reproductions.language import LanguageTraining, fit, started
from probe.result import Provenance, versions
from probe.tasks.dataset import Dataset, make_dataset
from probe.tasks.spec import load_task
from probe.training.config import TrainingConfig, training_for
from probe.training.loop import TrainingData, evaluate, start, train, training_data

WAYS = ("chapter", "defaults")
"""`chapter`: AdamW at a constant 1e-3, width 128, 3,000 steps of 64. `defaults`: what `probe train` does."""
EVERY = 50
"""Steps between two looks at the held-out sentences."""
STRATEGY = 3
"""Raised when a trace names strategies otherwise. 2: an MLP that writes a word anew in place is no hop. 3: over all
held-out pairs; before, over 60 that turned out to have one adjective of four."""
FIRST, SECOND = "animal", "street"

Contrasts = Callable[[Dataset], Sequence[Contrast]]
"""The contrasts of a task; made where sentences and tensors are joined, in `probe.lab.tracing`."""
Look = Callable[[int, Score], None]
"""Told of the held-out score after a step."""


@cache
def dataset_of(task: str) -> Dataset:
    """The task's sentences, with the seed that every command takes."""
    return make_dataset(load_task(f"winograd-{task}"), seed=0)


def measure(
    task: str, variant: str, way: str, contrasts_of: Contrasts, settings: Settings, seed: int, tell: Tell
) -> dict[str, Any]:
    """Train, look along the way, trace the adjective's way to the answer, and keep the maps of the eight sentences."""
    dataset, config = dataset_of(task), config_of(task, variant, way, settings)
    along: list[list[float]] = []

    def look(step: int, score: Score) -> None:
        along.append([step, score.referent_accuracy, score.distractor_rate])
        tell(f"step {step}  held-out {score.referent_accuracy:.1%}")

    learn = as_the_chapter if way == "chapter" else by_our_defaults
    model = learn(variant, config, training_data(dataset), seed, settings, look)
    _, last, wrong = along[-1]
    best = max(along, key=lambda row: row[1])
    found = {"along": along, "last": last, "wrong": wrong, "best": best[1], "best step": best[0]}
    if variant == "uniform":
        return found
    if task == "hard":
        source = Provenance(
            task_digest=dataset.spec.digest, model_digest="", seed=seed, versions=versions(), threads=1,
            dtype="float32", git_commit=None,
        )  # fmt: skip
        adjective = next(contrast for contrast in contrasts_of(dataset) if contrast.name == "adjective")
        found["strategy"] = trace(model, adjective, source).strategy
    return found | {"rows": answer_rows(model, dataset)}


def config_of(task: str, variant: str, way: str, settings: Settings) -> ModelConfig:
    """The model of a row."""
    dataset = dataset_of(task)
    n_ctx = max(len(example.tokens) for example in dataset.examples)
    sizes: dict[str, Any] = {"d_vocab": len(dataset.vocabulary), "n_ctx": n_ctx}
    sizes |= {"d_model": 32} if settings.quick else {"d_model": 128} if way == "chapter" else {}
    return make_config(variant, **sizes)


def made_of(task: str, variant: str, way: str, settings: Settings) -> dict[str, Any]:
    """Sentences, model and training of a row."""
    how = training_of(settings) if way == "chapter" else defaults_of(variant, 0, settings)
    training = {name: value for name, value in asdict(how).items() if name != "seed"}
    found = {"task": dataset_of(task).digest, "model": config_of(task, variant, way, settings).as_dict()}
    traced = {"strategy": STRATEGY} if task == "hard" and variant != "uniform" else {}
    return found | {"training": training} | traced


def training_of(settings: Settings) -> LanguageTraining:
    """The chapter's: its batches are sentences instead of windows."""
    return LanguageTraining(steps=20 if settings.quick else 3000, batch=64)


def defaults_of(variant: str, seed: int, settings: Settings) -> TrainingConfig:
    """That of `probe train --variant`, evaluated every `EVERY` steps."""
    small = {"steps": 20, "evaluate_every": 20} if settings.quick else {"evaluate_every": EVERY}
    return training_for(variant, **{"seed": seed, **small})


def as_the_chapter(
    variant: str, config: ModelConfig, data: TrainingData, seed: int, settings: Settings, look: Look
) -> Transformer:
    """Train with torch's AdamW at a constant rate, from the weights that torch's modules begin with."""
    training = training_of(settings)
    model = started(config, Generator().manual_seed(seed))
    every = min(EVERY, training.steps)

    def after(step: int, loss: float) -> None:
        if step % every == 0:
            look(step, evaluate(model, data.held_out))

    fit(model, epochs(data.train, training.batch, seed + 1), training, after)
    return model


def by_our_defaults(
    variant: str, config: ModelConfig, data: TrainingData, seed: int, settings: Settings, look: Look
) -> Transformer:
    """Train as `probe train --variant` does."""
    training = defaults_of(variant, seed, settings)
    state = start(initialised(config, Generator().manual_seed(seed)), training)
    for evaluation in train(state, data, training):
        look(evaluation.step, evaluation.held_out)
    return state.model


def epochs(train: Int[Tensor, "example pos"], batch: int, seed: int) -> Callable[[int], Tensor]:
    """Sentences of a step: random orders of all of them, end to end."""
    generator, order = Generator().manual_seed(seed), torch.empty(0, dtype=torch.int64)

    def draw(step: int) -> Tensor:
        nonlocal order
        while len(order) < batch:
            order = torch.cat([order, torch.randperm(len(train), generator=generator)])
        now, order = order[:batch], order[batch:]
        return train[now]

    return draw


def answer_rows(model: Transformer, dataset: Dataset) -> dict[str, list[list[float]]]:
    """Adjective -> block -> attention of the position that has to name the referent, mean over heads.

    Of the sentences about the animal and the street; 15 words can be seen, so that uniform attention is 0.067.
    """
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(model.config.n_layers)]
    found = {}
    for adjective, prompt in prompts_of(dataset).items():
        _, seen = cached(model, torch.from_numpy(dataset.vocabulary.encode(prompt))[None], names)
        rows = [seen[name][0, :, -1].mean(0) for name in names]
        found[adjective] = [[round(float(weight), 4) for weight in row] for row in rows]
    return found


def prompts_of(dataset: Dataset) -> dict[str, tuple[str, ...]]:
    """Adjective -> the prompt about the animal and the street."""
    return {
        example.prompt[example.positions["adjective"]]: example.prompt
        for example in dataset.examples
        if example.prompt[1] == FIRST and example.prompt[example.positions["y"]] == SECOND
    }
