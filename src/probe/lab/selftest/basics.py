"""Accuracies, order-blind counts, and our own attention beside its peers."""

from __future__ import annotations

from probe.lab.selftest.check import Check


def accuracy() -> list[Check]:
    """A model that says nothing scores as chance does."""
    import torch

    from probe.metrics import score

    zeros = score(torch.zeros(4, 6), torch.tensor([0, 1, 2, 3]), torch.tensor([4, 4, 4, 4]))
    oracle = "a model of zeros"
    return [
        Check(metric="pair accuracy", oracle=oracle, expected=0.5, measured=zeros.pair_accuracy),
        Check(metric="referent accuracy", oracle=oracle, expected=1 / 6, measured=zeros.referent_accuracy),
        Check(metric="ties", oracle=oracle, expected=4, measured=zeros.ties),
    ]


def order() -> list[Check]:
    """What a model blind to word order can reach, counted; and a model that is blind to it."""
    import torch

    from probe.models.config import make_config
    from probe.models.transformer import initialised
    from probe.tasks.dataset import make_dataset, order_blind_counts
    from probe.tasks.spec import load_task

    checks = []
    for name, ceiling in (("winograd-hard", 0.5), ("winograd-easy", 1.0)):
        counts = order_blind_counts(make_dataset(load_task(name)))
        checks.append(Check(metric="order-blind ceiling", oracle=name, expected=ceiling, measured=counts.ceiling))
        if name == "winograd-hard":
            measured = counts.transfer.accuracy
            checks.append(Check(metric="transfer of a bag table", oracle=name, expected=0.0, measured=measured))
    model = initialised(make_config("uniform", d_vocab=9, n_ctx=7), torch.Generator().manual_seed(0))
    tokens = torch.arange(7)[None]
    with torch.no_grad():
        moved = float((model(tokens)[:, -1] - model(tokens.flip(1))[:, -1]).abs().max())
    checks.append(Check(metric="logits under a shuffle", oracle="uniform mean", expected=0.0, measured=moved))
    return checks


def model() -> list[Check]:
    """Our attention beside torch's, and the size of GPT-2."""
    import torch
    import torch.nn.functional as F

    from probe.models.config import ModelConfig
    from probe.models.transformer import NO_TAP, Attention, Transformer, initialised, parameter_count

    config = ModelConfig(d_vocab=5, n_ctx=8, d_model=16, n_heads=4, n_layers=1, biases="all")
    attention = initialised(config, torch.Generator().manual_seed(0)).blocks[0].attn
    assert isinstance(attention, Attention) and attention.W_ZO is not None
    x = torch.randn(2, 8, 16, generator=torch.Generator().manual_seed(1))
    peer = torch.nn.MultiheadAttention(16, 4, batch_first=True)
    with torch.no_grad():
        peer.in_proj_weight.copy_(attention.W_QKV)
        peer.in_proj_bias.zero_()
        peer.out_proj.weight.copy_(attention.W_ZO.T)
        peer.out_proj.bias.zero_()
        mask = torch.nn.Transformer.generate_square_subsequent_mask(8)
        ours = attention(x, NO_TAP, None)
        error = float((ours - peer(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)[0]).abs().max())
        q, k, v = (F.linear(x, w).view(2, 8, 4, 4).transpose(1, 2) for w in attention.W_QKV.chunk(3))
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2)
        fused = float((ours - z @ attention.W_ZO).abs().max())
    with torch.device("meta"):
        gpt2 = Transformer(
            ModelConfig(d_vocab=50257, n_ctx=1024, n_layers=12, n_heads=12, d_model=768, biases="all", tied=True)
        )
    size = parameter_count(gpt2)
    return [
        Check(metric="own attention", oracle="nn.MultiheadAttention", expected=0.0, measured=error, tolerance=1e-6),
        Check(metric="own attention", oracle="torch's fused kernel", expected=0, measured=fused, tolerance=1e-6),
        Check(metric="parameters", oracle="GPT-2 small", expected=124_439_808, measured=size, tolerance=0),
    ]
