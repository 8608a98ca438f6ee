"""The ladder: one piece a row, from no context to two blocks, each trained alike and read on the held-out tenth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from probe.files import read_text
from probe.models.config import ModelConfig, make_config
from probe.reproductions.byte_pairs import tokens_by_first_seen
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
    exactly,
    within,
)
from probe.reproductions.corpus import VOCABULARY, tokens_of
from probe.reproductions.language import LanguageTraining, lasting, sized, trained
from probe.reproductions.sizes import counted

ROWS: dict[str, tuple[str, str, float | None]] = {
    "no-context": ("no context: embedding → linear", "59.71", 59.71),
    "uniform": ("uniform causal mean, replacing the token", "≈ 248", 248),
    "uniform-positions": ("… with learned positions added before the mean", "≈ 246", 246),
    "uniform-residual": ("uniform causal mean, added (residual)", "60.45", 60.45),
    "one-head-replace": ("one learned head, replacing", "≈ 55", 55),
    "one-head": ("one learned head, added", "≈ 46", 46),
    "heads": ("four heads and W_O, added", "≈ 43", 43),
    "heads-mlp": ("+ MLP", "", None),
    "one-block": ("+ LayerNorm = one block", "38.07", 38.07),
    "two-block": ("two blocks", "40.57", 40.57),
    "two-block-dropout": ("two blocks, a tenth of the stream and of what is added to it dropped", "", None),
}
"""Variant -> what it is, the chapter's held-out perplexity as printed, and as a number. Cheapest first."""

SIZE = 0.05
"""How near a perplexity has to come: seeds and windows drawn are noise of a percent or two; what a row adds is mostly
more than 5 %."""


def _config(row: str, **sizes: int) -> ModelConfig:
    """A row's model; the last is not in the chapter's table, and asks whether what two blocks lose is overfitting."""
    if row == "two-block-dropout":
        return make_config("two-block", **sizes, embedding_dropout=0.1, residual_dropout=0.1)
    return make_config(row, **sizes)


def _plan(row: str, settings: Settings) -> tuple[ModelConfig, LanguageTraining]:
    return _config(row, **sized(settings)), lasting(settings)


def _whole(row: str) -> ModelConfig:
    return _config(row, **sized(Settings()))


def _parameters(settings: Settings, seed: int, tell: Tell) -> dict[str, Any]:
    """Of every row at the chapter's sizes, counted without weights."""
    return {row: counted(_whole(row)) for row in ROWS}


def _corpus(settings: Settings, seed: int, tell: Tell) -> dict[str, Any]:
    assert settings.corpus is not None
    text, tokens = read_text(settings.corpus, "corpus"), len(tokens_of(settings.corpus))
    by_first_seen = tokens_by_first_seen(text, VOCABULARY)
    return {"characters": len(text), "tokens": tokens, "by first seen": by_first_seen, "each": len(text) / tokens}


def _of(row: str, number: str = "held_out") -> Callable[[Measured], float]:
    return lambda m: m[row][number]


def _gap(worse: str, better: str, number: str = "held_out") -> Callable[[Measured], float]:
    return lambda m: m[worse][number] - m[better][number]


def _size(figure: float | None) -> Rule | None:
    return None if figure is None else about(figure, SIZE)


def _figures(by_seed: Mapping[int, Measured]) -> list[Figure]:
    bars = [(ROWS[row][0], values["held_out"]) for m in by_seed.values() for row, values in m.items() if row in ROWS]
    chapter = {label: figure for label, _, figure in ROWS.values() if figure is not None}
    return [
        Figure(
            name="ladder", title="The ladder: one piece a row", x_label="", y_label="held-out perplexity",
            series={"ours": bars}, reference=chapter, log_y=True,
        )
    ]  # fmt: skip


LADDER = Reproduction(
    name="ladder",
    title="One piece a row: from no context to two blocks",
    setting="width 128, windows of 128, 3,000 steps of torch's AdamW at a constant 1e-3, batch 64; held-out perplexity",
    jobs=[
        Job(key="corpus", measure=_corpus, seeded=False, made_of=lambda settings: {"vocabulary": VOCABULARY}),
        Job(
            key="parameters", measure=_parameters, seeded=False,
            made_of=lambda settings: {row: _whole(row).as_dict() for row in ROWS},
        ),
        *(trained(row, partial(_plan, row)) for row in ROWS),
    ],
    claims=[
        Claim(
            statement="the corpus, characters", value=_of("corpus", "characters"), rule=within(1115394, 1115394),
            chapter="1,115,394", form=",.0f",
        ),
        Claim(
            statement="the corpus, tokens of a byte-level BPE of 1,024", value=_of("corpus", "tokens"),
            rule=about(459760, 0.001), chapter="459,760", form=",.0f",
        ),
        Claim(
            statement="… with the first seen of equally frequent pairs merged first", form=",.0f",
            value=_of("corpus", "by first seen"), rule=within(459760, 459760), chapter="459,760",
        ),
        Claim(
            statement="characters a token", value=_of("corpus", "each"), rule=within(2.42, 2.44),
            chapter="2.43",
        ),
        *(
            Claim(statement=label, value=_of(row), rule=_size(figure), chapter=printed)
            for row, (label, printed, figure) in ROWS.items()
        ),
        Claim(
            statement="the mean in the token's place is worse than no context: ratio",
            value=lambda m: m["uniform"]["held_out"] / m["no-context"]["held_out"],
            rule=above(1, about(4, 0.15)), chapter="four times",
        ),
        Claim(
            statement="positions before the mean: perplexity won",
            value=_gap("uniform", "uniform-positions"), rule=within(0, 10, "0 to 10: next to nothing"), chapter="2.14",
        ),
        Claim(
            statement="the mean, added, is no better than no context: perplexity lost",
            value=_gap("uniform-residual", "no-context"), rule=within(-3, 3, "-3 to 3: about nothing"), chapter="0.74",
        ),
        Claim(
            statement="a head that replaces is worse than one that adds: perplexity lost",
            value=_gap("one-head-replace", "one-head"), rule=above(0, within(4.5, 13.5)), chapter="9",
        ),
        Claim(
            statement="a learned head is better than the mean, added: perplexity won",
            value=_gap("uniform-residual", "one-head"), rule=above(0, within(7, 21)), chapter="14",
        ),
        Claim(
            statement="four heads and W_O are better than one head: perplexity won",
            value=_gap("one-head", "heads"), rule=above(0, within(1.5, 4.5)), chapter="3",
        ),
        Claim(
            statement="W_O has 16,512 parameters",
            value=lambda m: m["parameters"]["heads"] - m["parameters"]["one-head"],
            rule=exactly(16512), chapter="+16,512", form=",.0f",
        ),
        Claim(
            statement="LayerNorm has 768 parameters",
            value=lambda m: m["parameters"]["one-block"] - m["parameters"]["heads-mlp"],
            rule=exactly(768), chapter="+768", form=",.0f",
        ),
        Claim(
            statement="LayerNorm: perplexity won", value=_gap("heads-mlp", "one-block"),
            rule=above(0, within(0.9, 2.7)), chapter="1.8",
        ),
        Claim(
            statement="two blocks are worse than one on what they have not seen: perplexity lost",
            value=_gap("two-block", "one-block"), rule=above(0, within(1.25, 3.75)), chapter="2.50",
        ),
        Claim(
            statement="one block, training perplexity", value=_of("one-block", "train"), rule=about(18.77, SIZE),
            chapter="18.77",
        ),
        Claim(
            statement="two blocks, training perplexity", value=_of("two-block", "train"), rule=about(14.49, SIZE),
            chapter="14.49",
        ),
        Claim(
            statement="two blocks are better than one on what they have seen: perplexity won",
            value=_gap("one-block", "two-block", "train"), rule=above(0, within(2.14, 6.42)), chapter="4.28",
        ),
        Claim(
            statement="two blocks with dropout, training perplexity", value=_of("two-block-dropout", "train"),
        ),
        Claim(
            statement="two blocks with dropout: perplexity lost against one block",
            value=_gap("two-block-dropout", "one-block"),
        ),
        Claim(
            statement="largest row: tokens a second, one thread", value=_of("two-block", "tokens_per_second"),
            form=",.0f",
        ),
        Claim(
            statement="largest row: share of the machine's matrix-multiply peak, one thread",
            value=_of("two-block", "share_of_peak"), form=".0%",
        ),
    ],
    needs_corpus=True,
    figures=_figures,
)  # fmt: skip
