"""How the reproductions look into a model without changing it: taps that have attention computed, or keep gradients."""

from __future__ import annotations

from torch import Tensor


class InTheOpen:
    """Wants the weights of attention, so that the whole matrix is computed instead of the fused kernel's result."""

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """Change nothing."""
        return tensor

    def wants(self, name: str) -> bool:
        """Attention's weights."""
        return name.endswith("hook_pattern")


class PatternBytes(InTheOpen):
    """Counts the bytes that the weights of attention take."""

    def __init__(self) -> None:
        self.bytes = 0

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """Change nothing."""
        self.bytes += tensor.nbytes if self.wants(name) else 0
        return tensor


class Streams:
    """Keeps the residual stream that each block hands on, and has its gradient kept too."""

    def __init__(self) -> None:
        self.seen: list[Tensor] = []

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """Change nothing."""
        if name.endswith("hook_resid_post"):
            tensor.retain_grad()
            self.seen.append(tensor)
        return tensor

    def wants(self, name: str) -> bool:
        """Nothing that is not computed anyway."""
        return False
