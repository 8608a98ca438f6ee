"""The model against PyTorch's own attention, against itself by another path, and against what causality demands."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from support import SHAPES, perturbed, tokens_for
from torch import Generator

from probe.activations import cached
from probe.errors import ProbeError
from probe.models.config import VARIANTS, ModelConfig, make_config
from probe.models.transformer import (
    Attention,
    Transformer,
    alibi_bias,
    folded,
    initialised,
    parameter_count,
    rotated,
)


def every_config() -> list[ModelConfig]:
    """Each option with each other option that it can touch."""
    configs = []
    for norm, position, biases in itertools.product(
        ("none", "pre", "post"), ("none", "learned", "sinusoidal", "rope", "alibi"), ("all", "no-qkv", "none")
    ):
        configs.append(ModelConfig(**SHAPES, norm=norm, position=position, biases=biases))
    for settings in (
        {"residual": "replace"},
        {"attention_scale": False},
        {"output_projection": False},
        {"tied": True},
        {"unembed_bias": True},
        {"d_mlp": 0},
        {"d_head": 6},
        {"norm_affine": False},
        {"mixer": "uniform", "n_heads": 1},
        {"mixer": "none"},
        {"n_layers": 0},
    ):
        configs.append(ModelConfig(**{**SHAPES, **settings}))
    return configs


CONFIGS = every_config()


def name_of(config: ModelConfig) -> str:
    default = ModelConfig(**SHAPES).as_dict()
    return ",".join(f"{k}={v}" for k, v in config.as_dict().items() if v != default[k]) or "default"


@pytest.mark.parametrize("config", CONFIGS, ids=name_of)
def test_the_future_cannot_be_seen(config: ModelConfig) -> None:
    """Changing the last word leaves all earlier logits bit-equal."""
    model, tokens = perturbed(config), tokens_for(config)
    other = tokens.clone()
    other[:, -1] = (other[:, -1] + 1) % config.d_vocab
    with torch.no_grad():
        assert torch.equal(model(tokens)[:, :-1], model(other)[:, :-1])


@pytest.mark.parametrize("config", CONFIGS, ids=name_of)
def test_the_explicit_path_is_the_fused_path(config: ModelConfig) -> None:
    """A tap that looks at everything changes neither logits nor gradients."""

    class Everything:
        seen: set[str] = set()

        def __call__(self, name, tensor):
            self.seen.add(name)
            return tensor

        def wants(self, name):
            return not name.endswith(("_input", "hook_result"))

    model, tokens = perturbed(config), tokens_for(config)
    fused = model(tokens)
    explicit = model(tokens, Everything())
    torch.testing.assert_close(explicit, fused, atol=2e-6, rtol=1e-6)
    gradients = []
    for logits in (fused, explicit):
        model.zero_grad()
        logits.logsumexp(-1).sum().backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("config", [c for c in CONFIGS if c.mixer == "attention" and c.n_layers], ids=name_of)
def test_head_results_and_split_inputs_change_nothing(config: ModelConfig) -> None:
    """The forks that path patching uses compute the same function."""

    class Forks:
        def __call__(self, name, tensor):
            return tensor

        def wants(self, name):
            return name.endswith(("_input", "hook_result"))

    model, tokens = perturbed(config), tokens_for(config)
    with torch.no_grad():
        torch.testing.assert_close(model(tokens, Forks()), model(tokens), atol=5e-6, rtol=1e-5)


@pytest.mark.parametrize("config", CONFIGS, ids=name_of)
@pytest.mark.parametrize("pos", [1, 7])
def test_shortest_and_longest_sentence(config: ModelConfig, pos: int) -> None:
    with torch.no_grad():
        logits = perturbed(config)(tokens_for(config, pos=pos))
    assert logits.shape == (3, pos, 11)
    assert logits.isfinite().all()


@pytest.mark.parametrize("config", CONFIGS, ids=name_of)
def test_the_short_way_to_the_next_word_is_the_long_one(config: ModelConfig) -> None:
    model, tokens = perturbed(config), tokens_for(config)
    with torch.no_grad():
        torch.testing.assert_close(model.next_word_logits(tokens), model(tokens)[:, -1], atol=2e-6, rtol=1e-5)


def test_a_sentence_beyond_learned_positions_is_refused() -> None:
    config = ModelConfig(**SHAPES)
    with pytest.raises(ProbeError, match="8 words.*n_ctx = 7"):
        perturbed(config)(tokens_for(config, pos=8))


@pytest.mark.parametrize("position", ["none", "sinusoidal", "rope", "alibi"])
def test_other_positions_reach_beyond_the_training_window(position: str) -> None:
    config = ModelConfig(**SHAPES, position=position)
    assert perturbed(config)(tokens_for(config, pos=20)).isfinite().all()


# -- against PyTorch ---------------------------------------------------------------------------------------------


def attention_and_input(**settings) -> tuple[Attention, torch.Tensor]:
    config = ModelConfig(**SHAPES, biases="all", n_layers=1, **settings)
    attention = perturbed(config).blocks[0].attn
    return attention, torch.randn(2, 7, 16, generator=Generator().manual_seed(5))


def test_attention_is_nn_multihead_attention() -> None:
    from probe.models.transformer import NO_TAP

    attention, x = attention_and_input()
    peer = torch.nn.MultiheadAttention(16, 4, batch_first=True)
    with torch.no_grad():
        peer.in_proj_weight.copy_(attention.W_QKV)
        peer.in_proj_bias.copy_(attention.b_QKV)
        peer.out_proj.weight.copy_(attention.W_ZO.T)
        peer.out_proj.bias.copy_(attention.b_O)
        mask = torch.nn.Transformer.generate_square_subsequent_mask(7)
        expected, _ = peer(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)
        torch.testing.assert_close(attention(x, NO_TAP, None), expected, atol=1e-6, rtol=1e-5)


def test_attention_is_scaled_dot_product_attention() -> None:
    """By TransformerLens's shapes: head by head, with W_Q, W_K, W_V, W_O as views of the packed weights."""
    from probe.models.transformer import NO_TAP

    attention, x = attention_and_input()
    with torch.no_grad():
        q, k, v = (
            torch.einsum("bpm,hmd->bhpd", x, w) + b[:, None]
            for w, b in zip((attention.W_Q, attention.W_K, attention.W_V), attention.b_QKV.view(3, 4, 4), strict=True)
        )
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        expected = torch.einsum("bhpd,hdm->bpm", z, attention.W_O) + attention.b_O
        torch.testing.assert_close(attention(x, NO_TAP, None), expected, atol=1e-6, rtol=1e-5)


# -- what each option means --------------------------------------------------------------------------------------


def test_rope_scores_depend_on_the_distance_alone() -> None:
    q = torch.randn(1, 1, 1, 8).expand(1, 12, 1, 8)
    k = torch.randn(1, 1, 1, 8).expand(1, 12, 1, 8)
    scores = (rotated(q, 12)[0, :, 0] @ rotated(k, 12)[0, :, 0].T).double()
    for distance in range(-11, 12):
        diagonal = scores.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-5, rtol=1e-5)


def test_rope_keeps_lengths_and_leaves_position_0_alone() -> None:
    x = torch.randn(2, 5, 3, 8)
    torch.testing.assert_close(rotated(x, 5).norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(rotated(x, 5)[:, 0], x[:, 0])


def test_alibi_slopes_of_eight_heads_are_those_of_the_paper() -> None:
    bias = alibi_bias(8, 4, 4, torch.zeros(1))
    assert [-float(bias[h, 3, 2]) for h in range(8)] == [2.0 ** -(h + 1) for h in range(8)]
    assert float(bias[0, 3, 0]) == -1.5


def test_without_positions_a_causal_layer_forgets_the_order_of_its_prefix() -> None:
    """The last row of a layer without positions is invariant to a shuffle of what stands before it."""
    config = ModelConfig(**SHAPES, position="none", n_layers=1)
    model, tokens = perturbed(config), tokens_for(config, batch=1)
    shuffled = tokens[:, torch.tensor([3, 0, 5, 1, 4, 2, 6])]
    with torch.no_grad():
        torch.testing.assert_close(model(tokens)[:, -1], model(shuffled)[:, -1], atol=1e-5, rtol=1e-5)


def test_with_positions_the_same_layer_sees_the_order() -> None:
    config = ModelConfig(**SHAPES, n_layers=1)
    model, tokens = perturbed(config), torch.arange(7)[None]
    shuffled = tokens[:, torch.tensor([3, 0, 5, 1, 4, 2, 6])]
    with torch.no_grad():
        assert (model(tokens)[:, -1] - model(shuffled)[:, -1]).abs().max() > 1e-2


def test_the_uniform_mean_is_blind_to_order_and_is_the_running_mean() -> None:
    config = make_config("uniform", d_vocab=11, n_ctx=7, d_model=16)
    model, tokens = perturbed(config), tokens_for(config)
    with torch.no_grad():
        torch.testing.assert_close(model(tokens)[:, -1], model(tokens.flip(1))[:, -1], atol=1e-5, rtol=1e-5)
        mean = model.W_E[tokens].cumsum(1) / torch.arange(1, 8)[:, None]
        torch.testing.assert_close(model(tokens), mean @ model.W_U, atol=1e-5, rtol=1e-5)


def test_uniform_attention_is_softmax_over_equal_scores() -> None:
    """Zero queries give the uniform pattern 1 / (query + 1)."""
    model = perturbed(ModelConfig(**SHAPES, biases="none", n_layers=1))
    with torch.no_grad():
        model.blocks[0].attn.W_QKV[:16] = 0
    _, seen = cached(model, tokens_for(model.config), ["blocks.0.attn.hook_pattern"])
    expected = torch.ones(7, 7).tril() / torch.arange(1, 8)[:, None]
    torch.testing.assert_close(seen["blocks.0.attn.hook_pattern"], expected.expand(3, 4, 7, 7))


def test_attention_scale_is_one_over_the_root_of_d_head() -> None:
    scaled = perturbed(ModelConfig(**SHAPES, n_layers=1))
    plain = Transformer(ModelConfig(**SHAPES, n_layers=1, attention_scale=False))
    plain.load_state_dict(scaled.state_dict())
    tokens, name = tokens_for(scaled.config), "blocks.0.attn.hook_attn_scores"
    a, b = (cached(m, tokens, [name])[1][name] for m in (scaled, plain))
    finite = a.isfinite()
    torch.testing.assert_close(a[finite] * math.sqrt(4), b[finite], atol=1e-6, rtol=1e-5)


def test_dropout_needs_a_generator_and_keeps_the_mean() -> None:
    from probe.models.transformer import dropped

    x = torch.ones(200, 500)
    assert dropped(x, 0.3, None) is x
    some = dropped(x, 0.3, Generator().manual_seed(0))
    assert (some == 0).float().mean().item() == pytest.approx(0.3, abs=0.01)
    assert some.mean().item() == pytest.approx(1.0, abs=0.01)
    config = ModelConfig(**SHAPES, attention_dropout=0.2, residual_dropout=0.2, embedding_dropout=0.2)
    model, tokens = perturbed(config), tokens_for(config)
    assert torch.equal(model(tokens), model(tokens))
    twice = [model(tokens, dropout=Generator().manual_seed(3)) for _ in range(2)]
    assert torch.equal(*twice)
    assert not torch.allclose(twice[0], model(tokens))


@pytest.mark.parametrize("place", ["attention_dropout", "residual_dropout", "embedding_dropout"])
def test_each_dropout_acts(place: str) -> None:
    config = ModelConfig(**SHAPES, **{place: 0.5})
    model, tokens = perturbed(config), tokens_for(config)
    assert not torch.allclose(model(tokens, dropout=Generator().manual_seed(0)), model(tokens))


# -- sizes -------------------------------------------------------------------------------------------------------


def test_gpt2_small_has_its_known_number_of_parameters() -> None:
    config = ModelConfig(d_vocab=50257, n_ctx=1024, n_layers=12, n_heads=12, d_model=768, biases="all", tied=True)
    with torch.device("meta"):
        model = Transformer(config)
    assert parameter_count(model) == 124_439_808
    assert parameter_count(model.blocks[0]) == 7_087_872


@pytest.mark.parametrize(("biases", "fewer"), [("all", 0), ("no-qkv", 3)])
def test_a_block_is_12_d_squared_plus_13_d(biases: str, fewer: int) -> None:
    model = Transformer(ModelConfig(d_vocab=5, n_ctx=4, d_model=32, n_heads=4, n_layers=1, biases=biases))
    assert parameter_count(model.blocks[0]) == 12 * 32**2 + (13 - fewer) * 32


def test_the_ladder_adds_what_the_chapter_says() -> None:
    """Width 128: W_o adds 16,512 parameters, LayerNorm 768, positions 128 x 128."""
    size = {
        name: parameter_count(Transformer(make_config(name, d_vocab=1024, n_ctx=128, d_model=128))) for name in VARIANTS
    }
    assert size["heads"] - size["one-head"] == 16_512
    assert size["one-block"] - size["heads-mlp"] == 768
    assert size["uniform-positions"] - size["uniform"] == 128 * 128
    assert size["uniform"] == size["no-context"] == size["uniform-residual"]
    assert size["one-head"] == size["one-head-replace"]


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_runs(name: str) -> None:
    config = make_config(name, d_vocab=11, n_ctx=7, d_model=16)
    assert perturbed(config)(tokens_for(config)).shape == (3, 7, 11)


def test_a_stack_of_any_height_has_a_name() -> None:
    assert make_config("5-block", d_vocab=11, n_ctx=7).n_layers == 5
    assert make_config("2-block", d_vocab=11, n_ctx=7) == make_config("two-block", d_vocab=11, n_ctx=7)


# -- folding -----------------------------------------------------------------------------------------------------


FOLDABLE = [c for c in CONFIGS if c.norm != "post" and not (c.norm == "pre" and c.mixer == "uniform")]


@pytest.mark.parametrize("config", FOLDABLE, ids=name_of)
def test_folding_is_exact_and_leaves_the_model_alone(config: ModelConfig) -> None:
    model, tokens = perturbed(config), tokens_for(config)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with torch.no_grad():
        torch.testing.assert_close(folded(model)(tokens), model(tokens), atol=1e-5, rtol=1e-5)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert not folded(model).config.norm_affine


def test_folding_a_post_norm_model_is_refused() -> None:
    with pytest.raises(ProbeError, match="post-norm"):
        folded(perturbed(ModelConfig(**SHAPES, norm="post")))


# -- starting ----------------------------------------------------------------------------------------------------


def test_same_seed_same_weights_and_no_global_randomness() -> None:
    config = ModelConfig(**SHAPES)
    torch.manual_seed(0)
    state = torch.get_rng_state()
    a, b = (initialised(config, Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(x, y) for x, y in zip(a.parameters(), b.parameters(), strict=True))


def test_initial_weights_have_the_declared_spread() -> None:
    model = initialised(ModelConfig(d_vocab=500, n_ctx=64, d_model=128, n_layers=2), Generator().manual_seed(0))
    assert model.W_E.std().item() == pytest.approx(0.02, rel=0.05)
    assert model.blocks[0].mlp.W_out.std().item() == pytest.approx(0.02 / 2, rel=0.05)
    assert model.blocks[1].attn.W_ZO.std().item() == pytest.approx(0.02 / 2, rel=0.05)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_heads": 3}, "try d_model = 18"),
        ({"position": "rotary"}, "position = 'rotary'"),
        ({"norm": "Pre"}, "did you mean 'pre'"),
        ({"mixer": "uniform"}, "one head"),
        ({"position": "rope", "d_head": 3}, "even"),
        ({"attention_dropout": 1.0}, r"in \[0, 1\)"),
        ({"n_layers": -1}, "0 or more"),
        ({"position": "alibi", "mixer": "none"}, "acts inside attention"),
    ],
)
def test_impossible_configurations_are_refused_with_advice(settings: dict, message: str) -> None:
    with pytest.raises(ProbeError, match=message):
        ModelConfig(**{**SHAPES, **settings})


def test_a_configuration_survives_json_and_names_unknown_keys() -> None:
    config = ModelConfig(**SHAPES, position="rope", tied=True)
    assert ModelConfig.from_dict(config.as_dict()) == config
    with pytest.raises(ProbeError, match="'n_head'; did you mean 'n_heads'"):
        ModelConfig.from_dict({**config.as_dict(), "n_head": 2})
    with pytest.raises(ProbeError, match="d_model: '64' is not int"):
        ModelConfig.from_dict({**config.as_dict(), "d_model": "64"})


def test_an_unknown_setting_is_answered_with_the_nearest() -> None:
    with pytest.raises(ProbeError, match="no setting 'd_modle'; did you mean 'd_model'"):
        make_config("one-block", d_vocab=9, n_ctx=4, d_modle=8)
