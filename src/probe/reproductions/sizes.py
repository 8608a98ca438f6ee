"""The size of a model is arithmetic: closed form = counted parameters = Hugging Face's GPT-2, built without weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from probe.errors import ProbeError
from probe.files import digest, read_json
from probe.models.config import ModelConfig
from probe.models.transformer import Transformer, parameter_count
from probe.reproductions.claims import Claim, Job, Measured, NotRun, Reproduction, Settings, Tell, exactly

GPT2_SMALL = ModelConfig(
    d_vocab=50257, n_ctx=1024, n_layers=12, n_heads=12, d_model=768, biases="all", tied=True
)  # fmt: skip
WIDTHS = (16, 64, 128, 768, 1600)


def closed_form(config: ModelConfig) -> dict[str, int]:
    """Parameters by part, by arithmetic alone, for pre-norm blocks with heads, W_O and an MLP.

    A block: 12 d² + 13 d with an MLP of 4 d and all biases (4 d² + 4 d attention, 8 d² + 5 d MLP, 4 d two norms).

    >>> parts = closed_form(GPT2_SMALL)
    >>> parts["one block"] == 12 * 768**2 + 13 * 768, parts["total"]
    (True, 124439808)
    """
    if config.mixer != "attention" or config.norm != "pre" or not config.output_projection or not config.norm_affine:
        raise ProbeError("the closed form is that of pre-norm blocks of attention with W_O")
    d, width = config.d_model, config.n_heads * config.d_head
    qkv = {"all": 3 * width, "no-qkv": 0, "none": 0}[config.biases]
    rest = config.biases != "none"
    attention = 4 * d * width + qkv + (d if rest else 0)
    mlp = (2 * d * config.d_mlp + (config.d_mlp + d if rest else 0)) if config.d_mlp else 0
    norms = 2 * d * (2 if config.d_mlp else 1)
    parts = {
        "token embeddings": config.d_vocab * d,
        "positions": config.n_ctx * d if config.position == "learned" else 0,
        "one block": attention + mlp + norms,
        "MLP of one block": mlp,
        "all blocks": config.n_layers * (attention + mlp + norms),
        "final norm": 2 * d,
        "unembedding": (0 if config.tied else config.d_vocab * d) + (config.d_vocab if config.unembed_bias else 0),
    }
    whole = ("token embeddings", "positions", "all blocks", "final norm", "unembedding")
    return {**parts, "total": sum(parts[part] for part in whole)}


def counted(config: ModelConfig) -> int:
    """Parameters of our model, built on the meta device: shapes without memory."""
    with torch.device("meta"):
        return parameter_count(Transformer(config))


def counted_by_transformers(settings: Mapping[str, Any]) -> int:
    """Parameters of Hugging Face's GPT-2 with these settings, built on the meta device."""
    from transformers import GPT2Config, GPT2LMHeadModel

    with torch.device("meta"):
        model = GPT2LMHeadModel(GPT2Config(**settings))
    return sum(parameter.numel() for parameter in model.parameters())


def of_gpt2_settings(settings: Mapping[str, Any], where: str) -> ModelConfig:
    """The configuration of ours that has the size of a Hugging Face `config.json` of the GPT-2 family."""
    names = ("vocab_size", "n_positions", "n_layer", "n_head", "n_embd")
    for name in names:
        if type(settings.get(name)) is not int:
            raise ProbeError(f"{where}: {name} is missing or no number; a config.json of GPT-2, or one of probe's runs")
    d_mlp, tied = settings.get("n_inner"), settings.get("tie_word_embeddings", True)
    if d_mlp is not None and type(d_mlp) is not int:
        raise ProbeError(f"{where}: n_inner {d_mlp!r} is no number")
    if not isinstance(tied, bool):
        raise ProbeError(f"{where}: tie_word_embeddings {tied!r} is neither true nor false")
    if settings.get("add_cross_attention"):
        raise ProbeError(f"{where}: add_cross_attention: the closed form is that of a model without it")
    d_vocab, n_ctx, n_layers, n_heads, d_model = (settings[name] for name in names)
    try:
        return ModelConfig(
            d_vocab=d_vocab, n_ctx=n_ctx, n_layers=n_layers, n_heads=n_heads, d_model=d_model,
            d_mlp=d_mlp or -1, biases="all", tied=tied,
        )  # fmt: skip
    except ProbeError as error:
        raise ProbeError(f"{where}: {error}") from None


def _measure_blocks(settings: Settings, seed: int, tell: Tell) -> dict[str, Any]:
    def block(width: int, biases: Any) -> int:
        config = ModelConfig(d_vocab=7, n_ctx=5, n_layers=1, n_heads=4, d_model=width, biases=biases)
        return counted(config) - counted(ModelConfig(**{**config.as_dict(), "n_layers": 0}))

    mlp = closed_form(GPT2_SMALL)
    return {
        "all biases": max(abs(block(d, "all") - (12 * d * d + 13 * d)) for d in WIDTHS),
        "without": max(abs(block(d, "all") - block(d, "no-qkv") - 3 * d) for d in WIDTHS),
        "share of MLP": mlp["MLP of one block"] / mlp["one block"],
    }


def _measure_gpt2(settings: Settings, seed: int, tell: Tell) -> dict[str, Any]:
    return {**closed_form(GPT2_SMALL), "ours": counted(GPT2_SMALL), "theirs": counted_by_transformers({})}


def _measure_own(settings: Settings, seed: int, tell: Tell) -> dict[str, Any]:
    if settings.config is None:
        return {}
    where = f"--config {settings.config}"
    values = read_json(settings.config, "config")
    if "d_vocab" in values:
        config = ModelConfig.from_dict(values, where)
        return {"closed form": closed_form(config)["total"], "ours": counted(config)}
    if values.get("model_type", "gpt2") != "gpt2":
        raise ProbeError(f"{where}: model_type {values['model_type']!r}: the closed form is that of gpt2")
    config = of_gpt2_settings(values, where)
    try:
        theirs = counted_by_transformers(values)
    except Exception as error:  # whatever its configuration class raises for a value that it does not know
        raise ProbeError(f"{where}: transformers cannot build it ({type(error).__name__}: {error})") from None
    return {"closed form": closed_form(config)["total"], "ours": counted(config), "theirs": theirs}


def _own(m: Measured, number: str) -> float:
    """Of the user's own configuration: how far a count is from the closed form."""
    own = m["own config"]
    if number not in own:
        raise NotRun(number)
    return own[number] - own["closed form"]


def _part(name: str, chapter: int, statement: str = "") -> Claim:
    return Claim(
        statement=statement or f"GPT-2 small, {name}", value=lambda m: m["gpt2"][name], rule=exactly(chapter),
        chapter=f"{chapter:,}", form=",.0f",
    )  # fmt: skip


def _notes(by_seed: Mapping[int, Measured]) -> Sequence[tuple[str, str]]:
    own = by_seed[0].get("own config", {})
    lines = [f"{name:12} {number:,}" for name, number in own.items()]
    return [("your own config.json", "\n".join(lines))] if own else []


SIZES = Reproduction(
    name="sizes",
    title="The size of a model is arithmetic",
    setting="counted on the meta device, which holds shapes and no weights",
    jobs=[
        Job(key="blocks", measure=_measure_blocks, seeded=False, made_of=lambda settings: {"widths": list(WIDTHS)}),
        Job(key="gpt2", measure=_measure_gpt2, seeded=False, made_of=lambda settings: GPT2_SMALL.as_dict()),
        Job(
            key="own config", measure=_measure_own, seeded=False,
            made_of=lambda settings: {"config": settings.config and digest(settings.config.read_bytes())},
        ),
    ],
    claims=[
        Claim(
            statement="a block has 12 d² + 13 d parameters (largest error over five widths)",
            value=lambda m: m["blocks"]["all biases"], rule=exactly(0), chapter="12 d² + 13 d", form=".0f",
        ),
        Claim(
            statement="3 d fewer without biases on q, k and v (largest error)",
            value=lambda m: m["blocks"]["without"], rule=exactly(0), chapter="3 d", form=".0f",
        ),
        Claim(
            statement="share of a block that is the MLP", value=lambda m: m["blocks"]["share of MLP"],
            rule=exactly(2 / 3, 0.005), chapter="two thirds", form=".4f",
        ),
        _part("token embeddings", 38_597_376),
        _part("positions", 786_432),
        _part("one block", 7_087_872),
        _part("all blocks", 85_054_464, "GPT-2 small, twelve blocks"),
        _part("final norm", 1_536),
        _part("total", 124_439_808, "GPT-2 small, tied total: closed form"),
        _part("ours", 124_439_808, "GPT-2 small, tied total: our model, counted"),
        _part("theirs", 124_439_808, "GPT-2 small, tied total: transformers' GPT-2, counted"),
        Claim(
            statement="your own config: our model, counted, minus the closed form",
            value=lambda m: _own(m, "ours"), rule=exactly(0), form=".0f",
        ),
        Claim(
            statement="your own config: transformers' GPT-2, counted, minus the closed form",
            value=lambda m: _own(m, "theirs"), rule=exactly(0), form=".0f",
        ),
    ],
    notes=_notes,
)  # fmt: skip
