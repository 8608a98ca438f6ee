"""Why scores are divided by the root of the width: their variance is the width, and a wide softmax sees one token.

Random queries and keys first, which takes a second; then models trained with the division and without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from jaxtyping import Int
from torch import Generator, Tensor

from probe.activations import cached
from probe.models.config import ModelConfig, make_config
from probe.models.transformer import Transformer
from probe.reproductions.claims import (
    Claim,
    Figure,
    Job,
    Measured,
    Reproduction,
    Rule,
    Settings,
    Tell,
    about,
    above,
    within,
)
from probe.reproductions.language import LanguageTraining, lasting, sized, started, text_of, trained

VARIANCES = {4: 3.975, 16: 16.071, 64: 64.249, 256: 253.065, 1024: 1015.562}
"""Width -> the chapter's variance of q·k over twenty thousand random pairs."""
DEVIATIONS = {4: 1.994, 16: 4.009, 64: 8.016, 256: 15.908, 1024: 31.868}
"""Width -> its standard deviation, the chapter's."""
PAIRS, ROWS, KEYS = 20_000, 2_000, 64
FROZEN = 0.99
"""A row whose largest weight is above this is called frozen: almost no gradient passes its softmax."""


def _random(settings: Settings, seed: int, tell: Tell) -> dict[str, Any]:
    """Variance, effective tokens and the softmax's Jacobian for random queries and keys of unit variance."""
    generator = Generator().manual_seed(seed)
    found: dict[str, Any] = {}
    for width in VARIANCES:
        q, k = torch.randn(2, PAIRS, width, generator=generator)
        found[f"variance {width}"] = float((q * k).sum(-1).var())
        query = torch.randn(ROWS, 1, width, generator=generator)
        scores = (query @ torch.randn(ROWS, width, KEYS, generator=generator))[:, 0]
        for name, weights in (
            ("divided", (scores / math.sqrt(width)).softmax(-1)),
            ("undivided", scores.softmax(-1)),
        ):  # fmt: skip
            found[f"effective {name} {width}"] = float(effective_tokens(weights).mean())
            found[f"one row {name} {width}"] = float(effective_tokens(weights[:1]).mean())
            found[f"jacobian {name} {width}"] = float((weights * (1 - weights)).sum(-1).mean())
            found[f"frozen {name} {width}"] = float((weights.max(-1).values > FROZEN).float().mean())
    return found


def effective_tokens(weights: Tensor) -> Tensor:
    """The exponential of each row's entropy: how many tokens share the attention.

    >>> effective_tokens(torch.tensor([[0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0]])).tolist()
    [4.0, 1.0]
    """
    return torch.special.entr(weights).sum(-1).exp()


def _config(d_head: int, divided: bool, settings: Settings) -> ModelConfig:
    """At d_head 32 the ladder's one block; wider, one head without a norm."""
    if d_head == 32:
        return make_config("one-block", **sized(settings), attention_scale=divided)
    wide = {"d_head": d_head, "output_projection": True, "attention_scale": divided}
    return make_config("one-head", **sized(settings) | wide)


def _some_windows(settings: Settings, window: int) -> Int[Tensor, "batch pos"]:
    """Sixteen held-out windows to look at scores in."""
    assert settings.corpus is not None
    return text_of(settings.corpus).held_out[: 16 * window].view(16, window)


def _started(settings: Settings, seed: int, tell: Tell) -> dict[str, Any]:
    """Scores of a head of width 1,024 before the first step, undivided."""
    config = _config(1024, False, settings)
    return scores_of(started(config, Generator().manual_seed(seed)), _some_windows(settings, config.n_ctx))


def _plan(d_head: int, divided: bool, settings: Settings) -> tuple[ModelConfig, LanguageTraining]:
    training = lasting(settings) if d_head == 32 else lasting(settings, steps=1500, batch=32)
    return _config(d_head, divided, settings), training


def _looked_into(model: Transformer, settings: Settings) -> dict[str, Any]:
    return scores_of(model, _some_windows(settings, lasting(settings).window))


def scores_of(model: Transformer, tokens: Tensor) -> dict[str, float]:
    """Spread of the scores, entropy of the weights in nats, share of frozen rows; of layer 0, read through its hooks.

    The first half of each window is left out: a row of few keys is sharp by itself.
    """
    names = ["blocks.0.attn.hook_attn_scores", "blocks.0.attn.hook_pattern"]
    _, seen = cached(model, tokens, names)
    late = slice(tokens.shape[1] // 2, None)
    scores, weights = seen[names[0]][:, :, late], seen[names[1]][:, :, late]
    return {
        "score std": float(scores[scores.isfinite()].std()),
        "entropy": float(torch.special.entr(weights).sum(-1).mean()),
        "frozen": float((weights.max(-1).values > FROZEN).float().mean()),
    }


def _job(d_head: int, divided: bool) -> str:
    return f"d_head {d_head}, {'divided' if divided else 'undivided'}"


def _random_claim(statement: str, number: str, rule: Rule | None, chapter: str = "", form: str = ".2f") -> Claim:
    return Claim(
        statement=statement, value=lambda m: m["random pairs"][number], rule=rule, chapter=chapter, form=form
    )  # fmt: skip


def _lost(d_head: int) -> Callable[[Measured], float]:
    return lambda m: m[_job(d_head, False)]["held_out"] - m[_job(d_head, True)]["held_out"]


def _of(d_head: int, divided: bool, number: str) -> Callable[[Measured], float]:
    return lambda m: m[_job(d_head, divided)][number]


def _figures(by_seed: Mapping[int, Measured]) -> Sequence[Figure]:
    runs = [m["random pairs"] for m in by_seed.values() if "random pairs" in m]
    if not runs:
        return ()
    series = {
        name: [(width, sum(m[f"effective {name} {width}"] for m in runs) / len(runs)) for width in VARIANCES]
        for name in ("divided", "undivided")
    }
    return [
        Figure(
            name="effective-tokens", title="How many of 64 tokens a random softmax sees", x_label="width of a head",
            y_label="effective tokens (exp of the entropy)", series=series, log_x=True,
        )
    ]  # fmt: skip


SCALING = Reproduction(
    name="scaling",
    title="Why scores are divided by the root of the width",
    setting="twenty thousand random pairs; rows of 64 scores; models at the ladder's setting (d_head 32) "
    "or with one head, no norm, 1,500 steps of 32 windows",
    jobs=[
        Job(
            key="random pairs", measure=_random, made_of=lambda settings: {"pairs": PAIRS, "rows": ROWS, "keys": KEYS}
        ),
        Job(
            key="at the start", measure=_started, made_of=lambda settings: _config(1024, False, settings).as_dict()
        ),
        *(
            trained(_job(d_head, divided), partial(_plan, d_head, divided), _looked_into)
            for d_head in (256, 1024, 32)
            for divided in (True, False)
        ),
    ],
    claims=[
        *(
            _random_claim(f"Var(q·k), width {width}", f"variance {width}", about(figure, 0.05), f"{figure}", ".3f")
            for width, figure in VARIANCES.items()
        ),
        *(
            Claim(
                statement=f"… its standard deviation, width {width}", rule=about(figure, 0.025), chapter=f"{figure}",
                value=lambda m, width=width: math.sqrt(m["random pairs"][f"variance {width}"]), form=".3f",
            )
            for width, figure in DEVIATIONS.items()
        ),
        _random_claim("effective tokens of 64, one row, width 256, divided", "one row divided 256", within(20, 64)),
        _random_claim("… undivided: one token of 64", "one row undivided 256", within(1, 1.5), "1"),
        _random_claim("… undivided, mean of 2,000 rows", "effective undivided 256", within(1, 1.5)),
        *(
            _random_claim(
                f"Σ w(1-w) of a softmax row, width {width}, divided", f"jacobian divided {width}", about(0.96, 0.02),
                "0.96", ".3f",
            )
            for width in VARIANCES
        ),
        _random_claim(
            "rows frozen (largest weight above 0.99), width 1024, undivided", "frozen undivided 1024",
            about(0.7, 0.1), "seven of ten", ".3f",
        ),
        Claim(
            statement="trained, d_head 32: perplexity lost without the division", value=_lost(32), rule=within(-1, 1),
            chapter="no difference",
        ),
        Claim(
            statement="trained, d_head 256: perplexity lost without the division", value=_lost(256),
            rule=above(0, within(9, 27)), chapter="18",
        ),
        Claim(
            statement="trained, d_head 1024: perplexity lost without the division", value=_lost(1024),
            rule=above(0, within(8.5, 25.5)), chapter="17",
        ),
        Claim(
            statement="d_head 1024, undivided: standard deviation of the scores at the start",
            value=lambda m: m["at the start"]["score std"], rule=about(21, 0.1), chapter="21",
        ),
        Claim(
            statement="… after training", value=_of(1024, False, "score std"),
            rule=above(210, within(2500, 10000, "2,500 to 10,000")), chapter="5,147", form=",.0f",
        ),
        Claim(
            statement="… entropy of its rows, nats", value=_of(1024, False, "entropy"), rule=within(0, 0.05),
            chapter="→ 0", form=".4f",
        ),
        Claim(
            statement="… rows above 0.99 on one token", value=_of(1024, False, "frozen"), rule=within(0.99, 1),
            chapter="99.9 %", form=".1%",
        ),
        Claim(
            statement="d_head 1024, divided: standard deviation of the scores after training",
            value=_of(1024, True, "score std"), rule=about(3.44, 0.5), chapter="3.44",
        ),
    ],
    needs_corpus=True,
    figures=_figures,
)  # fmt: skip
