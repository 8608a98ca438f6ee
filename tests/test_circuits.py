"""Circuits: with every edge the model, with none the given values, with one cut a patched path; nothing else moves."""

from __future__ import annotations

import pytest
import torch
from support import SHAPES, perturbed, tokens_for
from torch import Generator, Tensor

from probe.circuits import ABLATIONS, Edge, absent_values, edges_of, run_circuits
from probe.models.config import ModelConfig
from probe.models.transformer import Transformer
from probe.paths import EMBEDDING, Node, Recording, patched_paths, record

SETTINGS = [{}, {"norm": "none"}, {"d_mlp": 0}, {"output_projection": False}, {"biases": "all", "position": "rope"}]


def two_runs(**settings) -> tuple[Transformer, Recording, Recording]:
    model = perturbed(ModelConfig(**{**SHAPES, **settings}))
    tokens = tokens_for(model.config)
    changed = tokens.clone()
    changed[:, 2] = (changed[:, 2] + 1) % 11
    return model, record(model, tokens), record(model, changed)


def masks(model: Transformer, *kept: bool) -> Tensor:
    return torch.tensor(kept)[:, None].expand(-1, len(edges_of(model)))


@pytest.mark.parametrize("ablation", ABLATIONS)
@pytest.mark.parametrize("settings", SETTINGS)
def test_with_every_edge_a_circuit_is_the_model(settings: dict, ablation) -> None:
    model, own, other = two_runs(**settings)
    absent = absent_values(ablation, own, other, Generator().manual_seed(0))
    logits = run_circuits(model, own, absent, masks(model, True))[0]
    torch.testing.assert_close(logits, own.logits, atol=5e-6, rtol=1e-5)


@pytest.mark.parametrize("settings", SETTINGS)
def test_with_no_edge_a_circuit_is_what_the_given_values_say(settings: dict) -> None:
    model, own, other = two_runs(**settings)
    logits = run_circuits(model, own, other.written, masks(model, False))[0]
    torch.testing.assert_close(logits, other.logits, atol=5e-6, rtol=1e-5)


def test_one_cut_edge_is_one_patched_path() -> None:
    model, own, other = two_runs()
    edges = edges_of(model)
    cut = run_circuits(model, own, other.written, ~torch.eye(len(edges), dtype=torch.bool))
    for edge, logits in zip(edges, cut, strict=True):
        patched = patched_paths(model, own, other, [[edge.sender]], [(edge.receiver, edge.port)])[0]
        torch.testing.assert_close(logits, patched, atol=5e-6, rtol=1e-5, msg=lambda m, edge=edge: f"{edge}: {m}")


def test_circuits_do_not_see_each_other_and_positions_cut_at_the_others() -> None:
    model, own, other = two_runs()
    edges = edges_of(model)
    kept = torch.rand(40, len(edges), generator=Generator().manual_seed(1)) < 0.7
    together = run_circuits(model, own, other.written, kept)
    alone = torch.cat([run_circuits(model, own, other.written, one[None]) for one in kept])
    torch.testing.assert_close(together, alone, atol=2e-6, rtol=1e-5)
    everywhere = {edge.sender: list(range(own.tokens.shape[1])) for edge in edges}
    torch.testing.assert_close(
        run_circuits(model, own, other.written, kept, everywhere), together, atol=2e-6, rtol=1e-5
    )
    nowhere = {node: [] for node in everywhere}
    silent = run_circuits(model, own, other.written, masks(model, True), nowhere)[0]
    torch.testing.assert_close(silent, other.logits, atol=5e-6, rtol=1e-5)


def test_the_values_of_cut_edges() -> None:
    model, own, other = two_runs()
    node = Node(0, 1)
    draw = Generator().manual_seed(0)
    values = {ablation: absent_values(ablation, own, other, draw)[node] for ablation in ABLATIONS}
    assert torch.equal(values["other"], other.written[node])
    assert not values["zero"].any()
    torch.testing.assert_close(values["mean"][0, 0], own.written[node].mean((0, 1)))
    torch.testing.assert_close(values["mean by role"][2], own.written[node].mean(0))
    for mine, drawn in zip(own.written[node], values["resample"], strict=True):
        assert not torch.equal(mine, drawn)
        assert any(torch.equal(drawn, written) for written in own.written[node])


def test_edges_go_forward_and_are_counted() -> None:
    """2 layers of 4 heads and an MLP: 12 + 5 + 12 x 6 + 10 + 11."""
    model, _, _ = two_runs()
    edges = edges_of(model)
    assert len(edges) == len(set(edges)) == 12 + 5 + 72 + 10 + 11
    assert Edge(EMBEDDING, Node(0, 0), "q") in edges
    assert Edge(Node(0, 1), Node(0, 0), "q") not in edges
