"""Path patching: what one part of a model tells another, along the residual stream alone.

Wang et al. 2023 (IOI), section 3.1: the sender's output, as a receiver's query, key or value sees it, is taken from
another run; everything else that the receiver sees stays as it was, and what comes after the receiver is computed
anew.

A *node* is the embedding, a head or an MLP; it writes to the stream. A *port* is where the stream is read: a head's
query, key or value, an MLP's input, or the logits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import torch
from einops import einsum
from jaxtyping import Float, Int
from torch import Tensor

from probe.activations import ROWS, Edit, cached, intervened, resumed
from probe.errors import ProbeError
from probe.models.transformer import NO_TAP, Attention, Transformer

Port = Literal["q", "k", "v", "mlp", "logits"]


@dataclass(frozen=True, order=True)
class Node:
    """The embedding (`layer` -1), a head, or an MLP (`head` None).

    >>> str(Node(0, 1)), str(Node(1, None)), str(EMBEDDING)
    ('L0H1', 'MLP1', 'embedding')
    """

    layer: int
    head: int | None = None

    def __str__(self) -> str:
        if self.layer < 0:
            return "embedding"
        return f"MLP{self.layer}" if self.head is None else f"L{self.layer}H{self.head}"

    @classmethod
    def named(cls, name: str) -> Node:
        """The inverse of `str`."""
        if name == "embedding":
            return EMBEDDING
        head = re.fullmatch(r"L(\d+)H(\d+)", name)
        mlp = re.fullmatch(r"MLP(\d+)", name)
        if head:
            return cls(int(head.group(1)), int(head.group(2)))
        if mlp:
            return cls(int(mlp.group(1)), None)
        raise ProbeError(f"{name!r} is no part of a model; write embedding, L0H1 or MLP0")


EMBEDDING = Node(-1, None)


def nodes_of(model: Transformer) -> list[Node]:
    """All nodes in the order in which they write."""
    config = model.config
    found = [EMBEDDING]
    for layer in range(config.n_layers):
        if config.mixer == "attention":
            found += [Node(layer, head) for head in range(config.n_heads)]
        if config.d_mlp:
            found.append(Node(layer, None))
    return found


def before(sender: Node, receiver: Node, port: Port) -> bool:
    """Whether a sender has written when a receiver reads.

    >>> before(Node(0, 1), Node(0, None), "mlp"), before(Node(0, 1), Node(0, 0), "q")
    (True, False)
    """
    if port == "logits":
        return True
    if port == "mlp":
        return sender.layer < receiver.layer or (sender.layer == receiver.layer and sender.head is not None)
    return sender.layer < receiver.layer


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What every node wrote in one run, and the stream that every layer read."""

    tokens: Int[Tensor, "example pos"]
    written: Mapping[Node, Float[Tensor, "example pos d_model"]]
    streams: Mapping[int, Float[Tensor, "example pos d_model"]]
    """Layer -> the stream that it reads."""
    final: Float[Tensor, "example pos d_model"]
    """The stream after the last block."""
    logits: Float[Tensor, "example d_vocab"]


@torch.no_grad()
def record(model: Transformer, tokens: Int[Tensor, "example pos"]) -> Recording:
    """Run once and take the stream apart. What the nodes wrote, plus biases, sums to the stream; that is checked.

    Raises:
        ProbeError: a model whose stream is no sum of what was written (post-norm, or a mixer that replaces).
    """
    config = model.config
    if config.norm == "post" or config.residual == "replace" or config.mixer == "uniform":
        raise ProbeError("paths need a stream that is a sum: pre-norm or no norm, attention, added to the stream")
    nodes = nodes_of(model)
    names = [f"blocks.{layer}.hook_resid_pre" for layer in range(config.n_layers)]
    names += [f"blocks.{n.layer}.attn.hook_z" for n in nodes if n.head == 0]
    names += [f"blocks.{n.layer}.hook_mlp_out" for n in nodes if n.layer >= 0 and n.head is None]
    last = f"blocks.{config.n_layers - 1}.hook_resid_post"
    logits, seen = cached(model, tokens, [*names, last])
    written: dict[Node, Tensor] = {EMBEDDING: seen["blocks.0.hook_resid_pre"]}
    total = written[EMBEDDING].clone()
    for node in nodes[1:]:
        if node.head is None:
            written[node] = seen[f"blocks.{node.layer}.hook_mlp_out"]
        else:
            z = seen[f"blocks.{node.layer}.attn.hook_z"][:, :, node.head]
            written[node] = einsum(
                z, outputs_of(model, node.layer)[node.head], "e p d_head, d_head d_model -> e p d_model"
            )
        total += written[node]
    for block in model.blocks:
        if isinstance(block.attn, Attention) and block.attn.b_O is not None:
            total += block.attn.b_O
    error = float((total - seen[last]).abs().max() / (1 + seen[last].abs().max()))
    if error > 1e-4:
        raise ProbeError(f"what the parts wrote does not sum to the stream (relative error {error:.1e})")
    streams = {layer: seen[f"blocks.{layer}.hook_resid_pre"] for layer in range(config.n_layers)}
    return Recording(tokens=tokens, written=written, streams=streams, final=seen[last], logits=logits[:, -1])


@torch.no_grad()
def apart(model: Transformer, own: Recording, other: Recording) -> tuple[Recording, Recording]:
    """What another run writes, in two: what stands *in place*, and what heads *moved*.

    In place are the other words, and what MLPs make of them where every head still writes what it wrote in `own`: a
    word read there was read in one hop, however often an MLP wrote it anew. Moved is all else that the other run's
    parts write differently: it came by a head. As deltas from `own` the two sum to `other`.

    Returns:
        two recordings for `patched_paths`, of which `written` alone is changed.
    """
    layers = range(model.config.n_layers)
    names = [f"blocks.{layer}.hook_attn_out" for layer in layers]
    mlps = {
        node: f"blocks.{node.layer}.hook_mlp_out" for node in nodes_of(model) if node.layer >= 0 and node.head is None
    }
    kept = cached(model, own.tokens, names)[1]
    edits: dict[str, Edit] = {name: partial(_instead, value=kept[name]) for name in names}
    held = intervened(model, other.tokens, edits, list(mlps.values()))[1]
    in_place = dict(own.written) | {EMBEDDING: other.written[EMBEDDING]} | {node: held[mlps[node]] for node in mlps}
    moved = {node: own.written[node] + other.written[node] - in_place[node] for node in own.written}
    return replace(other, written=in_place), replace(other, written=moved)


def _instead(tensor: Tensor, value: Tensor) -> Tensor:
    return value


def outputs_of(model: Transformer, layer: int) -> Float[Tensor, "head d_head d_model"]:
    """The matrices through which a layer's heads write; the identity on own coordinates where there is no W_O."""
    attention = model.blocks[layer].attn
    assert isinstance(attention, Attention)
    if attention.W_O is not None:
        return attention.W_O
    return torch.eye(model.config.d_model).view(model.config.n_heads, model.config.d_head, -1)


@torch.no_grad()
def patched_paths(
    model: Transformer,
    own: Recording,
    other: Recording,
    senders: Sequence[Sequence[Node]],
    receivers: Sequence[tuple[Node, Port]],
    positions: Sequence[int] | None = None,
) -> Float[Tensor, "set example d_vocab"]:
    """Next-word logits of `own`'s run when, for each set of senders, the receivers see what `other`'s senders wrote.

    Args:
        model: whose paths.
        own: the run that is changed.
        other: the run that the senders' outputs are taken from; same shape.
        senders: the sets, each patched by itself; a sender that writes after a receiver has read does not count.
        receivers: the ports that see the change, all of them at once: of one layer's heads, one MLP, or the logits.
        positions: of the stream at which they see it; all by default.
    """
    if len({(node.layer, port if port in ("mlp", "logits") else "attention") for node, port in receivers}) != 1:
        raise ProbeError("receivers that are patched together must read the stream at one place")
    layer, port = receivers[0][0].layer, receivers[0][1]
    reader = Node(layer, 0 if port in ("q", "k", "v") else None)
    deltas = [_delta(own, other, [s for s in group if before(s, reader, port)], positions) for group in senders]
    if port == "logits":
        return torch.stack([model.unembedded((own.final + delta)[:, -1]) for delta in deltas])
    results = []
    each = max(1, ROWS // len(own.tokens))
    for first in range(0, len(deltas), each):
        part = deltas[first : first + each]
        delta = torch.cat(part)
        stream = own.streams[layer].repeat(len(part), 1, 1)
        edits: dict[str, Edit] = {}
        if port == "mlp":
            edits[f"blocks.{layer}.hook_mlp_in"] = partial(_added, delta=delta)
        else:
            for one, heads in _by_port(receivers).items():
                new = _projected(model, layer, one, stream + delta)
                edits[f"blocks.{layer}.attn.hook_{one}"] = partial(_replace_heads, new=new, heads=heads)
        logits = resumed(model, stream, layer, edits)
        results += logits.view(len(part), len(own.tokens), -1)
    return torch.stack(results)


def _by_port(receivers: Sequence[tuple[Node, Port]]) -> dict[Port, list[int]]:
    """The heads of each port."""
    grouped: dict[Port, list[int]] = {}
    for node, port in receivers:
        assert node.head is not None
        grouped.setdefault(port, []).append(node.head)
    return grouped


def _delta(
    own: Recording, other: Recording, senders: Sequence[Node], positions: Sequence[int] | None
) -> Float[Tensor, "example pos d_model"]:
    """What the stream would differ by, had the senders written what they wrote in the other run."""
    delta = torch.zeros_like(own.final)
    for node in senders:
        delta = delta + (other.written[node] - own.written[node])
    if positions is None:
        return delta
    kept = torch.zeros_like(delta)
    kept[:, list(positions)] = delta[:, list(positions)]
    return kept


def _projected(model: Transformer, layer: int, port: Port, stream: Tensor) -> Float[Tensor, "e p head d_head"]:
    """Queries, keys or values of a layer, read from a changed stream."""
    block = model.blocks[layer]
    attention = block.attn
    assert isinstance(attention, Attention)
    x = block.read(stream, block.ln1, NO_TAP)  # pyright: ignore[reportCallIssue]
    part = "qkv".index(port)
    projected = einsum(x, attention.projections()[part], "e p d_model, head d_head d_model -> e p head d_head")
    if attention.b_QKV is not None:
        projected = projected + attention.b_QKV.view(3, model.config.n_heads, -1)[part]
    return projected


def _replace_heads(tensor: Tensor, new: Tensor, heads: Sequence[int]) -> Tensor:
    """Put new values into some heads; where only the last positions are computed, theirs."""
    tensor = tensor.clone()
    tensor[:, :, list(heads)] = new[:, -tensor.shape[1] :, list(heads)]
    return tensor


def _added(tensor: Tensor, delta: Tensor) -> Tensor:
    return tensor + delta[:, -tensor.shape[1] :]
