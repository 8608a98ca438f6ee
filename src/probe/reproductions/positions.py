"""Kinds of positions: trained on windows of 64 tokens, read at 64, 128 and 256."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from probe.models.config import ModelConfig, make_config
from probe.models.transformer import Transformer
from probe.reproductions.claims import (
    Claim,
    Figure,
    Measured,
    Reproduction,
    Settings,
    about,
    above,
    below,
    within,
)
from probe.reproductions.language import LanguageTraining, lasting, perplexity, sized, text_of, trained

KINDS = ("alibi", "learned", "rope", "sinusoidal", "none")
READ_AT = (64, 128, 256)
"""Windows; the first is what is trained on. Learned positions beyond it are there, and were never trained."""


def _plan(kind: str, settings: Settings) -> tuple[ModelConfig, LanguageTraining]:
    config = make_config("one-block", **sized(settings) | {"position": kind, "n_ctx": READ_AT[-1]})
    return config, lasting(settings, window=READ_AT[0])


def _read(model: Transformer, settings: Settings) -> dict[str, Any]:
    assert settings.corpus is not None
    text, most = text_of(settings.corpus), 2000 if settings.quick else None
    return {f"read at {window}": perplexity(model, text.held_out, window, most) for window in READ_AT}


def _at(kind: str, window: int) -> Callable[[Measured], float]:
    return lambda m: m[kind][f"read at {window}"]


def _grows(kind: str, window: int) -> Callable[[Measured], float]:
    """Perplexity at a window over that at the trained one."""
    return lambda m: m[kind][f"read at {window}"] / m[kind][f"read at {READ_AT[0]}"]


def _figures(by_seed: Mapping[int, Measured]) -> Sequence[Figure]:
    series = {}
    for kind in KINDS:
        runs = [m[kind] for m in by_seed.values() if kind in m]
        if runs:
            series[kind] = [(w, sum(run[f"read at {w}"] for run in runs) / len(runs)) for w in READ_AT]
    return [
        Figure(
            name="positions", title="Trained on 64 tokens, read further", x_label="window read", series=series,
            y_label="held-out perplexity", log_x=True,
        )
    ]  # fmt: skip


POSITIONS = Reproduction(
    name="positions",
    title="Trained on windows of 64, read at 64, 128 and 256",
    setting="one block of the ladder with windows of 64; perplexity of the held-out tenth in windows laid end to end",
    jobs=[trained(kind, partial(_plan, kind), _read) for kind in KINDS],
    claims=[
        *(
            Claim(statement=f"{kind}, read at {window}", value=_at(kind, window))
            for kind in KINDS
            for window in READ_AT
            if kind != "alibi" or window == 128
        ),
        Claim(statement="alibi, read at 64", value=_at("alibi", 64), rule=about(44.95, 0.05), chapter="44.95"),
        Claim(statement="alibi, read at 256", value=_at("alibi", 256), rule=about(42.49, 0.05), chapter="42.49"),
        Claim(
            statement="alibi improves with the window: perplexity won from 64 to 256",
            value=lambda m: _at("alibi", 64)(m) - _at("alibi", 256)(m), rule=above(0, within(1.2, 3.7)),
            chapter="2.46",
        ),
        Claim(
            statement="learned is the best of all at 64: perplexity of the best other, minus its own",
            value=lambda m: min(_at(kind, 64)(m) for kind in KINDS if kind != "learned") - _at("learned", 64)(m),
            rule=above(0), chapter="best at 64",
        ),
        Claim(
            statement="learned falls off a cliff: perplexity at 256 over that at 64", value=_grows("learned", 256),
            rule=above(1.5), chapter="off a cliff",
        ),
        Claim(
            statement="sinusoids do not extrapolate: perplexity at 256 over that at 64",
            value=_grows("sinusoidal", 256), rule=above(1.1), chapter="do not extrapolate",
        ),
        Claim(
            statement="RoPE degrades: perplexity at 256 over that at 64", value=_grows("rope", 256),
            rule=above(1), chapter="degrades",
        ),
        Claim(
            statement="… gently: less than learned positions do, ratio of the two",
            value=lambda m: _grows("rope", 256)(m) / _grows("learned", 256)(m), rule=below(1), chapter="gently",
        ),
    ],
    needs_corpus=True,
    figures=_figures,
)  # fmt: skip
