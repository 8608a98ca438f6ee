"""Where a training step of the language models goes: parts of a batch, threads, bfloat16, torch.compile.

    python benchmarks/language_step.py [--compile]

Every line is the best of some steps of 64 windows of 128 tokens; the share is that of the machine's peak in matrix
products with as many threads.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Generator

from probe.models.config import make_config
from probe.models.transformer import Transformer
from probe.reproductions.language import floating_operations, matmul_peak, started

BATCH, WINDOW, STEPS = 64, 128, 4


def main() -> None:
    tokens = torch.randint(1024, (BATCH, WINDOW + 1), generator=Generator().manual_seed(0))
    for variant in ("no-context", "one-block", "two-block"):
        for threads in (1, 2):
            torch.set_num_threads(threads)
            for part in (64, 16, 8):
                report(variant, threads, f"parts of {part} windows", step(variant, tokens, part))
            if variant == "one-block":
                report(variant, threads, "bfloat16, parts of 16", step(variant, tokens, 16, bfloat16=True))
                if "--compile" in sys.argv:
                    report(variant, threads, "torch.compile, parts of 16", step(variant, tokens, 16, compiled=True))


def step(
    variant: str, tokens: torch.Tensor, part: int, compiled: bool = False, bfloat16: bool = False
) -> Callable[[], None]:
    """A training step as a function of nothing."""
    config = make_config(variant, d_vocab=1024, n_ctx=WINDOW, d_model=128)
    model: Transformer = started(config, Generator().manual_seed(0))
    forward = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def take() -> None:
        optimizer.zero_grad()
        for rows in tokens.split(part):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
                loss = F.cross_entropy(forward(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
            (loss * len(rows) / BATCH).backward()
        optimizer.step()

    return take


def report(variant: str, threads: int, how: str, take: Callable[[], None]) -> None:
    """Time it and print a line."""
    best = float("inf")
    for _ in range(STEPS):
        began = time.perf_counter()
        take()
        best = min(best, time.perf_counter() - began)
    rate = BATCH * WINDOW / best
    config = make_config(variant, d_vocab=1024, n_ctx=WINDOW, d_model=128)
    matmul_peak.cache_clear()
    share = floating_operations(config, WINDOW) * rate / matmul_peak()
    print(
        f"{variant:12} {threads} threads  {how:28} {rate:>8,.0f} tokens a second  {share:.0%} of the peak", flush=True
    )


if __name__ == "__main__":
    main()
