"""The engine: nulls that must hold, TransformerLens's own loops, and what may never be silent."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from support import SHAPES, perturbed, tokens_for
from torch import Tensor
from transformer_lens import patching

from probe import activations
from probe.activations import HEADED, Site, cached, intervened, resumed, shape_of, sites_of, sweep
from probe.models.config import ModelConfig
from probe.models.hooked import HookedTransformer

KINDS = ["resid_pre", "resid_mid", "resid_post", "attn_out", "mlp_out", "z", "q", "k", "v", "pattern"]
CONFIG = ModelConfig(**SHAPES)


@pytest.fixture(scope="module", params=["learned", "rope", "alibi"])
def setting(request: pytest.FixtureRequest) -> tuple:
    """A model, a clean and a corrupted batch that differ in one word, and the clean activations."""
    model = perturbed(ModelConfig(**SHAPES, position=request.param))
    clean = tokens_for(CONFIG)
    corrupted = clean.clone()
    corrupted[:, 2] = (corrupted[:, 2] + 1) % 11
    names = [site.name for kind in KINDS for site in sites_of(kind, 2, 4, by_head=False)]
    return model, clean, corrupted, cached(model, clean, names)[1]


@pytest.mark.parametrize("kind", KINDS)
def test_patching_clean_into_clean_changes_nothing(setting: tuple, kind: str) -> None:
    """Neither to the bit, where the sweep need not run it, nor one bit off, where it must."""
    model, clean, _, values = setting
    expected = model(clean)[:, -1]
    beside = {name: torch.nextafter(value, value + 1) for name, value in values.items()}
    for put in (values, beside):
        logits = sweep(model, clean, sites_of(kind, 2, 4, range(7)), put)
        torch.testing.assert_close(logits, expected.expand_as(logits), atol=2e-6, rtol=1e-6)


def test_patching_everything_gives_the_clean_run_and_nothing_the_corrupted(setting: tuple) -> None:
    model, clean, corrupted, values = setting
    everything = sweep(model, corrupted, [Site(kind="resid_pre", layer=0), Site(kind="resid_post", layer=1)], values)
    torch.testing.assert_close(everything, model(clean)[:, -1].expand_as(everything), atol=2e-6, rtol=1e-6)
    before_the_change = sweep(model, corrupted, [Site(kind="resid_pre", layer=0, position=1)], values)
    torch.testing.assert_close(before_the_change[0], model(corrupted)[:, -1], atol=2e-6, rtol=1e-6)


def test_only_what_differs_is_run(setting: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of seven positions the sentences share the two before the word in which they differ."""
    model, clean, corrupted, _ = setting
    sites, run = sites_of("resid_pre", 2, 4, range(7)), []
    values = cached(model, clean, sorted({site.name for site in sites}))[1]

    def counted(model, stream, layer, edits):
        run.append(len(stream) // len(corrupted))
        return resumed(model, stream, layer, edits)

    monkeypatch.setattr(activations, "resumed", counted)
    sweep(model, corrupted, sites, values)
    assert sum(run) == 1 + 5  # the words themselves differ at one position, what layer 1 reads from there on


@pytest.mark.parametrize("kind", KINDS)
def test_the_batched_sweep_is_the_plain_loop(setting: tuple, kind: str) -> None:
    """One site at a time, a whole forward each; chunks of any size."""
    model, _, corrupted, values = setting
    sites = sites_of(kind, 2, 4, range(7))
    expected = []
    for site in sites:

        def put(tensor: Tensor, site: Site = site) -> Tensor:
            tensor = tensor.clone()
            if site.kind == "pattern":
                tensor[:, site.head, site.position] = values[site.name][:, site.head, site.position]
            elif site.kind in HEADED:
                tensor[:, site.position, site.head] = values[site.name][:, site.position, site.head]
            else:
                tensor[:, site.position] = values[site.name][:, site.position]
            return tensor

        expected.append(intervened(model, corrupted, {site.name: put})[0][:, -1])
    for rows in (1, 7, 1000):
        torch.testing.assert_close(
            sweep(model, corrupted, sites, values, rows=rows), torch.stack(expected), atol=2e-6, rtol=1e-6
        )


@pytest.mark.parametrize("kind", KINDS)
def test_any_hooked_model_gives_the_same_numbers(setting: tuple, kind: str) -> None:
    model, _, corrupted, values = setting
    sites = sites_of(kind, 2, 4, [0, 2, 6])
    torch.testing.assert_close(
        sweep(HookedTransformer(model), corrupted, sites, values), sweep(model, corrupted, sites, values),
        atol=2e-6, rtol=1e-6,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "loop"),
    [
        ("resid_pre", patching.get_act_patch_resid_pre),
        ("attn_out", patching.get_act_patch_attn_out),
        ("mlp_out", patching.get_act_patch_mlp_out),
        ("z", patching.get_act_patch_attn_head_out_by_pos),
        ("q", patching.get_act_patch_attn_head_q_by_pos),
        ("k", patching.get_act_patch_attn_head_k_by_pos),
        ("v", patching.get_act_patch_attn_head_v_by_pos),
    ],
)
def test_transformerlens_own_loops_give_the_same_numbers(setting: tuple, kind: str, loop) -> None:
    model, clean, corrupted, values = setting
    hooked = HookedTransformer(model)
    cache = hooked.run_with_cache(clean)[1]

    def metric(logits: Tensor) -> Tensor:
        return (logits[:, -1, 1] - logits[:, -1, 2]).mean()

    with torch.no_grad():
        theirs = loop(hooked, corrupted, cache, metric)
    ours = sweep(model, corrupted, sites_of(kind, 2, 4, range(7)), values)
    difference = (ours[..., 1] - ours[..., 2]).mean(1)
    if kind in HEADED:
        difference = difference.view(2, 4, 7).transpose(1, 2)
    torch.testing.assert_close(difference.view_as(theirs), theirs, atol=2e-6, rtol=1e-5)


def test_one_value_for_all_examples_is_ablation(setting: tuple) -> None:
    model, clean, _, values = setting
    name = "blocks.0.attn.hook_z"
    zeros = {name: torch.zeros(1, 7, 4, 4)}
    ours = sweep(model, clean, [Site(kind="z", layer=0, head=1)], zeros)

    def zero(tensor: Tensor) -> Tensor:
        return torch.cat([tensor[:, :, :1], torch.zeros_like(tensor[:, :, :1]), tensor[:, :, 2:]], dim=2)

    torch.testing.assert_close(ours[0], intervened(model, clean, {name: zero})[0][:, -1], atol=2e-6, rtol=1e-6)


def test_what_does_not_happen_is_said(setting: tuple) -> None:
    model, clean, _, values = setting
    for each in (model, HookedTransformer(model)):
        with pytest.raises(KeyError, match="blocks.7.hook_resid_pre"):
            intervened(each, clean, {"blocks.7.hook_resid_pre": lambda t: t})
    with pytest.raises(KeyError, match="no value is given"):
        sweep(model, clean, [Site(kind="z", layer=0)], {})
    with pytest.raises(KeyError, match="no layer 2"):
        sweep(model, clean, [Site(kind="z", layer=2)], {"blocks.2.attn.hook_z": torch.zeros(1)})
    attention_only = perturbed(ModelConfig(**SHAPES, d_mlp=0))
    with pytest.raises(KeyError, match="mlp_out"):
        sweep(attention_only, clean, [Site(kind="mlp_out", layer=0)], {"blocks.0.hook_mlp_out": torch.zeros(1, 7, 16)})


def test_a_sweep_changes_no_weight_and_leaves_no_hook(setting: tuple) -> None:
    model, _, corrupted, values = setting
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    hooked = HookedTransformer(model)
    with pytest.raises(RuntimeError):
        sweep(hooked, corrupted, [Site(kind="z", layer=0, head=0)], {"blocks.0.attn.hook_z": torch.zeros(1, 7, 4, 5)})
    assert not any(point.has_hooks(dir="both") for point in hooked.hook_points())
    sweep(model, corrupted, sites_of("z", 2, 4, range(7)), values)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_sizes_are_read_from_either_kind_of_model(setting: tuple) -> None:
    model = setting[0]
    assert shape_of(model) == shape_of(HookedTransformer(model)) == (2, 4)


def test_a_hook_that_fires_under_another_name_is_kept_by_the_one_asked_for() -> None:
    """A bridge answers to TransformerLens's names, but its hook points have names of their own."""

    class Bridge:
        cfg = SimpleNamespace(n_layers=1, n_heads=1)

        def run_with_hooks(self, tokens, fwd_hooks):
            for _, hook in fwd_hooks:
                hook(tokens.float(), hook=SimpleNamespace(name="blocks.0.attn.v.hook_out"))
            return tokens.float()

        def run_with_cache(self, *args): ...

        def __call__(self, *args): ...

    _, seen = cached(Bridge(), torch.ones(1, 2, dtype=torch.long), ["blocks.0.attn.hook_v"])
    assert seen["blocks.0.attn.hook_v"].tolist() == [[1.0, 1.0]]
