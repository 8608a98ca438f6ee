"""Models and inputs that the model tests share."""

from __future__ import annotations

import torch
from torch import Generator

from probe.models.config import ModelConfig
from probe.models.transformer import Transformer, initialised

SHAPES = {"d_vocab": 11, "n_ctx": 7, "d_model": 16, "n_heads": 4}


def perturbed(config: ModelConfig, seed: int = 0) -> Transformer:
    """A model whose every parameter, biases and norms included, is away from its initial value."""
    model = initialised(config, Generator().manual_seed(seed))
    generator = Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=generator)
    return model


def tokens_for(config: ModelConfig, batch: int = 3, pos: int | None = None, seed: int = 0) -> torch.Tensor:
    shape = (batch, pos or config.n_ctx)
    return torch.randint(config.d_vocab, shape, generator=Generator().manual_seed(seed))
