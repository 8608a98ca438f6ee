"""The model, all of it: a decoder-only transformer whose every part can be left out.

Every named activation passes through `tap(name, tensor)`. Training gives no tap, takes the fused attention kernel and
never imports transformer_lens; looking gives one (`probe.models.hooked`), and where it asks for scores or pattern the
same numbers are computed in the open. Names and shapes are those of TransformerLens.

Axes:
    batch    sentences                    d_model  residual stream
    pos      positions of a sentence      d_head   one head's width
    query    positions that look          d_mlp    hidden layer of the MLP
    key      positions that are looked at d_vocab  words
    head     attention heads

Sources: Vaswani et al. 2017 (attention, sinusoids); Radford et al. 2019 (pre-norm block, initialisation);
Su et al. 2021 (RoPE); Press et al. 2022 (ALiBi).
"""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import einsum, rearrange
from jaxtyping import Float, Int
from torch import Generator, Tensor

from probe.errors import ProbeError
from probe.models.config import ModelConfig

EPSILON = 1e-5
"""Added to the variance in LayerNorm."""


@runtime_checkable
class Tap(Protocol):
    """Sees, and may replace, each named activation."""

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """Return the tensor that the model goes on with."""
        ...

    def wants(self, name: str) -> bool:
        """Whether this activation is looked at, so that it has to be computed on its own."""
        ...


class _NoTap:
    """Training's tap: looks at nothing."""

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        return tensor

    def wants(self, name: str) -> bool:
        return False


NO_TAP = _NoTap()


def dropped(x: Tensor, share: float, generator: Generator | None) -> Tensor:
    """Zero a share of the numbers and scale up the rest; nothing without a generator, so analyses never drop."""
    if generator is None or share == 0.0:
        return x
    keep = torch.rand(x.shape, generator=generator, device=x.device) >= share
    return x * keep / (1 - share)


class LayerNorm(nn.Module):
    """(x - mean) / sqrt(variance + eps), times a weight plus a bias where the configuration has them."""

    def __init__(self, width: int, affine: bool, path: str) -> None:
        super().__init__()
        self.path = path
        self.w = nn.Parameter(torch.ones(width)) if affine else None
        self.b = nn.Parameter(torch.zeros(width)) if affine else None

    def forward(self, x: Float[Tensor, "... d_model"], tap: Tap = NO_TAP) -> Float[Tensor, "... d_model"]:
        """Normalise the last axis; in the open where scale or result are looked at."""
        scale_name, normalized_name = f"{self.path}.hook_scale", f"{self.path}.hook_normalized"
        if not (tap.wants(scale_name) or tap.wants(normalized_name)):
            return F.layer_norm(x, x.shape[-1:], self.w, self.b, EPSILON)
        x = x - x.mean(-1, keepdim=True)
        scale = tap(scale_name, (x.pow(2).mean(-1, keepdim=True) + EPSILON).sqrt())
        normalized = tap(normalized_name, x / scale)
        return normalized if self.w is None or self.b is None else normalized * self.w + self.b


class UniformMean(nn.Module):
    """The mean over all positions so far, blind to their order. No parameters; its pattern is 1 / (query + 1)."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def forward(
        self, x: Float[Tensor, "batch pos d_model"], tap: Tap, dropout: Generator | None, last: bool = False
    ) -> Float[Tensor, "batch query d_model"]:
        """Average the stream; as a matrix product, which a tap on the pattern can change."""
        batch, pos, _ = x.shape
        weights = torch.ones(pos, pos, dtype=x.dtype, device=x.device).tril()
        weights = weights / weights.sum(-1, keepdim=True)
        name = f"{self.path}.hook_pattern"
        if tap.wants(name):
            weights = tap(name, weights.expand(batch, 1, pos, pos).clone())[:, 0]
        return (weights[..., -1:, :] if last else weights) @ x


class Attention(nn.Module):
    """Causal multi-head self-attention.

    The three projections of all heads are one matrix, so that training does one product; `W_Q`, `W_K`, `W_V` and `W_O`
    are views in TransformerLens's shapes.
    """

    def __init__(self, config: ModelConfig, path: str) -> None:
        super().__init__()
        self.config = config
        self.path = path
        width = config.n_heads * config.d_head
        self.W_QKV = nn.Parameter(torch.empty(3 * width, config.d_model))
        self.b_QKV = nn.Parameter(torch.zeros(3 * width)) if config.biases == "all" else None
        self.W_ZO = nn.Parameter(torch.empty(width, config.d_model)) if config.output_projection else None
        has_bias = config.output_projection and config.biases != "none"
        self.b_O = nn.Parameter(torch.zeros(config.d_model)) if has_bias else None

    def projections(self) -> Float[Tensor, "three head d_head d_model"]:
        """Query, key and value projection of each head, a view."""
        return self.W_QKV.view(3, self.config.n_heads, self.config.d_head, -1)

    @property
    def W_Q(self) -> Float[Tensor, "head d_model d_head"]:
        """Query projection, a view."""
        return self.projections()[0].transpose(-1, -2)

    @property
    def W_K(self) -> Float[Tensor, "head d_model d_head"]:
        """Key projection, a view."""
        return self.projections()[1].transpose(-1, -2)

    @property
    def W_V(self) -> Float[Tensor, "head d_model d_head"]:
        """Value projection, a view."""
        return self.projections()[2].transpose(-1, -2)

    @property
    def W_O(self) -> Float[Tensor, "head d_head d_model"] | None:
        """Output projection, a view; None where the configuration has none."""
        return None if self.W_ZO is None else self.W_ZO.view(self.config.n_heads, self.config.d_head, -1)

    def forward(
        self, x: Float[Tensor, "batch pos d_model"], tap: Tap, dropout: Generator | None, last: bool = False
    ) -> Float[Tensor, "batch query d_model"]:
        """Attend, from an input that all heads share; with `last` only the last position asks."""
        qkv = F.linear(x, self.W_QKV, self.b_QKV)
        q, k, v = rearrange(
            qkv, "batch pos (three head d_head) -> three batch pos head d_head", three=3, d_head=self.config.d_head
        )
        return self.attend(q[:, -1:] if last else q, k, v, tap, dropout)

    def forward_split(
        self, inputs: Float[Tensor, "three batch pos head d_model"], tap: Tap
    ) -> Float[Tensor, "batch pos d_model"]:
        """Attend, where every head has an input of its own for query, key and value (path patching)."""
        q, k, v = (
            self.projected_heads(x.transpose(1, 2), part).transpose(1, 2) for part, x in zip("qkv", inputs, strict=True)
        )
        return self.attend(q, k, v, tap, None)

    def projected_heads(
        self, inputs: Float[Tensor, "batch head pos d_model"], part: str
    ) -> Float[Tensor, "batch head pos d_head"]:
        """Every head's query ("q"), key or value, of an input of its own."""
        i = "qkv".index(part)
        projected = inputs @ self.projections()[i].transpose(-1, -2)
        return projected if self.b_QKV is None else projected + self.b_QKV.view(3, self.config.n_heads, 1, -1)[i]

    def attend(
        self,
        q: Float[Tensor, "batch query head d_head"],
        k: Float[Tensor, "batch key head d_head"],
        v: Float[Tensor, "batch key head d_head"],
        tap: Tap,
        dropout: Generator | None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Mix the values, then the output projection."""
        z = self.mixed(q, k, v, tap, dropout)
        if self.W_ZO is None or self.W_O is None:
            return z.flatten(-2)
        if tap.wants(f"{self.path}.hook_result"):
            each = einsum(z, self.W_O, "batch query head d_head, head d_head d_model -> batch query head d_model")
            out = tap(f"{self.path}.hook_result", each).sum(-2)
            return out if self.b_O is None else out + self.b_O
        return F.linear(z.flatten(-2), self.W_ZO.T, self.b_O)

    def mixed(
        self,
        q: Float[Tensor, "batch query head d_head"],
        k: Float[Tensor, "batch key head d_head"],
        v: Float[Tensor, "batch key head d_head"],
        tap: Tap,
        dropout: Generator | None,
    ) -> Float[Tensor, "batch query head d_head"]:
        """Mix the values: softmax(q k^T / sqrt(d_head) + mask) v.

        Where there are fewer queries than keys, the queries are those of the last positions.
        """
        config, path = self.config, self.path
        q, k, v = tap(f"{path}.hook_q", q), tap(f"{path}.hook_k", k), tap(f"{path}.hook_v", v)
        if config.position == "rope":
            q, k = tap(f"{path}.hook_rot_q", rotated(q, k.shape[1])), tap(f"{path}.hook_rot_k", rotated(k, k.shape[1]))
        scale = config.d_head**-0.5 if config.attention_scale else 1.0
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))  # batch head pos d_head
        shape = (q.shape[2], k.shape[2])
        bias = alibi_bias(config.n_heads, *shape, q) if config.position == "alibi" else None
        drops = dropout is not None and config.attention_dropout > 0
        scores_name, pattern_name = f"{path}.hook_attn_scores", f"{path}.hook_pattern"
        if drops or tap.wants(scores_name) or tap.wants(pattern_name):
            scores = q @ k.transpose(-1, -2) * scale
            scores = (scores if bias is None else scores + bias) + causal_mask(*shape, q)
            pattern = tap(pattern_name, tap(scores_name, scores).softmax(-1))
            z = dropped(pattern, config.attention_dropout, dropout) @ v
        elif bias is None and shape[0] in (1, shape[1]):
            z = F.scaled_dot_product_attention(q, k, v, is_causal=shape[0] > 1, scale=scale)
        else:
            mask = causal_mask(*shape, q)[None] if bias is None else (bias + causal_mask(*shape, q))[None]
            z = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
        return tap(f"{path}.hook_z", z.transpose(1, 2))  # batch query head d_head


def causal_mask(query: int, key: int, like: Tensor) -> Float[Tensor, "query key"]:
    """0 where a key may be seen, -inf where it lies in the future; the queries are the last of the positions."""
    return torch.full((query, key), -math.inf, dtype=like.dtype, device=like.device).triu(1 + key - query)


def rotated(x: Float[Tensor, "batch pos head d_head"], end: int) -> Float[Tensor, "batch pos head d_head"]:
    """RoPE (Su et al. 2021, section 3.2.2): turn each adjacent pair of numbers by position x 10000^(-2i/d_head).

    `x` holds the last positions before `end`.
    """
    pos, d_head = x.shape[1], x.shape[3]
    rates = 10000.0 ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(end - pos, end, device=x.device)[:, None] * rates
    cos, sin = angles.cos().to(x.dtype)[:, None], angles.sin().to(x.dtype)[:, None]  # pos 1 pair
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def alibi_bias(n_heads: int, query: int, key: int, like: Tensor) -> Float[Tensor, "head query key"]:
    """ALiBi (Press et al. 2022, section 3): -slope x distance, slopes 2^(-8/n), 2^(-16/n), … for n heads."""
    slopes = 2.0 ** (-8.0 * torch.arange(1, n_heads + 1, device=like.device) / n_heads)
    index = torch.arange(key, device=like.device)
    distance = (index[key - query :, None] - index[None]).clamp(min=0)
    return (-slopes[:, None, None] * distance).to(like.dtype)


def sinusoids(pos: int, width: int, like: Tensor) -> Float[Tensor, "pos d_model"]:
    """Sinusoidal positions (Vaswani et al. 2017, section 3.5): sine in even columns, cosine in odd ones."""
    rates = 10000.0 ** (-torch.arange(0, width, 2, device=like.device) / width)
    angles = torch.arange(pos, device=like.device)[:, None] * rates
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2).to(like.dtype)


class MLP(nn.Module):
    """Two layers with a GELU between them, at each position on its own."""

    def __init__(self, config: ModelConfig, path: str) -> None:
        super().__init__()
        self.path = path
        has_bias = config.biases != "none"
        self.W_in = nn.Parameter(torch.empty(config.d_model, config.d_mlp))
        self.b_in = nn.Parameter(torch.zeros(config.d_mlp)) if has_bias else None
        self.W_out = nn.Parameter(torch.empty(config.d_mlp, config.d_model))
        self.b_out = nn.Parameter(torch.zeros(config.d_model)) if has_bias else None

    def forward(self, x: Float[Tensor, "batch pos d_model"], tap: Tap) -> Float[Tensor, "batch pos d_model"]:
        """gelu(x W_in + b_in) W_out + b_out."""
        pre = tap(f"{self.path}.hook_pre", F.linear(x, self.W_in.T, self.b_in))
        return F.linear(tap(f"{self.path}.hook_post", F.gelu(pre)), self.W_out.T, self.b_out)


class Block(nn.Module):
    """Mix the positions, then think at each of them."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.config = config
        self.path = path = f"blocks.{layer}"

        def norm(which: str, wanted: bool) -> LayerNorm | None:
            wanted = wanted and config.norm != "none"
            return LayerNorm(config.d_model, config.norm_affine, f"{path}.{which}") if wanted else None

        self.ln1 = norm("ln1", config.mixer != "none")
        self.attn: Attention | UniformMean | None = None
        if config.mixer == "attention":
            self.attn = Attention(config, f"{path}.attn")
        elif config.mixer == "uniform":
            self.attn = UniformMean(f"{path}.attn")
        self.ln2 = norm("ln2", config.d_mlp > 0)
        self.mlp = MLP(config, f"{path}.mlp") if config.d_mlp > 0 else None

    def forward(
        self,
        x: Float[Tensor, "batch pos d_model"],
        tap: Tap = NO_TAP,
        dropout: Generator | None = None,
        last: bool = False,
    ) -> Float[Tensor, "batch query d_model"]:
        """Take the residual stream one block further; with `last`, that of the last position alone."""
        x = tap(f"{self.path}.hook_resid_pre", x)
        out = None if self.attn is None else self.mixed(x, tap, dropout, last)
        x = x[:, -1:] if last else x
        if out is not None:
            x = self.joined(x, out, self.ln1, f"{self.path}.hook_attn_out", tap, dropout)
        if self.mlp is not None:
            x = tap(f"{self.path}.hook_resid_mid", x)
            out = self.mlp(self.read(tap(f"{self.path}.hook_mlp_in", x), self.ln2, tap), tap)
            x = self.joined(x, out, self.ln2, f"{self.path}.hook_mlp_out", tap, dropout, always_add=True)
        return tap(f"{self.path}.hook_resid_post", x)

    def mixed(
        self, x: Float[Tensor, "batch pos d_model"], tap: Tap, dropout: Generator | None, last: bool
    ) -> Float[Tensor, "batch query d_model"]:
        """The mixer's output, through inputs of each head's own where a tap looks at those."""
        assert self.attn is not None
        names = [f"{self.path}.attn.hook_{part}_input" for part in "qkv"]
        if isinstance(self.attn, Attention) and any(tap.wants(name) for name in names):
            heads = x[:, :, None].expand(-1, -1, self.config.n_heads, -1)
            self.read(x, self.ln1, tap)  # its activations are looked at too, on the shared input
            inputs = [self.read(tap(name, heads.clone()), self.ln1, NO_TAP) for name in names]
            return self.attn.forward_split(torch.stack(inputs), tap)
        return self.attn(self.read(x, self.ln1, tap), tap, dropout, last)

    def read(self, x: Tensor, norm: LayerNorm | None, tap: Tap) -> Tensor:
        """What a sub-layer sees of the stream: normalised first with pre-norm, as it is otherwise."""
        return norm(x, tap) if norm is not None and self.config.norm == "pre" else x

    def joined(
        self,
        x: Float[Tensor, "batch pos d_model"],
        out: Float[Tensor, "batch pos d_model"],
        norm: LayerNorm | None,
        name: str,
        tap: Tap,
        dropout: Generator | None,
        always_add: bool = False,
    ) -> Float[Tensor, "batch pos d_model"]:
        """Write a sub-layer's output to the stream: added or, for a mixer, in its place; normalised with post-norm."""
        out = tap(name, dropped(out, self.config.residual_dropout, dropout))
        x = x + out if always_add or self.config.residual == "add" else out
        return norm(x, tap) if norm is not None and self.config.norm == "post" else x


class Transformer(nn.Module):
    """Words in, logits out.

    >>> from probe.models.config import ModelConfig
    >>> config = ModelConfig(d_vocab=5, n_ctx=4, d_model=8, n_heads=2)
    >>> model = initialised(config, torch.Generator().manual_seed(0))
    >>> model(torch.tensor([[0, 1, 2]])).shape
    torch.Size([1, 3, 5])
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.W_E = nn.Parameter(torch.empty(config.d_vocab, config.d_model))
        learned = config.position == "learned"
        self.W_pos = nn.Parameter(torch.empty(config.n_ctx, config.d_model)) if learned else None
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.n_layers))
        has_final = config.norm == "pre"
        self.ln_final = LayerNorm(config.d_model, config.norm_affine, "ln_final") if has_final else None
        self._W_U = None if config.tied else nn.Parameter(torch.empty(config.d_model, config.d_vocab))
        self.b_U = nn.Parameter(torch.zeros(config.d_vocab)) if config.unembed_bias else None

    @property
    def W_U(self) -> Float[Tensor, "d_model d_vocab"]:
        """The unembedding; the transposed embedding where the two are tied."""
        return self.W_E.T if self._W_U is None else self._W_U

    def forward(
        self, tokens: Int[Tensor, "batch pos"], tap: Tap = NO_TAP, dropout: Generator | None = None
    ) -> Float[Tensor, "batch pos d_vocab"]:
        """Logits of the next word at every position. Dropout only where a generator is passed for it."""
        return self.unembedded(self.residual(tokens, tap, dropout), tap)

    def residual(
        self, tokens: Int[Tensor, "batch pos"], tap: Tap = NO_TAP, dropout: Generator | None = None
    ) -> Float[Tensor, "batch pos d_model"]:
        """The residual stream after the last block."""
        x = self.embedded(tokens, tap, dropout)
        for block in self.blocks:
            x = block(x, tap, dropout)
        return x

    def next_word_logits(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch d_vocab"]:
        """Logits of the word after each sentence: the last block and the unembedding work for one position alone."""
        x = self.embedded(tokens)
        for block in self.blocks:
            x = block(x, last=block is self.blocks[-1])
        return self.unembedded(x[:, -1])

    def embedded(
        self, tokens: Int[Tensor, "batch pos"], tap: Tap = NO_TAP, dropout: Generator | None = None
    ) -> Float[Tensor, "batch pos d_model"]:
        """The residual stream before the first block: words, plus positions where these are added."""
        batch, pos = tokens.shape
        x = tap("hook_embed", F.embedding(tokens, self.W_E))
        if self.W_pos is not None:
            if pos > self.config.n_ctx:
                raise ProbeError(
                    f"the sentence has {pos} words, the model has learned positions for n_ctx = {self.config.n_ctx}"
                )
            positions = self.W_pos[:pos]
        elif self.config.position == "sinusoidal":
            positions = sinusoids(pos, self.config.d_model, x)
        else:
            return dropped(x, self.config.embedding_dropout, dropout)
        if tap.wants("hook_pos_embed"):
            positions = tap("hook_pos_embed", positions.expand(batch, -1, -1).clone())
        return dropped(x + positions, self.config.embedding_dropout, dropout)

    def unembedded(self, x: Float[Tensor, "... d_model"], tap: Tap = NO_TAP) -> Float[Tensor, "... d_vocab"]:
        """Logits of a residual stream, through the last LayerNorm where there is one."""
        x = x if self.ln_final is None else self.ln_final(x, tap)
        return F.linear(x, self.W_U.T, self.b_U)


def initialised(config: ModelConfig, generator: Generator) -> Transformer:
    """A new model: normal weights of `config.init_std`, those that write to the stream divided by sqrt(2 n_layers).

    Radford et al. 2019, section 2.3. Biases are 0 and LayerNorm weights 1.
    """
    model = Transformer(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2:
                writes = name.endswith(("W_ZO", "W_out"))
                std = config.init_std / math.sqrt(2 * config.n_layers) if writes else config.init_std
                parameter.normal_(0.0, std, generator=generator)
    return model


def folded(model: Transformer) -> Transformer:
    """The same function with LayerNorm's weights folded into the matrices that read it; exact, a copy.

    Attribution and composition scores need it: a norm's weight and bias act on every direction it reads. The folded
    model has biases everywhere and an unembedding of its own.

    Raises:
        ProbeError: the model normalises after adding, or mixes uniformly, where no matrix reads the norm.
    """
    config = model.config
    if config.norm == "post":
        raise ProbeError("a post-norm model cannot be folded: its norm stands on the stream itself")
    if config.norm == "pre" and config.mixer == "uniform":
        raise ProbeError("a uniform mixer has no matrix after its norm to fold into")
    settings = config.as_dict() | {"norm_affine": False, "biases": "all", "unembed_bias": True, "tied": False}
    result = Transformer(ModelConfig(**settings))
    old = {name: tensor.detach() for name, tensor in model.named_parameters()} | {"_W_U": model.W_U.detach()}
    new = {name: old[name].clone() if name in old else torch.zeros_like(t) for name, t in result.named_parameters()}

    def fold(norm: str, matrix: str, bias: str, reads_rows: bool) -> None:
        """Fold one norm into the matrix that reads it, along the axis of the stream."""
        if f"{norm}.w" not in old or matrix not in old:
            return
        weight, shift = old[f"{norm}.w"], old[f"{norm}.b"]
        new[bias] += shift @ old[matrix] if reads_rows else old[matrix] @ shift
        new[matrix] *= weight[:, None] if reads_rows else weight

    for layer in range(config.n_layers):
        fold(f"blocks.{layer}.ln1", f"blocks.{layer}.attn.W_QKV", f"blocks.{layer}.attn.b_QKV", reads_rows=False)
        fold(f"blocks.{layer}.ln2", f"blocks.{layer}.mlp.W_in", f"blocks.{layer}.mlp.b_in", reads_rows=True)
    fold("ln_final", "_W_U", "b_U", reads_rows=True)
    result.load_state_dict(new)
    return result


def parameter_count(model: nn.Module) -> int:
    """Number of trained numbers; a tied unembedding counts once."""
    return sum(parameter.numel() for parameter in model.parameters())
