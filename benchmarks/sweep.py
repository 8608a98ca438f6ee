"""Activation patching over layer x position x head: our sweep against TransformerLens's loop, same numbers, same run.

python benchmarks/sweep.py

The sentences differ in one of 15 words: the twelfth, as in a pair of winograd-hard, or the second, so that hardly
anything can be left out.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import statistics
import time
from collections.abc import Callable

import torch
from torch import Generator, Tensor
from transformer_lens import patching

from probe.activations import cached, sites_of, sweep
from probe.models.config import make_config
from probe.models.hooked import HookedTransformer
from probe.models.transformer import initialised


def seconds(work: Callable[[], Tensor], repeats: int) -> tuple[float, Tensor]:
    """Median wall seconds, and the last result."""
    times, result = [], torch.empty(0)
    for _ in range(repeats):
        began = time.perf_counter()
        with contextlib.redirect_stderr(io.StringIO()):  # its progress bars
            result = work()
        times.append(time.perf_counter() - began)
    return statistics.median(times), result


def main() -> None:
    """Print a line for each batch size."""
    torch.set_num_threads(2)
    model = initialised(make_config("two-block", d_vocab=36, n_ctx=18), Generator().manual_seed(0))
    hooked = HookedTransformer(model)
    for batch, changed in itertools.product((1, 8, 64), (11, 1)):
        clean = torch.randint(36, (batch, 15), generator=Generator().manual_seed(1))
        corrupted = clean.clone()
        corrupted[:, changed] = (corrupted[:, changed] + 1) % 36

        def metric(logits: Tensor) -> Tensor:
            return (logits[:, -1, 1] - logits[:, -1, 2]).mean()

        def theirs(clean: Tensor = clean, corrupted: Tensor = corrupted) -> Tensor:
            with torch.no_grad():
                cache = hooked.run_with_cache(clean)[1]
                return patching.get_act_patch_attn_head_out_by_pos(hooked, corrupted, cache, metric)

        def ours(clean: Tensor = clean, corrupted: Tensor = corrupted) -> Tensor:
            sites = sites_of("z", 2, 4, range(15))
            values = cached(model, clean, sorted({site.name for site in sites}))[1]
            logits = sweep(model, corrupted, sites, values)
            return (logits[..., 1] - logits[..., 2]).mean(1).view(2, 4, 15).transpose(1, 2)

        ours()
        slow, expected = seconds(theirs, 3)
        fast, result = seconds(ours, 9)
        error = float((expected - result).abs().max())
        speed = f"TransformerLens {slow:6.3f} s, ours {fast:6.3f} s, {slow / fast:5.1f}x"
        print(f"batch {batch:3}, word {changed + 1:2} differs: {speed}, largest difference {error:.1e}")


if __name__ == "__main__":
    main()
