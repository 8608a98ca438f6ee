"""The same weights behind TransformerLens: its caches, sweeps, attributions, against hand computation and its model."""

from __future__ import annotations

import pytest
import torch
from support import SHAPES, perturbed, tokens_for
from torch import Generator
from transformer_lens import patching
from transformer_lens.tools.analysis.direct_logit_attribution import direct_logit_attribution

from probe.activations import HookedModel, cached
from probe.errors import ProbeError
from probe.models.config import ModelConfig
from probe.models.hooked import HookedTransformer
from probe.models.transformer import folded
from probe.tasks.vocabulary import Vocabulary

WORDS = Vocabulary(tuple("abcdefghijk"))
CONFIG = ModelConfig(**SHAPES)


@pytest.fixture(scope="module")
def hooked() -> HookedTransformer:
    """Folded, so that attribution is exact."""
    return HookedTransformer(folded(perturbed(CONFIG)), WORDS)


@pytest.fixture(scope="module")
def tokens() -> torch.Tensor:
    return tokens_for(CONFIG)


def test_it_is_the_protocol_that_analyses_ask_for(hooked: HookedTransformer) -> None:
    assert isinstance(hooked, HookedModel)


def test_hooking_changes_nothing(hooked: HookedTransformer, tokens: torch.Tensor) -> None:
    with torch.no_grad():
        plain = hooked.transformer(tokens)
        assert torch.equal(hooked(tokens), plain)
        logits, cache = hooked.run_with_cache(tokens)
        torch.testing.assert_close(logits, plain, atol=2e-6, rtol=1e-6)
        assert torch.equal(hooked(tokens), plain)
    assert not any(point.has_hooks(dir="both") for point in hooked.hook_points())


IN_A_BLOCK = """
hook_resid_pre hook_resid_mid hook_resid_post hook_attn_out hook_mlp_in hook_mlp_out ln1.hook_scale ln1.hook_normalized
ln2.hook_scale ln2.hook_normalized attn.hook_q attn.hook_k attn.hook_v attn.hook_attn_scores attn.hook_pattern
attn.hook_z mlp.hook_pre mlp.hook_post
""".split()
EVERY_NAME = [
    "hook_embed",
    "hook_pos_embed",
    *(f"blocks.{layer}.{name}" for layer in range(2) for name in IN_A_BLOCK),
    "ln_final.hook_scale",
    "ln_final.hook_normalized",
]


def test_every_canonical_name_is_cached_in_its_shape(hooked: HookedTransformer, tokens: torch.Tensor) -> None:
    _, cache = hooked.run_with_cache(tokens)
    assert sorted(cache.keys()) == sorted(EVERY_NAME)
    batch, pos = tokens.shape
    assert cache["pattern", 0].shape == (batch, 4, pos, pos)
    assert cache["q", 1].shape == cache["z", 1].shape == (batch, pos, 4, 4)
    assert cache["hook_pos_embed"].shape == (batch, pos, 16)
    assert cache["ln_final.hook_scale"].shape == (batch, pos, 1)


def test_the_light_cache_holds_the_same_numbers(hooked: HookedTransformer, tokens: torch.Tensor) -> None:
    logits, light = cached(hooked.transformer, tokens, EVERY_NAME)
    heavy_logits, heavy = cached(hooked, tokens, EVERY_NAME)
    assert torch.equal(logits, heavy_logits)
    assert all(torch.equal(light[name], heavy[name]) for name in EVERY_NAME)


def test_a_name_that_is_never_computed_is_no_silent_gap(hooked: HookedTransformer, tokens: torch.Tensor) -> None:
    for model in (hooked, hooked.transformer):
        with pytest.raises(KeyError, match="blocks.7.hook_z"):
            cached(model, tokens, ["blocks.7.hook_z"])


@pytest.mark.parametrize("name", EVERY_NAME)
def test_a_hook_on_any_name_acts(hooked: HookedTransformer, tokens: torch.Tensor, name: str) -> None:
    """Noise on an activation changes the logits: no hook point is a dead end."""

    def disturb(tensor, hook):
        return tensor + 0.3 * torch.randn(tensor.shape, generator=Generator().manual_seed(0)).abs()

    with torch.no_grad():
        changed = hooked.run_with_hooks(tokens, fwd_hooks=[(name, disturb)])
        assert (changed - hooked(tokens)).abs().max() > 1e-4


def test_a_hook_that_writes_in_place_cannot_reach_the_parameters(
    hooked: HookedTransformer, tokens: torch.Tensor
) -> None:
    before = {name: value.clone() for name, value in hooked.transformer.state_dict().items()}
    with torch.no_grad():
        hooked.run_with_hooks(tokens, fwd_hooks=[(name, lambda t, hook: t.zero_()) for name in EVERY_NAME])
    assert all(torch.equal(value, before[name]) for name, value in hooked.transformer.state_dict().items())


def test_hooks_are_gone_after_an_exception(hooked: HookedTransformer, tokens: torch.Tensor) -> None:
    def fails(tensor, hook):
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        hooked.run_with_hooks(tokens, fwd_hooks=[("blocks.0.attn.hook_z", fails)])
    assert not any(point.has_hooks(dir="both") for point in hooked.hook_points())
    assert torch.equal(hooked(tokens), hooked.transformer(tokens))


# -- TransformerLens's analyses ------------------------------------------------------------------------------------


def test_parts_sum_to_the_residual_stream_and_to_the_logit_difference(
    hooked: HookedTransformer, tokens: torch.Tensor
) -> None:
    logits, cache = hooked.run_with_cache(tokens)
    parts, labels = cache.decompose_resid(return_labels=True)
    assert labels == ["embed", "pos_embed", "0_attn_out", "0_mlp_out", "1_attn_out", "1_mlp_out"]
    torch.testing.assert_close(parts.sum(0), cache["resid_post", 1], atol=1e-5, rtol=1e-5)
    answer, distractor = torch.tensor([1, 2, 3]), torch.tensor([4, 5, 6])
    rows = torch.arange(3)
    expected = logits[rows, -1, answer] - logits[rows, -1, distractor] - (hooked.b_U[answer] - hooked.b_U[distractor])
    for unit in ("component", "head"):
        result = direct_logit_attribution(hooked, tokens, answer, distractor, unit=unit)
        torch.testing.assert_close(result.attribution.sum(0), expected, atol=1e-4, rtol=1e-4)


def test_head_results_and_accumulated_bias_make_up_the_attention_output(
    hooked: HookedTransformer, tokens: torch.Tensor
) -> None:
    _, cache = hooked.run_with_cache(tokens)
    heads = cache.stack_head_results(layer=1)
    torch.testing.assert_close(
        heads.sum(0) + hooked.accumulated_bias(1, include_mlp_biases=False),
        cache["attn_out", 0],
        atol=1e-5,
        rtol=1e-5,
    )
    hooked.set_use_attn_result(True)
    try:
        _, with_result = hooked.run_with_cache(tokens)
        torch.testing.assert_close(
            torch.stack([with_result["blocks.0.attn.hook_result"][:, :, h] for h in range(4)]),
            heads,
            atol=1e-5,
            rtol=1e-5,
        )
    finally:
        hooked.set_use_attn_result(False)


def test_the_logit_lens_ends_in_the_logits(hooked: HookedTransformer, tokens: torch.Tensor) -> None:
    logits, cache = hooked.run_with_cache(tokens)
    lens = cache.logit_lens(positions=None)
    torch.testing.assert_close(lens.values[-1], logits, atol=1e-5, rtol=1e-5)
    by_hand = hooked.transformer.unembedded(cache["resid_pre", 1])
    torch.testing.assert_close(lens.values[1], by_hand, atol=1e-5, rtol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_patching_sweeps_agree_with_patching_by_hand(hooked: HookedTransformer, tokens: torch.Tensor) -> None:
    corrupted = tokens.clone()
    corrupted[:, 2] = (corrupted[:, 2] + 1) % 11
    _, clean = hooked.run_with_cache(tokens)

    def metric(logits: torch.Tensor) -> torch.Tensor:
        return (logits[:, -1, 1] - logits[:, -1, 2]).mean()

    with torch.no_grad():
        stream = patching.get_act_patch_resid_pre(hooked, corrupted, clean, metric)
        heads = patching.get_act_patch_attn_head_out_by_pos(hooked, corrupted, clean, metric)
        z = clean["z", 1]

        def put(tensor, hook):
            tensor = tensor.clone()
            tensor[:, 3, 2] = z[:, 3, 2]
            return tensor

        by_hand = metric(hooked.run_with_hooks(corrupted, fwd_hooks=[("blocks.1.attn.hook_z", put)]))
    # the changed word's position at layer 0 carries everything, the positions before it nothing
    assert stream[0, 2].item() == pytest.approx(metric(hooked(tokens)).item(), abs=1e-5)
    assert stream[0, 0].item() == pytest.approx(metric(hooked(corrupted)).item(), abs=1e-5)
    assert heads.shape == (2, 7, 4)
    assert heads[1, 3, 2].item() == pytest.approx(by_hand.item(), abs=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_direct_path_patching_runs_on_split_inputs(hooked: HookedTransformer, tokens: torch.Tensor) -> None:
    """Patching clean into clean through the per-head forks changes nothing; the switch is restored."""
    _, clean = hooked.run_with_cache(tokens)
    with torch.no_grad():
        result = patching.get_act_patch_direct_path(
            hooked, tokens, clean, clean, lambda logits: logits[:, -1, 1].mean(), 0, 1, component="k", verbose=False
        )
        plain = hooked(tokens)[:, -1, 1].mean()
    torch.testing.assert_close(result[1], plain.expand(4), atol=1e-5, rtol=1e-5)
    assert not hooked.cfg.use_split_qkv_input


@pytest.mark.parametrize("position", ["learned", "rope"])
def test_it_is_the_same_function_as_transformerlens_own_model(position: str, tokens: torch.Tensor) -> None:
    """Copied weights in `boot_native`, learned and rotary positions."""
    import transformer_lens.model_bridge.sources.native  # noqa: F401  attaches boot_native
    from transformer_lens.config import TransformerBridgeConfig
    from transformer_lens.model_bridge import TransformerBridge

    ours = perturbed(ModelConfig(**SHAPES, position=position, biases="all"))
    cfg = TransformerBridgeConfig(
        d_model=16, n_layers=2, n_heads=4, d_head=4, d_mlp=64, n_ctx=7, d_vocab=11, act_fn="gelu",
        normalization_type="LN", positional_embedding_type="standard" if position == "learned" else "rotary", seed=0,
    )  # fmt: skip
    peer = TransformerBridge.boot_native(cfg)
    weights = {name.replace("._original_component", ""): p for name, p in peer.original_model.named_parameters()}
    ours_by_name = {"tok_embed.weight": ours.W_E, "head.weight": ours.W_U.T}
    if ours.W_pos is not None:
        ours_by_name["pos.weight"] = ours.W_pos
    for name, norm in (("ln_out", ours.ln_final), *((f"layers.{i}.ln1", b.ln1) for i, b in enumerate(ours.blocks)),
                       *((f"layers.{i}.ln2", b.ln2) for i, b in enumerate(ours.blocks))):  # fmt: skip
        ours_by_name |= {f"{name}.weight": norm.w, f"{name}.bias": norm.b}
    for i, block in enumerate(ours.blocks):
        for part, weight, bias in zip("qkv", block.attn.W_QKV.chunk(3), block.attn.b_QKV.chunk(3), strict=True):
            ours_by_name |= {f"layers.{i}.attn.{part}.weight": weight, f"layers.{i}.attn.{part}.bias": bias}
        ours_by_name |= {f"layers.{i}.attn.o.weight": block.attn.W_ZO.T, f"layers.{i}.attn.o.bias": block.attn.b_O}
        mlp, name = block.mlp, f"layers.{i}.mlp"
        ours_by_name |= {f"{name}.fc_in.weight": mlp.W_in.T, f"{name}.fc_in.bias": mlp.b_in}
        ours_by_name |= {f"{name}.fc_out.weight": mlp.W_out.T, f"{name}.fc_out.bias": mlp.b_out}
    assert set(weights) == set(ours_by_name)
    with torch.no_grad():
        for name, parameter in weights.items():
            parameter.copy_(ours_by_name[name])
        theirs = peer(tokens, return_type="logits")
        torch.testing.assert_close(ours(tokens), theirs, atol=2e-5, rtol=1e-5)
        pattern = peer.run_with_cache(tokens)[1]["blocks.1.attn.hook_pattern"]
    _, seen = cached(ours, tokens, ["blocks.1.attn.hook_pattern"])
    torch.testing.assert_close(seen["blocks.1.attn.hook_pattern"], pattern, atol=1e-5, rtol=1e-4)


# -- words ---------------------------------------------------------------------------------------------------------


def test_words_go_in_and_losses_come_out(hooked: HookedTransformer) -> None:
    with torch.no_grad():
        logits = hooked("a b c d")
        loss = hooked(["a b c d"], return_type="loss")
    expected = -logits[0, :-1].log_softmax(-1)[torch.arange(3), torch.tensor([1, 2, 3])].mean()
    torch.testing.assert_close(loss, expected)
    assert hooked.to_single_token("c") == 2
    with pytest.raises(ProbeError, match="word 2 of the sentence, 'z'"):
        hooked("a z")
    with pytest.raises(ProbeError, match="different lengths"):
        hooked(["a b", "a b c"])


def test_weights_are_shared_not_copied(hooked: HookedTransformer) -> None:
    assert hooked.W_E.data_ptr() == hooked.transformer.W_E.data_ptr()
    names = [name for name, _ in hooked.named_parameters()]
    assert all(name.startswith("transformer.") for name in names)
    assert hooked.W_Q.shape == (2, 4, 16, 4)
    assert hooked.W_O.shape == (2, 4, 4, 16)


@pytest.mark.parametrize(
    "settings",
    [{"d_mlp": 0}, {"norm": "none"}, {"mixer": "uniform", "n_heads": 1}, {"position": "rope"}, {"position": "alibi"},
     {"n_layers": 0}, {"output_projection": False}, {"norm": "post"}, {"mixer": "none"}, {"tied": True}],
)  # fmt: skip
def test_every_kind_of_model_can_be_cached(settings: dict, tokens: torch.Tensor) -> None:
    model = HookedTransformer(perturbed(ModelConfig(**{**SHAPES, **settings})))
    logits, cache = model.run_with_cache(tokens)
    torch.testing.assert_close(logits, model.transformer(tokens), atol=2e-6, rtol=1e-6)
    assert set(cache.keys()) >= {"hook_embed"}


def test_generators_are_passed_never_global() -> None:
    state = torch.get_rng_state()
    HookedTransformer(perturbed(CONFIG, seed=int(Generator().manual_seed(1).initial_seed())))
    assert torch.equal(torch.get_rng_state(), state)
