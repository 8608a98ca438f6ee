"""Small language models: started as plain torch modules start, trained by torch's AdamW, measured in perplexity.

The models are configurations of `probe.models.Transformer`. The loop is not that of `probe.training`: the chapter's
optimizer is torch's own, its windows are drawn at random from one long text, and nothing is evaluated on the way.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Generator, Tensor

from probe.models.config import ModelConfig
from probe.models.transformer import Transformer, parameter_count
from probe.reproductions.claims import Job, Settings, Tell
from probe.reproductions.corpus import HELD_OUT, VOCABULARY, tokens_of

PART = 2048
"""Tokens that go through the model together: what they leave behind for the gradient fits the cache of a core, which
makes a step of 8,192 tokens 1.2 times as fast as all at once (2 cores of an EPYC 7002)."""


@dataclass(frozen=True, kw_only=True)
class LanguageTraining:
    """The chapter's common setting."""

    steps: int = 3000
    batch: int = 64
    """Windows a step."""
    window: int = 128
    """Tokens that a window predicts."""
    lr: float = 1e-3
    """Constant, after `warmup` steps."""
    warmup: int = 0


QUICK = LanguageTraining(steps=20, batch=4, window=32)


@dataclass(frozen=True, kw_only=True)
class Text:
    """A text as tokens, its last tenth held out."""

    train: Int[Tensor, " token"]
    held_out: Int[Tensor, " token"]


@cache
def text_of(corpus: Path) -> Text:
    """Tokenise once a process."""
    tokens = torch.from_numpy(tokens_of(corpus))
    cut = int(len(tokens) * (1 - HELD_OUT))
    return Text(train=tokens[:cut], held_out=tokens[cut:])


def started(config: ModelConfig, generator: Generator) -> Transformer:
    """A new model with the weights that `nn.Embedding` and `nn.Linear` begin with.

    Embeddings are normal of unit size, matrices uniform within 1 / sqrt(inputs), biases 0. The chapter does not say how
    its models begin. From these weights come its score spread at the start (`scaling`: 21, here 20.6 to 21.2) and its
    first row (`ladder`: 59.7, here 60.7); from GPT-2's the first row is 56.3.
    """
    model = Transformer(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name in ("W_E", "W_pos"):
                parameter.normal_(generator=generator)
            elif parameter.dim() == 2:
                inputs = parameter.shape[1] if name.endswith("W_QKV") else parameter.shape[0]
                parameter.uniform_(-(inputs**-0.5), inputs**-0.5, generator=generator)
    return model


def fit(
    model: Transformer,
    batch_of: Callable[[int], Int[Tensor, "batch pos"]],
    training: LanguageTraining,
    after: Callable[[int, float], None] = lambda step, loss: None,
    dropout: Generator | None = None,
) -> float:
    """Train by next-token prediction; returns the seconds it took, without those of `after`.

    Args:
        model: changed in place.
        batch_of: step, counted from 1 -> tokens, one more than are predicted.
        training: how.
        after: called after every step with its number and loss in nats.
        dropout: draws what is dropped, where the model's configuration drops anything.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=training.lr, fused=True)
    seconds = 0.0
    for step in range(1, training.steps + 1):
        began = time.perf_counter()
        optimizer.param_groups[0]["lr"] = training.lr * (min(1.0, step / training.warmup) if training.warmup else 1.0)
        tokens, total = batch_of(step), 0.0
        optimizer.zero_grad()
        for part in tokens.split(max(1, PART // tokens.shape[1])):
            logits = model(part[:, :-1], dropout=dropout)
            loss = F.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten()) * (len(part) / len(tokens))
            loss.backward()
            total += float(loss.detach())
        optimizer.step()
        seconds += time.perf_counter() - began
        after(step, total)
    return seconds


def windows(tokens: Int[Tensor, " token"], training: LanguageTraining, seed: int) -> Callable[[int], Tensor]:
    """Windows drawn at random, by a generator of the seed's own: step -> [batch, window + 1]."""
    generator = Generator().manual_seed(seed)
    reach = torch.arange(training.window + 1)

    def draw(step: int) -> Tensor:
        first = torch.randint(len(tokens) - training.window, (training.batch,), generator=generator)
        return tokens[first[:, None] + reach]

    return draw


@torch.no_grad()
def perplexity(model: Transformer, tokens: Int[Tensor, " token"], window: int, most: int | None = None) -> float:
    """Exp of the mean loss a token, over windows laid end to end; each token is predicted once.

    Every window begins without context, so a long window is read with more of it. With `most`, about so many tokens, in
    windows spread evenly over the text.
    """
    starts = torch.arange(0, len(tokens) - window, window)
    if most is not None:
        starts = starts[:: max(1, len(starts) * window // most)]
    total = 0.0
    for some in starts.split(max(1, 4096 // window)):
        rows = tokens[some[:, None] + torch.arange(window + 1)]
        total += float(F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten(), reduction="sum"))
    return math.exp(min(700.0, total / (len(starts) * window)))


def measured(
    config: ModelConfig, training: LanguageTraining, settings: Settings, seed: int, tell: Tell
) -> tuple[Transformer, dict[str, Any]]:
    """Train one model and say what came out; of a diverged one, infinity is written as the largest perplexity."""
    assert settings.corpus is not None
    text = text_of(settings.corpus)
    model = started(config, Generator().manual_seed(seed))
    steps: list[list[float]] = []

    def after(step: int, loss: float) -> None:
        if step % max(1, training.steps // 60) == 0 or step == 1:
            steps.append([step, round(min(700.0, loss), 4)])
            tell(f"step {step}/{training.steps}  loss {loss:.3f}")

    draw = windows(text.train, training, seed + 1)
    seconds = fit(model, draw, training, after, Generator().manual_seed(seed + 2))
    tokens = training.steps * training.batch * training.window
    most = 2000 if settings.quick else None
    return model, {
        "held_out": perplexity(model, text.held_out, training.window, most),
        "train": perplexity(model, text.train, training.window, most or len(text.held_out)),
        "parameters": parameter_count(model),
        "tokens_per_second": tokens / seconds,
        "share_of_peak": floating_operations(config, training.window) * tokens / seconds / matmul_peak(),
        "losses": steps,
    }


Plan = Callable[[Settings], tuple[ModelConfig, LanguageTraining]]
"""What a row trains, and how."""


def trained(
    key: str, plan: Plan, then: Callable[[Transformer, Settings], dict[str, Any]] = lambda model, settings: {}
) -> Job:
    """The job that trains a model and measures it; `then` measures more of the trained model."""

    def measure(settings: Settings, seed: int, tell: Tell) -> dict[str, Any]:
        model, found = measured(*plan(settings), settings, seed, tell)
        return found | then(model, settings)

    return Job(key=key, measure=measure, made_of=lambda settings: as_settings(*plan(settings)))


def as_settings(config: ModelConfig, training: LanguageTraining) -> dict[str, Any]:
    """Model and training as a saved row says them."""
    return {"model": config.as_dict(), "training": asdict(training)}


def floating_operations(config: ModelConfig, window: int) -> float:
    """Of one token's training step, in matrix products: 6 a weight, and attention over the half of the window it sees.

    Kaplan et al. 2020, section 2.1 (forward 2, backward 4 a weight); products alone, as the peak is measured.
    """
    width = config.n_heads * config.d_head
    weights, mixing = 0, 0.0
    if config.mixer == "attention":
        weights += 3 * width * config.d_model + (width * config.d_model if config.output_projection else 0)
        mixing = 2 * width * window / 2  # q k^T and weights times v, causal
    elif config.mixer == "uniform":
        mixing = config.d_model * window
    weights += 2 * config.d_model * config.d_mlp
    return 6 * (config.n_layers * (weights + mixing) + config.d_model * config.d_vocab)


@cache
def matmul_peak() -> float:
    """Operations a second of a product of two 1,024 x 1,024 matrices on the threads in use, the best of five."""
    a = torch.ones(1024, 1024)
    best = math.inf
    for _ in range(6):
        began = time.perf_counter()
        torch.mm(a, a)
        best = min(best, time.perf_counter() - began)
    return 2 * 1024**3 / best


def lasting(settings: Settings, **training: Any) -> LanguageTraining:
    """The chapter's training with what is different, or that of a quick look."""
    return QUICK if settings.quick else LanguageTraining(**training)


def sized(settings: Settings, **config: Any) -> dict[str, Any]:
    """The chapter's sizes, or those of a quick look."""
    small = {"d_vocab": VOCABULARY, "n_ctx": 32, "d_model": 32} if settings.quick else {}
    return {"d_vocab": VOCABULARY, "n_ctx": 128, "d_model": 128, **config, **small}
