"""The size and shape of a model, and the named variants of the ladder. No torch."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from probe.errors import ProbeError, nearest

Mixer = Literal["none", "uniform", "attention"]
Residual = Literal["add", "replace"]
Norm = Literal["none", "pre", "post"]
Position = Literal["none", "learned", "sinusoidal", "rope", "alibi"]
Biases = Literal["all", "no-qkv", "none"]


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Every rung of the ladder from "no context" to a stack of blocks, by configuration.

    >>> two_blocks = ModelConfig(d_vocab=36, n_ctx=18, n_layers=2, n_heads=4, d_model=64)
    >>> two_blocks.d_head, two_blocks.d_mlp
    (16, 256)
    """

    d_vocab: int
    """Number of words."""
    n_ctx: int
    """Longest sentence; it bounds learned positions only."""
    n_layers: int = 2
    """Number of blocks; 0 is the embedding followed by the unembedding."""
    n_heads: int = 4
    d_model: int = 64
    """Width of the residual stream."""
    d_head: int = 0
    """Width of a head; 0 stands for d_model / n_heads."""
    d_mlp: int = -1
    """Width of the MLP; -1 stands for 4 x d_model, 0 for no MLP."""
    mixer: Mixer = "attention"
    """What joins the positions: nothing, the uniform causal mean, or attention."""
    residual: Residual = "add"
    """Whether a mixer's output is added to the stream or replaces it."""
    norm: Norm = "pre"
    """Where LayerNorm stands. `pre` has a last one before the unembedding, as GPT-2."""
    norm_affine: bool = True
    """Whether LayerNorm has weights; a folded view has none."""
    position: Position = "learned"
    attention_scale: bool = True
    """Whether scores are divided by sqrt(d_head)."""
    output_projection: bool = True
    """Whether W_O follows the heads."""
    biases: Biases = "no-qkv"
    """Biases of attention: all, all but those of query, key and value, or none (then the MLP has none either)."""
    unembed_bias: bool = False
    tied: bool = False
    """Whether the unembedding is the transposed embedding."""
    attention_dropout: float = 0.0
    """Share of attention weights dropped in training."""
    residual_dropout: float = 0.0
    """Share of each sub-layer's output dropped in training."""
    embedding_dropout: float = 0.0
    """Share of the embedding sum dropped in training."""
    init_std: float = 0.02
    """Standard deviation of all weight matrices at the start (Radford et al. 2019)."""

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ProbeError(f"{name} = {getattr(self, name)!r}: {nearest(getattr(self, name), choices)}")
        for name in ("d_vocab", "n_ctx", "n_heads", "d_model"):
            if getattr(self, name) < 1:
                raise ProbeError(f"{name} = {getattr(self, name)}: must be 1 or more")
        if self.n_layers < 0:
            raise ProbeError(f"n_layers = {self.n_layers}: must be 0 or more")
        if self.d_head == 0:
            if self.d_model % self.n_heads:
                raise ProbeError(
                    f"d_model = {self.d_model} does not divide among n_heads = {self.n_heads}; "
                    f"try d_model = {-(-self.d_model // self.n_heads) * self.n_heads}"
                )
            object.__setattr__(self, "d_head", self.d_model // self.n_heads)
        if self.d_mlp == -1:
            object.__setattr__(self, "d_mlp", 4 * self.d_model)
        if self.d_head < 1 or self.d_mlp < 0:
            raise ProbeError(f"d_head = {self.d_head}, d_mlp = {self.d_mlp}: must not be negative")
        if not self.output_projection and self.n_heads * self.d_head != self.d_model:
            raise ProbeError("without an output projection n_heads x d_head must equal d_model")
        if self.mixer == "uniform" and self.n_heads != 1:
            raise ProbeError(f"n_heads = {self.n_heads}: the uniform mean has one head")
        if self.position == "rope" and self.d_head % 2:
            raise ProbeError(f"d_head = {self.d_head}: rotary positions turn pairs of numbers; make it even")
        if self.position in ("rope", "alibi") and self.mixer != "attention":
            raise ProbeError(f"position = {self.position!r} acts inside attention; this model has none")
        if self.position == "sinusoidal" and self.d_model % 2:
            raise ProbeError(f"d_model = {self.d_model}: sinusoidal positions need an even width")
        if not 0 <= self.init_std < math.inf:
            raise ProbeError(f"init_std = {self.init_std}: a standard deviation, 0 or more")
        for name in ("attention_dropout", "residual_dropout", "embedding_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ProbeError(f"{name} = {getattr(self, name)}: must be in [0, 1)")

    def as_dict(self) -> dict[str, Any]:
        """All fields, as `config.json` of a run holds them."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "config") -> ModelConfig:
        """The inverse of `as_dict`; an unknown or missing key is named."""
        fields = {field.name: field for field in dataclasses.fields(cls)}
        for key, value in values.items():
            if key not in fields:
                raise ProbeError(f"{where}: unknown key {key!r}; {nearest(key, fields)}")
            expected = type(fields[key].default) if fields[key].default is not dataclasses.MISSING else int
            if type(value) is not expected and not (expected is float and type(value) is int):
                raise ProbeError(f"{where}: {key}: {value!r} is not {expected.__name__}")
        for key in ("d_vocab", "n_ctx"):
            if key not in values:
                raise ProbeError(f"{where}: {key} is missing")
        try:
            return cls(**values)
        except ProbeError as error:
            raise ProbeError(f"{where}: {error}") from None


_CHOICES = {
    "mixer": get_args(Mixer),
    "residual": get_args(Residual),
    "norm": get_args(Norm),
    "position": get_args(Position),
    "biases": get_args(Biases),
}


_NO_BLOCK = {"norm": "none", "d_mlp": 0}

_MEAN = {"n_layers": 1, "n_heads": 1, "mixer": "uniform", "init_std": 1.0, **_NO_BLOCK}
"""A mean of fifteen words is learned from embeddings of unit size; from small ones it takes ten times as long."""

VARIANTS: dict[str, dict[str, Any]] = {
    # a pure function of one word: embedding -> unembedding
    "no-context": {"n_layers": 0, "norm": "none", "position": "none"},
    # the bag of words: the mean of all words so far, nothing else; blind to order
    "uniform": {**_MEAN, "residual": "replace", "position": "none"},
    "uniform-positions": {**_MEAN, "residual": "replace"},
    "uniform-residual": {**_MEAN, "position": "none"},
    "one-head-replace": {"n_layers": 1, "n_heads": 1, "residual": "replace", "output_projection": False, **_NO_BLOCK},
    "one-head": {"n_layers": 1, "n_heads": 1, "output_projection": False, **_NO_BLOCK},
    "heads": {"n_layers": 1, **_NO_BLOCK},
    "heads-mlp": {"n_layers": 1, "norm": "none"},
    "one-block": {"n_layers": 1},
    "two-block": {"n_layers": 2},
    "attention-only-1": {"n_layers": 1, "d_mlp": 0},
    "attention-only-2": {"n_layers": 2, "d_mlp": 0},
}
"""Name -> what differs from the default configuration, in the order of the chapter's ladder."""


def make_config(variant: str, **settings: Any) -> ModelConfig:
    """The configuration of a named variant, or of `5-block` and the like; `settings` win over the variant's own.

    Args:
        variant: a rung of the ladder (`VARIANTS`), or a number of blocks.
        settings: fields of `ModelConfig`; `d_vocab` and `n_ctx` have no default.

    Raises:
        ProbeError: there is no such variant or setting, or a value that no model can have.
        TypeError: one of the two settings without a default is missing.

    >>> make_config("uniform", d_vocab=36, n_ctx=18).mixer
    'uniform'
    >>> make_config("two-blok", d_vocab=36, n_ctx=18)
    Traceback (most recent call last):
    probe.errors.ProbeError: there is no variant 'two-blok'; did you mean 'two-block' or 'one-block'?
    """
    known = [field.name for field in dataclasses.fields(ModelConfig)]
    for name in settings:
        if name not in known:
            raise ProbeError(f"a model has no setting {name!r}; {nearest(name, known)}")
    stacked = re.fullmatch(r"(\d+)-block", variant)
    if stacked:
        return ModelConfig(**{"n_layers": int(stacked.group(1)), **settings})
    if variant not in VARIANTS:
        raise ProbeError(f"there is no variant {variant!r}; {nearest(variant, VARIANTS)}")
    return ModelConfig(**{**VARIANTS[variant], **settings})
