"""How to train, and the learning rate at each step. No torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from probe.errors import ProbeError, check_seed, nearest

Optimizer = Literal["muon", "adamw"]


_MEAN = {
    "steps": 4000,
    "batch_size": 64,
    "lr": 0.03,
    "weight_decay": 0.0,
    "evaluate_every": 250,
    "checkpoint_every": 1000,
}

VARIANT_TRAINING: dict[str, dict[str, Any]] = {
    "uniform": _MEAN,
    "uniform-positions": _MEAN,
    "uniform-residual": _MEAN,
}
"""What a named model is trained with where it is not the default. A mean of words learns slowly, at a tenth of the cost
a step: nothing but counts tells it at which position it stands."""


def training_for(variant: str, **settings: Any) -> TrainingConfig:
    """The training of a named variant; `settings` win over the variant's own.

    >>> training_for("uniform").steps, training_for("two-block").steps
    (4000, 400)
    """
    return TrainingConfig(**{**VARIANT_TRAINING.get(variant, {}), **settings})


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Ordinary next-token training on all positions."""

    seed: int = 0
    """Of the first weights, the order of the sentences and dropout."""
    steps: int = 400
    batch_size: int = 32
    """Sentences a step."""
    optimizer: Optimizer = "muon"
    """`muon`: Muon for the matrices inside blocks, AdamW for all else. `adamw`: AdamW for everything."""
    lr: float = 0.0
    """Highest learning rate; 0 stands for the optimizer's own default, 0.02 for muon and 0.003 for adamw."""
    weight_decay: float = 0.01
    warmup: int = 20
    """Steps over which the rate rises from 0."""
    decay: float = 0.4
    """Last share of the steps, over which the rate falls to 0, so that the last step does not sit on a spike."""
    evaluate_every: int = 25
    """Steps between two evaluations on validation and held_out."""
    checkpoint_every: int = 25
    """Steps between two checkpoints; each is kept at the evaluation that comes then, or next."""
    until: float | None = None
    """Stop early: once validation accuracy reaches this, the rate falls to 0 over `cooldown` steps; if validation still
    stands there then, training ends, else it goes on."""
    cooldown: int = 25

    def __post_init__(self) -> None:
        if self.optimizer not in get_args(Optimizer):
            raise ProbeError(f"optimizer = {self.optimizer!r}: {nearest(self.optimizer, get_args(Optimizer))}")
        if self.lr == 0.0:
            object.__setattr__(self, "lr", 0.02 if self.optimizer == "muon" else 0.003)
        for name in ("steps", "batch_size", "evaluate_every", "checkpoint_every", "cooldown"):
            if getattr(self, name) < 1:
                raise ProbeError(f"{name} = {getattr(self, name)}: must be 1 or more")
        check_seed(self.seed)
        if self.lr < 0 or self.weight_decay < 0 or self.warmup < 0:
            raise ProbeError(
                f"lr = {self.lr}, weight_decay = {self.weight_decay}, warmup = {self.warmup}: not negative"
            )
        if not 0 <= self.decay <= 1:
            raise ProbeError(f"decay = {self.decay}: a share of the steps, 0 … 1")
        if self.until is not None and not 0 < self.until <= 1:
            raise ProbeError(f"until = {self.until}: an accuracy, above 0 and at most 1")

    def rate(self, step: int, cooling_since: int | None = None) -> float:
        """The learning rate of a step, counted from 1: up over `warmup`, level, then down to 0 over the last `decay`.

        `cooling_since` is the step after which the rate falls to 0 over `cooldown` steps instead.

        >>> config = TrainingConfig(steps=100, lr=1.0, warmup=10, decay=0.5)
        >>> [round(config.rate(step), 2) for step in (1, 10, 50, 75, 100)]
        [0.1, 1.0, 1.0, 0.52, 0.02]
        """
        up = min(1.0, step / self.warmup) if self.warmup else 1.0
        falling = self.decay * self.steps
        down = min(1.0, (self.steps - step + 1) / falling) if falling else 1.0
        cool = 1.0 if cooling_since is None else (self.cooldown - (step - cooling_since) + 1) / self.cooldown
        return self.lr * min(up, down, cool)

    def keeps(self, step: int) -> bool:
        """Whether a checkpoint is kept at the evaluation after `step` steps.

        >>> config = TrainingConfig(evaluate_every=20, checkpoint_every=50)
        >>> [step for step in range(0, 201, 20) if config.keeps(step)]
        [0, 60, 100, 160, 200]
        """
        before = (step - 1) // self.evaluate_every * self.evaluate_every
        return step == 0 or step // self.checkpoint_every > before // self.checkpoint_every

    def as_dict(self) -> dict[str, Any]:
        """All fields."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "training config") -> TrainingConfig:
        """The inverse of `as_dict`; an unknown key is named."""
        fields = {field.name for field in dataclasses.fields(cls)}
        for key in values:
            if key not in fields:
                raise ProbeError(f"{where}: unknown key {key!r}; {nearest(key, fields)}")
        try:
            return cls(**values)
        except (ProbeError, TypeError) as error:  # a TypeError compares text with a number
            raise ProbeError(f"{where}: {error}") from None
