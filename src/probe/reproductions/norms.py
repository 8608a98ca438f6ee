"""Where LayerNorm stands: before each sub-layer or after its sum, with a warm-up and without."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Generator, Tensor

from probe.models.config import ModelConfig, make_config
from probe.models.transformer import Transformer
from probe.reproductions.claims import (
    Claim,
    Figure,
    Job,
    Measured,
    Reproduction,
    Settings,
    Tell,
    about,
    above,
    within,
)
from probe.reproductions.language import (
    LanguageTraining,
    as_settings,
    lasting,
    sized,
    started,
    text_of,
    trained,
    windows,
)
from probe.reproductions.taps import Streams

BLOCKS = 12
STEPS, RATE = 1000, 3e-3
RUNS: dict[str, tuple[str, int, str, float]] = {
    "pre-norm, no warm-up": ("pre", 0, "37.82", 37.82),
    "pre-norm, 200 steps of warm-up": ("pre", 200, "37.62", 37.62),
    "post-norm, no warm-up": ("post", 0, "308.05", 308.05),
    "post-norm, 200 steps of warm-up": ("post", 200, "37.88", 37.88),
}
"""Row -> norm, warm-up, the chapter's held-out perplexity."""


def _config(norm: str, settings: Settings) -> ModelConfig:
    return make_config(f"{3 if settings.quick else BLOCKS}-block", **sized(settings), norm=norm)


def gradient_norms(model: Transformer, tokens: Int[Tensor, "batch pos"]) -> dict[str, list[float]]:
    """Norms of one batch's gradient, block by block.

    Returns:
        `blocks`: of all parameters of a block; `W_QKV`, `W_O`: of its attention's input or output projection alone;
        `streams`: of the residual stream that it hands on.
    """
    tap = Streams()
    F.cross_entropy(model(tokens[:, :-1], tap).flatten(0, 1), tokens[:, 1:].flatten()).backward()
    found: dict[str, list[float]] = {"blocks": [], "W_QKV": [], "W_O": [], "streams": []}
    for block, stream in zip(model.blocks, tap.seen, strict=True):
        of_block = {name: p.grad.norm() for name, p in block.named_parameters() if p.grad is not None}
        found["blocks"].append(float(torch.stack(list(of_block.values())).norm()))
        found["W_QKV"].append(float(of_block["attn.W_QKV"]))
        found["W_O"].append(float(of_block["attn.W_ZO"]))
        found["streams"].append(float(stream.grad.norm()) if stream.grad is not None else 0.0)
    return found


def _gradients(settings: Settings, seed: int, tell: Tell) -> dict[str, Any]:
    assert settings.corpus is not None
    tokens = windows(text_of(settings.corpus).train, lasting(settings), seed + 1)(1)
    found: dict[str, Any] = {}
    for norm in ("pre", "post"):
        model = started(_config(norm, settings), Generator().manual_seed(seed))
        for what, norms in gradient_norms(model, tokens).items():
            found[f"{norm} {what}"] = norms
            found[f"{norm} {what} lowest"], found[f"{norm} {what} highest"] = min(norms), max(norms)
            found[f"{norm} {what} ratio"] = max(norms) / min(norms)
    return found


def _plan(norm: str, warmup: int, settings: Settings, batch: int = 64) -> tuple[ModelConfig, LanguageTraining]:
    return _config(norm, settings), lasting(settings, steps=STEPS, lr=RATE, warmup=warmup, batch=batch)


def _of(row: str) -> Callable[[Measured], float]:
    return lambda m: m[row]["held_out"]


AT_START = {"pre": (0.0498, 0.0657, 1.32), "post": (0.0977, 0.1613, 1.65)}
"""Norm -> lowest and highest gradient norm of a block, and their ratio; the chapter's."""
READINGS = {
    "blocks": "gradient norm of a block's parameters at the start",
    "W_QKV": "… read as that of its W_Q, W_K and W_V alone",
    "W_O": "… read as that of its W_O alone",
}


def _at_start(what: str) -> list[Claim]:
    """The chapter's six figures and their order.

    It does not say of which parameters. What it says, "of a block", is judged; other readings were found after the
    figures had been seen, and stand beside it.
    """
    declared, claims = what == "blocks", []
    why = "a reading found after the figures were seen"
    for norm, figures in AT_START.items():
        for number, figure in zip(("lowest", "highest", "ratio"), figures, strict=True):
            ratio = number == "ratio"
            claims.append(
                Claim(
                    statement=f"{READINGS[what]}, {norm}-norm, {number}",
                    value=lambda m, key=f"{norm} {what} {number}": m["gradients"][key],
                    rule=about(figure, 0.15 if ratio else 0.25) if declared else None, why=why, chapter=f"{figure}",
                    form=".2f" if ratio else ".4f",
                )
            )  # fmt: skip
    claims.append(
        Claim(
            statement=f"{READINGS[what]}: post-norm's ratio over blocks is the larger, difference",
            value=lambda m: m["gradients"][f"post {what} ratio"] - m["gradients"][f"pre {what} ratio"],
            rule=above(0, about(0.33, 0.5)) if declared else None, why=why, chapter="0.33",
        )
    )  # fmt: skip
    return claims


def _figures(by_seed: Mapping[int, Measured]) -> Sequence[Figure]:
    found = by_seed[min(by_seed)].get("gradients")
    if found is None:
        return ()
    series = {
        f"{norm}-norm, {what}": list(enumerate(found[f"{norm} {key}"], start=1))
        for key, what in (("blocks", "whole block"), ("W_O", "W_O alone"))
        for norm in ("pre", "post")
    }
    return [
        Figure(
            name="gradients", title="Gradient norm of each block before the first step", x_label="block",
            y_label="norm of the gradient", series=series, log_y=True,
        )
    ]  # fmt: skip


ROWS = tuple(RUNS)
SMALLER = ", batches of 32"
"""The same with half of the tokens: the chapter names no batch for this table, and with 64 its rows overfit."""

NORMS = Reproduction(
    name="norms",
    title="Where LayerNorm stands",
    setting="12 blocks, 1,000 steps of AdamW at 3e-3, else as the ladder; the gradient is that of the first batch",
    jobs=[
        Job(
            key="gradients", measure=_gradients,
            made_of=lambda settings: {norm: as_settings(*_plan(norm, 0, settings)) for norm in ("pre", "post")},
        ),
        *(trained(row, partial(_plan, norm, warmup)) for row, (norm, warmup, _, _) in RUNS.items()),
        *(trained(row + SMALLER, partial(_plan, norm, warmup, batch=32)) for row, (norm, warmup, *_) in RUNS.items()),
    ],
    claims=[
        *(claim for what in READINGS for claim in _at_start(what)),
        *(
            Claim(statement=row, value=_of(row), rule=about(figure, 0.05 if figure < 100 else 0.5), chapter=printed)
            for row, (_, _, printed, figure) in RUNS.items()
        ),
        Claim(
            statement="post-norm needs the warm-up: perplexity lost without",
            value=lambda m: m[ROWS[2]]["held_out"] - m[ROWS[3]]["held_out"], 
            rule=above(50, about(270, 0.5)), chapter="270",
        ),
        Claim(
            statement="pre-norm does not: perplexity lost without",
            value=lambda m: m[ROWS[0]]["held_out"] - m[ROWS[1]]["held_out"], rule=within(-2, 2), chapter="0.20",
        ),
        *(
            Claim(
                statement=row + SMALLER, value=_of(row + SMALLER), chapter=printed,
                why="a guess at the chapter's batch, made after its figures were seen",
            )
            for row, (_, _, printed, _) in RUNS.items()
        ),
    ],
    needs_corpus=True,
    figures=_figures,
)  # fmt: skip
