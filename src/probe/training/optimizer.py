"""Muon and AdamW, as plain arithmetic on tensors.

Both stand in torch.optim too. They are written out here because making a torch.optim optimizer imports torch._dynamo,
1.6 s of the four that a whole training command takes, and because matrices of one shape are orthogonalised together,
which halves a Muon step. A test holds them to torch's own (docs/LOG.md has the measurement).
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from probe.training.config import TrainingConfig

MOMENTUM = 0.95
BETAS = (0.9, 0.99)
EPSILON = 1e-8
ADAMW_SHARE = 0.3
"""AdamW's learning rate beside Muon, as a share of Muon's."""


class Optimizer:
    """Changes a model's parameters by their gradients; its moments are all the state it has.

    `muon`: the matrices inside blocks by Muon, embeddings, unembedding, norms and biases by AdamW. `adamw`: AdamW for
    everything.
    """

    def __init__(self, model: nn.Module, config: TrainingConfig) -> None:
        self.config = config
        by_muon = config.optimizer == "muon"
        named = dict(model.named_parameters())
        matrices = {n: p for n, p in named.items() if by_muon and n.startswith("blocks.") and p.dim() == 2}
        self.rest = {name: parameter for name, parameter in named.items() if name not in matrices}
        self.stacks: dict[tuple[int, int], dict[str, nn.Parameter]] = {}
        for name, parameter in matrices.items():
            rows, columns = sorted(parameter.shape)
            self.stacks.setdefault((rows, columns), {})[name] = parameter
        self.moments = {f"{name}.momentum": torch.zeros_like(p) for name, p in matrices.items()}
        flat = torch.cat([parameter.detach().flatten() for parameter in self.rest.values()])
        self.moments |= {"rest.mean": torch.zeros_like(flat), "rest.square": torch.zeros_like(flat)}

    @torch.no_grad()
    def step(self, number: int, rate: float) -> None:
        """Take step `number`, counted from 1, at a learning rate."""
        if self.config.optimizer == "adamw":
            self._adamw(number, rate)
            return
        self._adamw(number, ADAMW_SHARE * rate)
        for stack in self.stacks.values():
            self._muon(stack, rate)

    def _muon(self, stack: dict[str, nn.Parameter], rate: float) -> None:
        """Muon (Jordan et al. 2024): momentum, its orthogonal part, at AdamW's root mean square (Liu et al. 2025)."""
        updates = []
        for name, parameter in stack.items():
            gradient = parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
            momentum = self.moments[f"{name}.momentum"].lerp_(gradient, 1 - MOMENTUM)
            update = gradient.lerp(momentum, MOMENTUM)
            updates.append(update.T if update.shape[0] > update.shape[1] else update)
        for parameter, update in zip(stack.values(), orthogonalised(torch.stack(updates)), strict=True):
            update = update.T if parameter.shape[0] > parameter.shape[1] else update
            parameter.mul_(1 - rate * self.config.weight_decay)
            parameter.add_(update, alpha=-rate * 0.2 * math.sqrt(max(parameter.shape)))

    def _adamw(self, number: int, rate: float) -> None:
        """AdamW (Loshchilov & Hutter 2019, algorithm 2), all parameters laid end to end."""
        parameters = list(self.rest.values())
        gradients = (p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters)
        gradient = torch.cat([each.flatten() for each in gradients])
        mean = self.moments["rest.mean"].lerp_(gradient, 1 - BETAS[0])
        square = self.moments["rest.square"].mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        root = (square / (1 - BETAS[1] ** number)).sqrt_().add_(EPSILON)
        update = mean / (1 - BETAS[0] ** number) / root
        for parameter, part in zip(parameters, update.split([p.numel() for p in parameters]), strict=True):
            parameter.mul_(1 - rate * self.config.weight_decay).add_(part.view_as(parameter), alpha=-rate)


def orthogonalised(matrices: Float[Tensor, "n rows columns"], steps: int = 5) -> Float[Tensor, "n rows columns"]:
    """About U V^T of each matrix U S V^T (rows <= columns), by Newton and Schulz's quintic iteration.

    Jordan et al. 2024: the coefficients trade accuracy for speed; singular values end between about 0.7 and 1.2.

    >>> matrix = torch.tensor([[[3.0, 0.0, 0.0], [0.0, -0.5, 0.0]]])
    >>> orthogonalised(matrix).sign().tolist()
    [[[1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]]
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrices / matrices.flatten(1).norm(dim=1).clamp(min=1e-7)[:, None, None]
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x
