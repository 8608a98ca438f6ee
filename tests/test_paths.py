"""Path patching: nulls, exactness against a plain forward, and hand-made circuits whose edges are known."""

from __future__ import annotations

import pytest
import torch
from support import SHAPES, perturbed, tokens_for
from torch import Tensor

from probe.activations import intervened
from probe.errors import ProbeError
from probe.models.config import ModelConfig
from probe.models.handmade import gated_solver, two_hop_solver
from probe.paths import EMBEDDING, Node, apart, before, nodes_of, patched_paths, record

SETTINGS = [{}, {"norm": "none"}, {"d_mlp": 0}, {"output_projection": False}, {"biases": "all", "position": "rope"}]


def two_runs(**settings):
    model = perturbed(ModelConfig(**{**SHAPES, **settings}))
    tokens = tokens_for(model.config)
    changed = tokens.clone()
    changed[:, 2] = (changed[:, 2] + 1) % 11
    return model, record(model, tokens), record(model, changed)


def ports_of(model, layer: int) -> list:
    return [(Node(layer, head), part) for head in range(4) for part in "qkv"]


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_own_run_into_itself_changes_nothing(settings: dict) -> None:
    model, own, _ = two_runs(**settings)
    for receivers in (ports_of(model, 1), [(EMBEDDING, "logits")]):
        patched = patched_paths(model, own, own, [nodes_of(model), [EMBEDDING]], receivers)
        torch.testing.assert_close(patched, own.logits.expand_as(patched), atol=2e-6, rtol=1e-6)


@pytest.mark.parametrize("settings", SETTINGS)
def test_everything_into_the_logits_is_the_other_run(settings: dict) -> None:
    model, own, other = two_runs(**settings)
    patched = patched_paths(model, own, other, [nodes_of(model)], [(EMBEDDING, "logits")])
    torch.testing.assert_close(patched[0], other.logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("settings", SETTINGS)
def test_everything_into_a_layer_is_that_layers_heads_of_the_other_run(settings: dict) -> None:
    """All of the stream, seen by all ports of layer 1: the same as putting the other run's z there."""
    model, own, other = two_runs(**settings)
    patched = patched_paths(model, own, other, [nodes_of(model)], ports_of(model, 1))
    z = intervened(model, other.tokens, {}, ["blocks.1.attn.hook_z"])[1]["blocks.1.attn.hook_z"]
    expected = intervened(model, own.tokens, {"blocks.1.attn.hook_z": lambda _: z})[0][:, -1]
    torch.testing.assert_close(patched[0], expected, atol=1e-5, rtol=1e-5)


def test_one_edge_is_what_a_plain_forward_by_hand_gives() -> None:
    """L0H2 -> L1H1's key, and nothing else."""
    model, own, other = two_runs()
    patched = patched_paths(model, own, other, [[Node(0, 2)]], [(Node(1, 1), "k")])
    z_own, z_other = (
        intervened(model, r.tokens, {}, ["blocks.0.attn.hook_z"])[1]["blocks.0.attn.hook_z"][:, :, 2]
        for r in (own, other)
    )
    block = model.blocks[1]
    stream = own.streams[1] + (z_other - z_own) @ model.blocks[0].attn.W_O[2]
    with torch.no_grad():
        key = block.ln1(stream) @ block.attn.W_K[1]

    def put(tensor: Tensor) -> Tensor:
        tensor = tensor.clone()
        tensor[:, :, 1] = key
        return tensor

    expected = intervened(model, own.tokens, {"blocks.1.attn.hook_k": put})[0][:, -1]
    torch.testing.assert_close(patched[0], expected, atol=1e-5, rtol=1e-5)


def test_a_sender_that_writes_later_tells_nothing() -> None:
    model, own, other = two_runs()
    patched = patched_paths(model, own, other, [[Node(1, 0)], [Node(0, None)]], [(Node(1, 2), "q")])
    torch.testing.assert_close(patched[0], own.logits, atol=2e-6, rtol=1e-6)
    assert (patched[1] - own.logits).abs().max() > 1e-3
    assert not before(Node(0, None), Node(0, 1), "q")
    assert before(Node(0, 1), Node(0, None), "mlp")


def test_positions_restrict_what_is_seen() -> None:
    model, own, other = two_runs()
    nowhere = patched_paths(model, own, other, [nodes_of(model)], ports_of(model, 1), positions=[0, 1])
    torch.testing.assert_close(nowhere[0], own.logits, atol=2e-6, rtol=1e-6)  # the words differ from position 2 on


@pytest.mark.parametrize("settings", SETTINGS)
def test_in_place_and_moved_are_all_that_the_other_run_writes(settings: dict) -> None:
    """Deltas sum; heads write nothing in place, and an MLP nothing where the word is the same."""
    model, own, other = two_runs(**settings)
    in_place, moved = apart(model, own, other)
    for node in nodes_of(model):
        both = (in_place.written[node] - own.written[node]) + (moved.written[node] - own.written[node])
        torch.testing.assert_close(both, other.written[node] - own.written[node], atol=1e-5, rtol=1e-4)
        if node.head is not None:
            assert in_place.written[node].equal(own.written[node])
    assert in_place.written[EMBEDDING].equal(other.written[EMBEDDING])
    same = (own.tokens == other.tokens).all(0)
    for node in nodes_of(model):
        torch.testing.assert_close(in_place.written[node][:, same], own.written[node][:, same], atol=1e-5, rtol=1e-4)


def test_what_is_no_sum_is_refused() -> None:
    for settings in ({"norm": "post"}, {"residual": "replace"}, {"mixer": "uniform", "n_heads": 1}):
        model = perturbed(ModelConfig(**{**SHAPES, **settings}))
        with pytest.raises(ProbeError, match="a stream that is a sum"):
            record(model, tokens_for(model.config))
    model, own, other = two_runs()
    with pytest.raises(ProbeError, match="at one place"):
        patched_paths(model, own, other, [[EMBEDDING]], [(Node(0, 0), "q"), (Node(1, 0), "q")])


@pytest.mark.parametrize("name", ["embedding", "L0H1", "MLP1"])
def test_names_of_nodes(name: str) -> None:
    assert str(Node.named(name)) == name
    with pytest.raises(ProbeError, match="is no part of a model"):
        Node.named("L1")


def test_the_known_edges_of_the_hand_made_solvers_and_no_others() -> None:
    """Same map in the last block; the adjective reaches the head that decides by L0H1 and a query, or by its key."""
    positions = {"x": 0, "y": 1, "adjective": 2, "answer": 4}
    crosser, nouns = [4, 5], [0, 1, 2, 3]  # words: four nouns, two crosser adjectives, two crossed ones, "the"
    tired, wet = (torch.tensor([[x, y, a, 8] for x in nouns for y in nouns if x != y]) for a in (4, 6))
    two = two_hop_solver(9, 5, positions, crosser, nouns)
    gated = gated_solver(9, 5, positions, crosser, nouns, layer=1)
    known = {"two": {("L0H1", "L1H1.q")}, "gated": {("embedding", "L1H1.k")}}
    for name, model in (("two", two), ("gated", gated)):
        own, other = record(model, tired), record(model, wet)
        assert (own.logits.argmax(-1) == tired[:, 0]).all()
        assert (other.logits.argmax(-1) == wet[:, 1]).all()
        found = set()
        for receiver in (Node(1, 0), Node(1, 1)):
            for port in ("q", "k", "v"):
                senders = [n for n in nodes_of(model) if n.layer < 1]
                patched = patched_paths(model, own, other, [[s] for s in senders], [(receiver, port)])
                for sender, logits in zip(senders, patched, strict=True):
                    if (logits - own.logits).abs().max() > 1e-3:
                        found.add((str(sender), f"{receiver}.{port}"))
        assert found == known[name]
