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
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from probe.activations import ROWS
from probe.models.transformer import NO_TAP, Attention, Block, Transformer
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
        if node.head is None:
            ports.append((node, "mlp"))
        else:
            ports.extend((node, port) for port in ATTENTION_PORTS)
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
    here = None
    if positions is not None:
        here = torch.ones(len(nodes), 1, pos, 1)
        for node, places in positions.items():
            here[nodes.index(node)] = 0
            here[nodes.index(node), 0, list(places)] = 1
    missing = torch.stack([absent[node] for node in nodes])  # node example pos d_model
    each = max(1, ROWS // n)
    return torch.cat(
        [_run(model, own, missing, here, kept[first : first + each], index) for first in range(0, len(kept), each)]
    )


def _run(
    model: Transformer,
    own: Recording,
    missing: Float[Tensor, "node example pos d_model"],
    here: Float[Tensor, "node 1 pos 1"] | None,
    kept: Bool[Tensor, "circuit edge"],
    index: Mapping[Edge, int],
) -> Float[Tensor, "circuit example d_vocab"]:
    """Circuits that run as one batch; the last layer asks and thinks at the last position alone."""
    nodes = nodes_of(model)
    n_heads, circuits = model.config.n_heads, len(kept)
    n, pos, d_model = missing.shape[1:]
    extra = torch.zeros(circuits, len(nodes), n, pos, d_model)  # what each node writes beyond what stands in for it
    given = torch.zeros(n, pos, d_model)  # what stands in for the nodes so far, and biases

    def seen(readers: Sequence[tuple[Node, Port]], q: int) -> Float[Tensor, "circuit reader example pos d_model"]:
        """What ports that read the stream at one place see, at the last `q` positions."""
        senders = [node for node in nodes if before(node, *readers[0])]  # they are the first ones: nodes write in order
        mask = kept[:, [[index[Edge(node, *reader)] for node in senders] for reader in readers]].float()
        written = extra[:, : len(senders), :, -q:]
        written = (written if here is None else written * here[: len(senders), :, -q:]).flatten(2)
        base = given[:, -q:].reshape(1, 1, -1).expand(circuits, len(readers), -1)
        return torch.baddbmm(base, mask, written).view(circuits, len(readers), n, q, d_model)

    def wrote(node: Node, value: Float[Tensor, "row pos d_model"]) -> None:
        i, q = nodes.index(node), value.shape[1]
        extra[:, i, :, -q:] = value.view(circuits, n, q, d_model) - missing[i, :, -q:]
        given.add_(missing[i])

    wrote(EMBEDDING, own.written[EMBEDDING].repeat(circuits, 1, 1))
    for layer, block in enumerate(model.blocks):
        assert isinstance(block, Block)
        q = 1 if layer == model.config.n_layers - 1 else pos
        attention = block.attn
        if isinstance(attention, Attention):
            projected: dict[Port, Tensor] = {}
            for port in ATTENTION_PORTS:
                asked = q if port == "q" else pos
                inputs = block.read(seen([(Node(layer, h), port) for h in range(n_heads)], asked), block.ln1, NO_TAP)
                heads = attention.projected_heads(inputs.flatten(2, 3), port)  # circuit head (example pos) d_head
                heads = heads.view(circuits, n_heads, n, asked, -1)
                projected[port] = heads.permute(0, 2, 3, 1, 4).flatten(0, 1)  # (circuit example) pos head d_head
            z = attention.mixed(projected["q"], projected["k"], projected["v"], NO_TAP, None)
            for head, matrix in enumerate(outputs_of(model, layer)):
                wrote(Node(layer, head), z[:, :, head] @ matrix)
            if attention.b_O is not None:
                given.add_(attention.b_O)
        if block.mlp is not None:
            stream = seen([(Node(layer), "mlp")], q).view(-1, q, d_model)
            wrote(Node(layer), block.mlp(block.read(stream, block.ln2, NO_TAP), NO_TAP))
    return model.unembedded(seen([(EMBEDDING, "logits")], 1)[:, 0, :, 0])
