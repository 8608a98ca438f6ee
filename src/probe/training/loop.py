"""The training loop: one state, advanced step by step, that can be stopped and saved between any two steps.

Nothing random is carried along: the order of the sentences is a function of (seed, epoch), dropout of (seed, step). So
a state is weights, optimizer moments and a step number, and a run that was killed continues to the same bytes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from jaxtyping import Int
from torch import Generator, Tensor

from probe.errors import ProbeError
from probe.metrics import Score, next_token_loss, score_model
from probe.models.transformer import Transformer
from probe.tasks.dataset import Dataset
from probe.training.config import TrainingConfig
from probe.training.optimizer import Optimizer


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What is known after `step` steps."""

    step: int
    loss: float
    """Mean training loss since the last evaluation, in nats a token; at step 0 that of the first batch."""
    validation: Score
    held_out: Score
    seconds: float
    """Wall time spent in this process's loop so far."""


@dataclass(kw_only=True)
class TrainingState:
    """All that training changes."""

    model: Transformer
    optimizer: Optimizer
    step: int = 0
    cooling_since: int | None = None
    """The step at which validation stood at `until`, so that the rate falls from there on."""
    done: bool = False
    """Whether there is nothing left to do: all steps taken, or `until` reached and cooled down."""
    losses: list[float] = field(default_factory=list)
    """Of the steps since the last evaluation."""


@dataclass(frozen=True, kw_only=True)
class Split:
    """One side of a data set as tensors."""

    tokens: Int[Tensor, "example pos"]
    answer: Int[Tensor, " example"]
    distractor: Int[Tensor, " example"]
    answer_position: Int[Tensor, " example"]


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """What the loop reads."""

    train: Int[Tensor, "example pos"]
    validation: Split
    held_out: Split


def training_data(dataset: Dataset, device: str = "cpu") -> TrainingData:
    """Encode a data set once."""

    def split(side: str) -> Split:
        batch = dataset.vocabulary.batch(dataset.sides[side])
        arrays = (batch.tokens, batch.answer, batch.distractor, batch.positions["answer"])
        tokens, answer, distractor, position = (torch.from_numpy(array).to(device) for array in arrays)
        return Split(tokens=tokens, answer=answer, distractor=distractor, answer_position=position)

    return TrainingData(train=split("train").tokens, validation=split("validation"), held_out=split("held_out"))


def start(model: Transformer, config: TrainingConfig) -> TrainingState:
    """A state at step 0."""
    return TrainingState(model=model, optimizer=Optimizer(model, config))


def train(
    state: TrainingState,
    data: TrainingData,
    config: TrainingConfig,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Evaluation]:
    """Advance `state` to the end, yielding at every evaluation; between two yields nothing is half done.

    Args:
        state: changed in place.
        data: the sentences.
        config: how.
        stop: asked after every step; once true, the iterator ends there, between two steps.

    Raises:
        ProbeError: the loss is not a number, or grows far beyond that of a model that knows nothing.
    """
    model = state.model
    began = time.perf_counter()
    state.done = state.done or state.step >= config.steps
    if state.step == 0:
        with torch.no_grad():
            first = _batch(data, config, 1)
            state.losses = [float(next_token_loss(model(first[:, :-1]), first))]
        yield _evaluation(state, data, began)
    while not state.done:
        step = state.step + 1
        tokens = _batch(data, config, step)
        loss = next_token_loss(model(tokens[:, :-1], dropout=_dropout(model, config, step)), tokens)
        value = float(loss.detach())
        if not value <= 3 * math.log(model.config.d_vocab) + 3:
            raise ProbeError(
                f"the loss is {value:.3g} at step {step}, where a model that knows nothing has "
                f"{math.log(model.config.d_vocab):.2f}; lower --lr (it is {config.lr:g}) or raise --batch-size"
            )
        model.zero_grad(set_to_none=True)
        loss.backward()
        state.optimizer.step(step, config.rate(step, state.cooling_since))
        state.step = step
        state.losses.append(value)
        cooled = state.cooling_since is not None and step == state.cooling_since + config.cooldown
        if step % config.evaluate_every == 0 or step == config.steps or cooled:
            evaluation = _evaluation(state, data, began)
            enough = config.until is not None and evaluation.validation.referent_accuracy >= config.until
            state.done = step == config.steps or (cooled and enough)
            if enough and state.cooling_since is None:
                state.cooling_since = step
            elif cooled and not enough:
                state.cooling_since = None
            yield evaluation
        if stop():
            return


def _batch(data: TrainingData, config: TrainingConfig, step: int) -> Int[Tensor, "batch pos"]:
    """The sentences of a step: each epoch is one random order of all of them, cut into batches end to end."""
    n, size = len(data.train), config.batch_size
    first = (step - 1) * size
    parts = []
    while size:
        epoch, offset = divmod(first, n)
        order = _epoch_order(n, config.seed, epoch)[offset : offset + size]
        parts.append(order)
        first, size = first + len(order), size - len(order)
    return data.train[torch.cat(parts).to(data.train.device)]


def _epoch_order(n: int, seed: int, epoch: int) -> Int[Tensor, " example"]:
    return torch.randperm(n, generator=Generator().manual_seed(seed * 1_000_003 + epoch))


def _dropout(model: Transformer, config: TrainingConfig, step: int) -> Generator | None:
    drops = (model.config.attention_dropout, model.config.residual_dropout, model.config.embedding_dropout)
    if not any(drops):
        return None
    device = next(model.parameters()).device
    return Generator(device=device).manual_seed(config.seed * 1_000_003 + 500_009 + step)


def _evaluation(state: TrainingState, data: TrainingData, began: float) -> Evaluation:
    loss = sum(state.losses) / len(state.losses)
    state.losses = []
    validation, held_out = (evaluate(state.model, side) for side in (data.validation, data.held_out))
    seconds = time.perf_counter() - began
    return Evaluation(step=state.step, loss=loss, validation=validation, held_out=held_out, seconds=seconds)


@torch.no_grad()
def evaluate(model: Transformer, split: Split) -> Score:
    """Score a model on one side; it sees each prompt up to the word before the answer."""
    return score_model(
        model.next_word_logits,
        split.tokens,
        split.answer_position,
        split.answer,
        split.distractor,
    )
