"""What attention costs: time and memory of one layer over the length, with the matrix in the open and without it."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Generator

from probe.models.config import ModelConfig
from probe.models.transformer import NO_TAP, Attention
from probe.reproductions.claims import (
    Claim,
    Figure,
    Job,
    Measured,
    NotRun,
    Reproduction,
    Settings,
    Tell,
    exactly,
    within,
)
from probe.reproductions.taps import InTheOpen, PatternBytes

WIDTH, HEADS = 512, 8
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192)
COPIES = 3
"""Matrices of that size that the explicit way may hold: scores, masked scores, weights. It frees the first early, and
was seen to hold 2.15 at most."""
SHARE = 0.5
"""Of the free memory that a row may be predicted to take."""
FITTED = 4
"""Last rows that an exponent is fitted to, as in the chapter."""


def matrix_bytes(n: int) -> int:
    """Of the attention matrix of one layer: heads x n² x 4.

    >>> matrix_bytes(128) / 2**20, matrix_bytes(8192) / 2**20
    (0.5, 2048.0)
    """
    return HEADS * n * n * 4


def free_bytes() -> int | None:
    """Memory that could be taken now; None where the system does not say."""
    meminfo = Path("/proc/meminfo")
    if not meminfo.exists():
        return None
    lines = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
    return int(lines["MemAvailable"].split()[0]) * 1024


def peak_bytes(work: Callable[[], Any]) -> int | None:
    """How far the memory of this process rises during some work, by Linux's high-water mark; None elsewhere."""
    try:
        ctypes.CDLL(None).malloc_trim(0)  # what was freed before must be taken from the system again
        Path("/proc/self/clear_refs").write_text("5")  # the mark falls to what is held now
        before = _status("VmRSS")
        work()
        return max(0, _status("VmHWM") - before)
    except (OSError, AttributeError, TypeError):
        work()
        return None


def _status(key: str) -> int:
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return int(lines[key].split()[0]) * 1024


def _work(way: str, n: int) -> Callable[[], Any]:
    """One forward pass of a layer, as a function of nothing."""
    generator = Generator().manual_seed(0)
    config = ModelConfig(d_vocab=2, n_ctx=n, d_model=WIDTH, n_heads=HEADS)
    layer = Attention(config, "attn").requires_grad_(False)
    assert layer.W_ZO is not None
    for parameter in (layer.W_QKV, layer.W_ZO):
        parameter.normal_(0, WIDTH**-0.5, generator=generator)
    x = torch.randn(1, n, WIDTH, generator=generator)
    if way == "explicit attention":
        return lambda: layer(x, InTheOpen(), None)
    if way == "fused attention":
        return lambda: layer(x, NO_TAP, None)
    out = layer.W_ZO.T
    return lambda: F.linear(F.linear(x, layer.W_QKV)[..., :WIDTH], out)


def _matrix(settings: Settings, seed: int, tell: Tell) -> dict[str, Any]:
    """Bytes of the weights that a layer computes, read through its hook; on the meta device, which has no memory."""
    found = {}
    for n in LENGTHS:
        with torch.device("meta"):
            layer, sizes = (
                Attention(ModelConfig(d_vocab=2, n_ctx=n, d_model=WIDTH, n_heads=HEADS), "attn"),
                PatternBytes(),
            )
            layer(torch.empty(1, n, WIDTH), sizes, None)
        found[str(n)] = sizes.bytes
    return found


def _doubling(m: Measured) -> float:
    """The growth with twice as many tokens that is furthest from four times."""
    ratios = [m["matrix"][str(2 * n)] / m["matrix"][str(n)] for n in LENGTHS[:-1]]
    return max(ratios, key=lambda ratio: abs(ratio - 4))


def _measure(way: str, settings: Settings, seed: int, tell: Tell) -> dict[str, Any]:
    found: dict[str, Any] = {"time": [], "memory": [], "stopped": ""}
    for n in LENGTHS[:4] if settings.quick else LENGTHS:
        free = free_bytes()
        predicted = COPIES * matrix_bytes(n) if way == "explicit attention" else 0
        if free is not None and predicted > SHARE * free:
            found["stopped"] = (
                f"stopped before n = {n:,}: {COPIES} x 8 x n² x 4 bytes = {predicted / 2**20:,.0f} MiB is more than "
                f"{SHARE:.0%} of the {free / 2**20:,.0f} MiB that are free"
            )
            break
        work = _work(way, n)
        tell(f"n = {n:,}")
        work()
        memory = peak_bytes(work)
        # the shortest of several: whatever else runs on the machine can only add
        found["time"].append([n, min(_timed(work) for _ in range(3 if n > 2048 else 9))])
        if memory is not None:
            found["memory"].append([n, memory])
    for quantity in ("time", "memory"):
        points = [(n, value) for n, value in found[quantity] if value > 0][-FITTED:]
        if len(points) > 2:
            found |= {f"{quantity} {name}": value for name, value in exponent(points).items()}
    return found


def _timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def exponent(points: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Slope of log y over log x by least squares, with its 95 % interval (Student's t on the residuals).

    >>> exponent([(1, 3.0), (2, 12.0), (4, 48.0)])["exponent"]
    2.0
    """
    from scipy.stats import t

    x, y = np.log(np.asarray(points, dtype=float)).T
    x, y = x - x.mean(), y - y.mean()
    slope = float(x @ y / (x @ x))
    error = math.sqrt(float(((y - slope * x) ** 2).sum()) / (len(points) - 2) / float(x @ x))
    reach = float(t.ppf(0.975, len(points) - 2)) * error
    return {"exponent": round(slope, 6), "low": slope - reach, "high": slope + reach}


def _ways(measured: Measured) -> dict[str, Mapping[str, Any]]:
    """What was timed."""
    return {way: measured[way] for way in WAYS if way in measured}


def _notes(by_seed: Mapping[int, Measured]) -> Sequence[tuple[str, str]]:
    lines = []
    for way, found in _ways(by_seed[0]).items():
        for quantity, (unit, scale) in SHOWN.items():
            shown = "  ".join(f"{n:,}: {value * scale:,.1f}" for n, value in found[quantity])
            lines.append(f"{way}, {quantity} ({unit})  {shown}")
            if f"{quantity} exponent" in found:
                low, high = found[f"{quantity} low"], found[f"{quantity} high"]
                lines.append(f"    exponent {found[f'{quantity} exponent']:.2f}, 95 % {low:.2f} to {high:.2f}")
        if found["stopped"]:
            lines.append(f"    {found['stopped']}")
    return [("every length, one thread", "\n".join(lines))]


def _figures(by_seed: Mapping[int, Measured]) -> Sequence[Figure]:
    return [
        Figure(
            name=quantity, title=f"One layer, width 512, 8 heads: {quantity}", x_label="tokens", y_label=unit,
            series={way: [(n, v * scale) for n, v in found[quantity]] for way, found in _ways(by_seed[0]).items()},
            log_x=True, log_y=True,
        )
        for quantity, (unit, scale) in SHOWN.items()
    ]  # fmt: skip


def _exponent(way: str, quantity: str) -> Callable[[Measured], float]:
    """The fitted exponent of a way; not run where too few lengths were, or memory cannot be read."""

    def value(m: Measured) -> float:
        found = m[way].get(f"{quantity} exponent")
        if found is None:
            raise NotRun(way)
        return found

    return value


def _eight_times_as_long(m: Measured) -> float:
    """Time of the projections at 8,192 tokens over that at 1,024; a quick look does not go as far."""
    seconds = dict(m[WAYS[0]]["time"])
    if 8192 not in seconds:
        raise NotRun(WAYS[0])
    return seconds[8192] / seconds[1024]


def _made_of(settings: Settings) -> dict[str, Any]:
    return {"width": WIDTH, "heads": HEADS, "lengths": list(LENGTHS[:4] if settings.quick else LENGTHS)}


SHOWN = {"time": ("ms", 1e3), "memory": ("MiB", 2**-20)}
"""Quantity -> unit that a reader sees, and what seconds and bytes are multiplied by for it."""
WAYS = ("projections", "fused attention", "explicit attention")

COST = Reproduction(
    name="cost",
    title="What a look at everything costs",
    setting=f"an attention layer, width {WIDTH}, {HEADS} heads, batch 1, float32, forward, one thread; ratios count",
    jobs=[
        Job(key="matrix", measure=_matrix, seeded=False, made_of=_made_of),
        *(Job(key=way, measure=partial(_measure, way), seeded=False, made_of=_made_of) for way in WAYS),
    ],
    claims=[
        Claim(
            statement="attention matrix at 128 tokens, MB", value=lambda m: m["matrix"]["128"] / 2**20,
            rule=exactly(0.5), chapter="0.5",
        ),
        Claim(
            statement="… at 8,192 tokens, MB", value=lambda m: m["matrix"]["8192"] / 2**20, rule=exactly(2048),
            chapter="2,048", form=",.0f",
        ),
        Claim(statement="… grows with each doubling", value=_doubling, rule=exactly(4), chapter="×4"),
        Claim(
            statement="… and is 8 × n² × 4 bytes (largest error)", rule=exactly(0), chapter="8 × n² × 4", form=".0f",
            value=lambda m: max(abs(m["matrix"][str(n)] - matrix_bytes(n)) for n in LENGTHS),
        ),
        Claim(
            statement="explicit attention, time: exponent of n", value=_exponent(WAYS[2], "time"),
            rule=within(1.7, 2.2), chapter="1.91",
        ),
        Claim(
            statement="explicit attention, memory: exponent of n", value=_exponent(WAYS[2], "memory"),
            rule=within(1.7, 2.2), chapter="1.87",
        ),
        Claim(
            statement="projections, time: exponent of n (linear)", value=_exponent(WAYS[0], "time"),
            rule=within(0.85, 1.25), chapter="1.1 (4.0 → 40.1 ms)",
        ),
        Claim(
            statement="projections: time at 8,192 over time at 1,024",
            value=_eight_times_as_long, rule=within(6, 12), chapter="10",
        ),
        Claim(
            statement="fused attention, memory: exponent of n", value=_exponent(WAYS[1], "memory"),
            rule=within(0.7, 1.3, "0.7 to 1.3: the matrix is never stored"),
        ),
        Claim(
            statement="fused attention, time: exponent of n", value=_exponent(WAYS[1], "time"),
            rule=within(1.2, 2.2, "1.2 to 2.2: still every pair"),
        ),
    ],
    alone=True,
    notes=_notes,
    figures=_figures,
)  # fmt: skip
