"""Models whose circuit is known, because their weights are written by hand. The oracles that every metric is held to.

None has a norm, and all but one are attention-only, so that each subspace of the residual stream means one thing; a
part of the stream is a block of coordinates, one for each word or position. Scores are large (`SHARP`), so that
attention is 0 or 1 to float precision.

- `induction_model`: a previous-token head and an induction head (Elhage et al. 2021, "Induction heads").
- `two_hop_solver`, `gated_solver`: winograd-hard solved with the *same* map in the last block by two mechanisms. In
  the first the last head's query reads what an earlier head found out about the adjective (two hops); in the second the
  last head sees nothing but words and positions, and the adjective's own key decides in the softmax (one hop, gated).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from probe.models.config import ModelConfig
from probe.models.transformer import MLP, Attention, Transformer

SHARP = 40.0
"""Score of a key that is meant, against 0 for the others: weight 1 - 4e-18."""


class _Stream:
    """Names the parts of a residual stream, each a range of coordinates."""

    def __init__(self, **parts: int) -> None:
        self.parts: dict[str, slice] = {}
        self.width = 0
        for name, size in parts.items():
            self.parts[name] = slice(self.width, self.width + size)
            self.width += size

    def __getitem__(self, name: str) -> slice:
        return self.parts[name]


def _blank(
    d_vocab: int, n_ctx: int, stream: _Stream, n_layers: int, n_heads: int, d_head: int, d_mlp: int = 0
) -> Transformer:
    """A model of zeros: words and positions stand in their parts of the stream, and nothing is done with them."""
    model = Transformer(
        ModelConfig(
            d_vocab=d_vocab, n_ctx=n_ctx, n_layers=n_layers, n_heads=n_heads, d_model=stream.width, d_head=d_head,
            d_mlp=d_mlp, norm="none", attention_scale=False, biases="all",
        )
    )  # fmt: skip
    for parameter in model.parameters():
        parameter.data.zero_()
    model.W_E.data[:, stream["word"]] = torch.eye(d_vocab)
    assert model.W_pos is not None and model._W_U is not None
    model.W_pos.data[:, stream["position"]] = torch.eye(n_ctx)
    model._W_U.data[stream["out"]] = torch.eye(d_vocab)
    return model


def _head(model: Transformer, layer: int, head: int) -> Mapping[str, torch.Tensor]:
    """Views of one head's weights to write into: q, k, v [d_head, d_model], o [d_head, d_model], and q's bias."""
    attention = model.blocks[layer].attn
    assert isinstance(attention, Attention) and attention.b_QKV is not None and attention.W_O is not None
    q, k, v = attention.projections().data[:, head]
    bias = attention.b_QKV.data.view(3, model.config.n_heads, -1)[0, head]
    return {"q": q, "k": k, "v": v, "o": attention.W_O.data[head], "q_bias": bias}


def induction_model(d_vocab: int = 24, n_ctx: int = 48) -> Transformer:
    """Two layers, one head each: L0H0 brings the previous token, L1H0 finds the earlier copy and says what followed it.

    Args:
        d_vocab: number of tokens.
        n_ctx: longest sequence.
    """
    stream = _Stream(word=d_vocab, position=n_ctx, previous=d_vocab, out=d_vocab)
    width = max(d_vocab, n_ctx) + 1
    model = _blank(d_vocab, n_ctx, stream, n_layers=2, n_heads=1, d_head=width)
    earlier = _head(model, 0, 0)
    for position in range(1, n_ctx):  # a query at i asks for the key at i - 1
        earlier["q"][position - 1, stream["position"].start + position] = SHARP
    earlier["k"][:n_ctx, stream["position"]] = torch.eye(n_ctx)
    earlier["v"][:d_vocab, stream["word"]] = torch.eye(d_vocab)
    earlier["o"][:d_vocab, stream["previous"]] = torch.eye(d_vocab)
    later = _head(model, 1, 0)
    later["q"][:d_vocab, stream["word"]] = SHARP * torch.eye(d_vocab)
    later["k"][:d_vocab, stream["previous"]] = torch.eye(d_vocab)
    later["q_bias"][-1] = SHARP  # position 0 has no token before it, but sees itself: never take it
    later["k"][-1, stream["position"].start] = -2.0
    later["v"][:d_vocab, stream["word"]] = torch.eye(d_vocab)
    later["o"][:d_vocab, stream["out"]] = SHARP * torch.eye(d_vocab)
    return model


def _solver(
    d_vocab: int, n_ctx: int, n_layers: int, x: int, query: int, stream: _Stream, d_mlp: int = 0
) -> Transformer:
    """What both solvers share: L0H0 carries the first noun to the position that has to name the answer."""
    width = max(d_vocab, n_ctx) + 2
    model = _blank(d_vocab, n_ctx, stream, n_layers=n_layers, n_heads=2, d_head=width, d_mlp=d_mlp)
    carry = _head(model, 0, 0)
    carry["q"][0, stream["position"].start + query] = SHARP
    carry["k"][0, stream["position"].start + x] = 1.0
    carry["v"][:d_vocab, stream["word"]] = torch.eye(d_vocab)
    carry["o"][:d_vocab, stream["out"]] = 10.0 * torch.eye(d_vocab)
    return model


def two_hop_solver(
    d_vocab: int, n_ctx: int, positions: Mapping[str, int], crosser: Sequence[int], nouns: Sequence[int]
) -> Transformer:
    """Carry the first noun; find out what the adjective is; fetch the second noun over it when it is not a crosser.

    L0H0 brings the word at x, L0H1 the kind of the word at the adjective, both to the position before the answer. The
    query of L1H0 reads that kind: for a crosser it looks at the adjective, which says nothing, else at y, whose word
    overrides.

    Args:
        d_vocab: number of words.
        n_ctx: longest sentence.
        positions: of `x`, `y`, `adjective` and `answer` in every sentence.
        crosser: ids of the adjectives that speak of x.
        nouns: ids of the words that can be an answer.
    """
    query = positions["answer"] - 1
    stream = _Stream(word=d_vocab, position=n_ctx, kind=1, out=d_vocab)
    model = _solver(d_vocab, n_ctx, 2, positions["x"], query, stream)
    finds_out = _head(model, 0, 1)
    finds_out["q"][0, stream["position"].start + query] = SHARP
    finds_out["k"][0, stream["position"].start + positions["adjective"]] = 1.0
    for word in crosser:
        finds_out["v"][0, stream["word"].start + word] = 1.0
    finds_out["o"][0, stream["kind"]] = 1.0
    decides = _head(model, 1, 1)
    decides["q"][0, stream["kind"]] = 2 * SHARP  # a crosser: the adjective, 80 against 40
    decides["q"][1, stream["position"].start + query] = SHARP
    decides["k"][0, stream["position"].start + positions["adjective"]] = 1.0
    decides["k"][1, stream["position"].start + positions["y"]] = 1.0
    _overrides(decides, stream, nouns)
    return model


def gated_solver(
    d_vocab: int,
    n_ctx: int,
    positions: Mapping[str, int],
    crosser: Sequence[int],
    nouns: Sequence[int],
    layer: int = 0,
    rewritten: bool = False,
) -> Transformer:
    """Carry the first noun; let the adjective's own key outbid the second noun's when it is a crosser. One hop.

    The deciding head asks the same question in every sentence: it scores a crosser adjective 80 and y 40, and no
    other word. With `layer` = 1 it stands a layer above the head that carries, and the row of its map that names the
    answer is that of `two_hop_solver`; nothing that it reads was written by a head all the same.

    With `rewritten` the key does not read the adjective itself, but its kind, which the MLP of layer 0 wrote beside it,
    in place. No head moved it: still one hop.

    Args: as `two_hop_solver`; the `layer` (0 or 1) of the deciding head; `rewritten`, in layer 1 alone.
    """
    query = positions["answer"] - 1
    stream = _Stream(word=d_vocab, position=n_ctx, kind=1, out=d_vocab)
    model = _solver(d_vocab, n_ctx, layer + 1, positions["x"], query, stream, d_mlp=int(rewritten))
    decides = _head(model, layer, 1)
    decides["q"][0, stream["position"].start + query] = SHARP
    kinds = [stream["kind"].start] if rewritten else [stream["word"].start + word for word in crosser]
    decides["k"][0, kinds] = 2.0
    mlp = model.blocks[0].mlp
    if isinstance(mlp, MLP):
        for word in crosser:
            mlp.W_in.data[stream["word"].start + word, 0] = SHARP  # far above 0, where a GELU is the identity
        mlp.W_out.data[0, stream["kind"]] = 1 / SHARP
    decides["k"][0, stream["position"].start + positions["y"]] = 1.0
    _overrides(decides, stream, nouns)
    return model


def _overrides(decides: Mapping[str, torch.Tensor], stream: _Stream, nouns: Sequence[int]) -> None:
    """A deciding head says the noun that it looks at, louder than the carried one; any other word says nothing."""
    for number, word in enumerate(nouns):
        decides["v"][number, stream["word"].start + word] = 1.0
        decides["o"][number, stream["out"].start + word] = 20.0


def rank_one_pair(d_model: int, compose: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Two rank-1 matrices [d_model, d_model]: the second reads the direction that the first writes, or its orthogonal.

    For composition scores: 1 where they compose, 0 where not.
    """
    first, second = torch.zeros(d_model, d_model), torch.zeros(d_model, d_model)
    first[0, 1] = 1.0
    second[1 if compose else 2, 3] = 1.0
    return first, second
