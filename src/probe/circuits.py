"""Circuits: the model with some of its edges only; what the others would carry comes from elsewhere.

An *edge* joins a node that writes to the residual stream with a port that reads it. Along an edge that is kept a reader
sees what the sender writes *in this run*, as its own kept edges make it; along one that is cut it sees a value that is
given (that of another sentence, zero, a mean). With every edge kept a circuit is the model, exactly; with none it is
what the given values say (Conmy et al. 2023, "Towards Automated Circuit Discovery", section 3).

A circuit of *nodes* keeps all edges out of its nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from einops import einsum, rearrange
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from probe.activations import ROWS
from probe.models.transformer import MLP, NO_TAP, Attention, Transformer
from probe.paths import EMBEDDING, Node, Port, Recording, before, nodes_of, outputs_of

Ablation = Literal["other", "zero", "mean", "mean by role", "resample"]
"""What a cut edge carries, see `absent_values`."""
ATTENTION_PORTS: tuple[Port, ...] = ("q", "k", "v")
ABLATIONS: tuple[Ablation, ...] = ("other", "zero", "mean", "mean by role", "resample")


@dataclass(frozen=True)
class Edge:
    """From a node to a port of a later one; the logits are read by the embedding's name.

    >>> str(Edge(Node(0, 1), Node(1, 2), "k")), str(Edge(Node(1), EMBEDDING, "logits"))
    ('L0H1 → L1H2.k', 'MLP1 → logits')
    """

    sender: Node
    receiver: Node
    port: Port

    def __str__(self) -> str:
        return f"{self.sender} → {self.reader}"

    @property
    def reader(self) -> str:
        """Receiver and port, as text."""
        if self.port == "logits":
            return "logits"
        return str(self.receiver) if self.port == "mlp" else f"{self.receiver}.{self.port}"


def edges_of(model: Transformer) -> list[Edge]:
    """Every edge, in the order in which the readers read."""
    nodes = nodes_of(model)
    ports: list[tuple[Node, Port]] = []
    for node in nodes[1:]:
        ports += [(node, "mlp")] if node.head is None else [(node, "q"), (node, "k"), (node, "v")]
    ports.append((EMBEDDING, "logits"))
    return [Edge(sender, node, port) for node, port in ports for sender in nodes if before(sender, node, port)]


def absent_values(
    ablation: Ablation, own: Recording, other: Recording, generator: Generator
) -> dict[Node, Float[Tensor, "example pos d_model"]]:
    """What a cut edge carries instead of what its sender writes.

    other: what it wrote for the pair's other sentence (symmetric token replacement, Zhang & Nanda 2024).
    zero: nothing.
    mean: its mean over all sentences and positions, so that no batch's size or order matters.
    mean by role: its mean over all sentences at that position.
    resample: what it wrote for another sentence, drawn by `generator` (never the own one); one draw for all nodes.
    """
    if ablation == "other":
        return dict(other.written)
    n = len(own.tokens)
    order = torch.randperm(n, generator=generator)
    drawn = torch.empty_like(order)
    drawn[order] = order.roll(1)  # a cycle through all sentences: nobody draws itself

    def value(written: Tensor) -> Tensor:
        if ablation == "zero":
            return torch.zeros_like(written)
        if ablation == "mean":
            return written.mean((0, 1), keepdim=True).expand_as(written)
        if ablation == "mean by role":
            return written.mean(0, keepdim=True).expand_as(written)
        return written[drawn]

    return {node: value(written) for node, written in own.written.items()}


@torch.no_grad()
def run_circuits(
    model: Transformer,
    own: Recording,
    absent: Mapping[Node, Float[Tensor, "example pos d_model"]],
    kept: Bool[Tensor, "circuit edge"],
    positions: Mapping[Node, Sequence[int]] | None = None,
) -> Float[Tensor, "circuit example d_vocab"]:
    """Next-word logits of circuits.

    Args:
        model: pre-norm or without norms (as for `probe.paths.record`).
        own: the sentences, and what is written for them.
        absent: what cut edges carry, for every node.
        kept: which edges each circuit keeps, in the order of `edges_of`.
        positions: of each sender, at which its kept edges are kept; a node that is not named is kept at all.
    """
    index = {edge: i for i, edge in enumerate(edges_of(model))}
    nodes = nodes_of(model)
    n, pos = own.tokens.shape
    here = torch.ones(len(nodes), pos, dtype=torch.bool)
    for node, places in (positions or {}).items():
        here[nodes.index(node)] = False
        here[nodes.index(node), list(places)] = True
    missing = torch.stack([absent[node] for node in nodes])  # node example pos d_model
    each = max(1, ROWS // n)
    return torch.cat(
        [_run(model, own, missing, here, kept[first : first + each], index) for first in range(0, len(kept), each)]
    )


def _run(
    model: Transformer,
    own: Recording,
    missing: Float[Tensor, "node example pos d_model"],
    here: Bool[Tensor, "node pos"],
    kept: Bool[Tensor, "circuit edge"],
    index: Mapping[Edge, int],
) -> Float[Tensor, "circuit example d_vocab"]:
    """Circuits that run as one batch."""
    nodes = nodes_of(model)
    n_heads, circuits = model.config.n_heads, len(kept)
    n, pos, d_model = missing.shape[1:]
    # what each node writes here beyond what stands in for it; 0 until it has written, so that readers need no order
    extra = torch.zeros(len(nodes), circuits, n, pos, d_model)
    biases = torch.zeros(d_model)

    def seen(readers: Sequence[tuple[Node, Port]]) -> Float[Tensor, "circuit reader example pos d_model"]:
        """What ports that read the stream at one place see."""
        senders = [i for i, node in enumerate(nodes) if before(node, *readers[0])]
        mask = kept[:, [[index[Edge(nodes[i], *reader)] for i in senders] for reader in readers]].float()
        written = extra[senders] * here[senders][:, None, None, :, None]
        return einsum(mask, written, "c r s, s c e p d -> c r e p d") + missing[senders].sum(0) + biases

    def wrote(node: Node, value: Tensor) -> None:
        extra[nodes.index(node)] = value.view(circuits, n, pos, d_model) - missing[nodes.index(node)]

    wrote(EMBEDDING, own.written[EMBEDDING].repeat(circuits, 1, 1, 1))
    for layer, block in enumerate(model.blocks):
        attention = block.attn
        if isinstance(attention, Attention):
            read = seen([(Node(layer, head), port) for port in ATTENTION_PORTS for head in range(n_heads)])
            inputs = rearrange(read, "c (three head) e p d -> three (c e) p head d", three=3)
            q, k, v = attention.projected_split(block.read(inputs, block.ln1, NO_TAP))  # pyright: ignore
            z = attention.mixed(q, k, v, NO_TAP, None)
            for head, matrix in enumerate(outputs_of(model, layer)):
                wrote(Node(layer, head), z[:, :, head] @ matrix)
            biases = biases if attention.b_O is None else biases + attention.b_O
        if isinstance(block.mlp, MLP):
            read = seen([(Node(layer), "mlp")])[:, 0].flatten(0, 1)
            wrote(Node(layer), block.mlp(block.read(read, block.ln2, NO_TAP), NO_TAP))  # pyright: ignore
    return model.unembedded(seen([(EMBEDDING, "logits")])[:, 0, :, -1])
