"""Our optimizers are torch's, to rounding; and orthogonalised means what it says."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from support import SHAPES, perturbed, tokens_for

from probe.metrics import next_token_loss
from probe.models.config import ModelConfig
from probe.training.config import TrainingConfig
from probe.training.optimizer import ADAMW_SHARE, Optimizer, orthogonalised


def steps_of(optimizer_of, n: int = 5) -> list[torch.Tensor]:
    """Parameters after n steps on one batch."""
    model = perturbed(ModelConfig(**SHAPES))  # a key's bias has no gradient, and Adam would enlarge its rounding
    tokens, step = tokens_for(model.config), optimizer_of(model)
    for number in range(1, n + 1):
        model.zero_grad()
        next_token_loss(model(tokens), tokens).backward()
        step(number)
    return [p.detach().clone() for p in model.parameters()]


def test_adamw_is_torchs_adamw() -> None:
    config = TrainingConfig(optimizer="adamw", lr=0.01, weight_decay=0.1)

    def torchs(model):
        peer = torch.optim.AdamW(model.parameters(), lr=0.01, betas=(0.9, 0.99), weight_decay=0.1)
        return lambda number: peer.step()

    def own(model):
        optimizer = Optimizer(model, config)
        return lambda number: optimizer.step(number, 0.01)

    for a, b in zip(steps_of(own), steps_of(torchs), strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5)


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="torch.optim.Muon came with torch 2.9")
def test_muon_is_torchs_muon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Theirs iterates in bfloat16, ours in float32; given float32, theirs takes the same steps."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    config = TrainingConfig(lr=0.01, weight_decay=0.1)

    def torchs(model):
        named = list(model.named_parameters())
        matrices = [p for name, p in named if name.startswith("blocks.") and p.dim() == 2]
        rest = [p for name, p in named if not (name.startswith("blocks.") and p.dim() == 2)]
        peers = [
            torch.optim.Muon(matrices, lr=0.01, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(rest, lr=ADAMW_SHARE * 0.01, betas=(0.9, 0.99), weight_decay=0.1),
        ]
        return lambda number: [peer.step() for peer in peers]

    def own(model):
        optimizer = Optimizer(model, config)
        return lambda number: optimizer.step(number, 0.01)

    for a, b in zip(steps_of(own), steps_of(torchs), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


def test_orthogonalised_keeps_the_directions_and_levels_their_strength() -> None:
    matrices = torch.randn(3, 8, 20, generator=torch.Generator().manual_seed(0))
    u, _, v = torch.linalg.svd(matrices, full_matrices=False)
    result = orthogonalised(matrices)
    strength = torch.linalg.svdvals(result)
    assert strength.min() > 0.6
    assert strength.max() < 1.3
    cosine = (result * (u @ v)).sum((1, 2)) / (result.norm(dim=(1, 2)) * (u @ v).norm(dim=(1, 2)))
    assert cosine.min() > 0.97


def test_training_does_not_import_dynamo() -> None:
    """It costs as long as all of torch."""
    code = (
        "import sys, torch; from probe.models.transformer import Transformer; from probe.models.config import *;"
        "from probe.training.optimizer import Optimizer; from probe.training.config import TrainingConfig;"
        "m = Transformer(make_config('two-block', d_vocab=5, n_ctx=4)); o = Optimizer(m, TrainingConfig());"
        "m(torch.zeros(1, 3, dtype=torch.long)).sum().backward(); o.step(1, 0.1);"
        "print('torch._dynamo' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
