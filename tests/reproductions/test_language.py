"""The language-model loop: parts of a batch are the batch, perplexity counts every token once."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from torch import Generator

from probe.models.config import make_config
from probe.models.transformer import Transformer
from probe.reproductions import language
from probe.reproductions.claims import Settings
from probe.reproductions.language import (
    LanguageTraining,
    fit,
    floating_operations,
    perplexity,
    started,
    text_of,
    windows,
)

TINY = {"d_vocab": 11, "n_ctx": 8, "d_model": 8, "n_heads": 2}
TRAINING = LanguageTraining(steps=5, batch=6, window=8, lr=1e-2)
TOKENS = torch.randint(11, (300,), generator=Generator().manual_seed(3))


def trained(training: LanguageTraining = TRAINING) -> tuple[Transformer, list[float]]:
    model = started(make_config("one-block", **TINY), Generator().manual_seed(0))
    losses: list[float] = []
    fit(model, windows(TOKENS, training, seed=1), training, lambda step, loss: losses.append(loss))
    return model, losses


def test_the_parts_of_a_batch_are_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, losses = trained()
    monkeypatch.setattr(language, "PART", 18)  # two windows of nine tokens
    parts, other = trained()
    assert losses == pytest.approx(other, abs=1e-5)
    for a, b in zip(whole.parameters(), parts.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-4)


def test_the_same_seed_gives_the_same_bytes() -> None:
    a, b = trained()[0], trained()[0]
    assert all(torch.equal(x, y) for x, y in zip(a.parameters(), b.parameters(), strict=True))


def test_dropout_is_drawn_from_its_own_generator_and_only_where_it_is_configured() -> None:
    def losses(share: float, seed: int) -> list[float]:
        config = make_config("two-block", **TINY, residual_dropout=share, embedding_dropout=share)
        found: list[float] = []
        model = started(config, Generator().manual_seed(0))
        draw = windows(TOKENS, TRAINING, seed=1)
        fit(model, draw, TRAINING, lambda step, loss: found.append(loss), Generator().manual_seed(seed))
        return found

    assert losses(0.0, 2) == losses(0.0, 3)
    assert losses(0.5, 2) == losses(0.5, 2)
    assert losses(0.5, 2) != losses(0.5, 3)
    assert losses(0.5, 2)[0] != losses(0.0, 2)[0]


def test_training_learns_and_a_warm_up_begins_slowly() -> None:
    long = LanguageTraining(steps=150, batch=6, window=8, lr=1e-2)
    _, losses = trained(long)
    assert losses[-1] < losses[0] - 0.1
    slow = LanguageTraining(steps=5, batch=6, window=8, lr=1e-2, warmup=10**6)
    model, _ = trained(slow)
    first = started(make_config("one-block", **TINY), Generator().manual_seed(0))
    for a, b in zip(first.parameters(), model.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_perplexity_of_a_model_that_knows_nothing_is_the_vocabulary() -> None:
    model = started(make_config("two-block", **TINY), Generator().manual_seed(0))
    assert model._W_U is not None
    torch.nn.init.zeros_(model._W_U)
    assert perplexity(model, TOKENS, window=8) == pytest.approx(11, abs=1e-4)
    assert perplexity(model, TOKENS, window=8, most=40) == pytest.approx(11, abs=1e-4)


def test_perplexity_predicts_each_token_once() -> None:
    """Of a model without context, by hand: exp of the mean loss over all tokens but the first and a broken window."""
    model = started(make_config("no-context", **TINY), Generator().manual_seed(0))
    logs = model(torch.arange(11)[:, None])[:, 0].log_softmax(-1).detach()
    known = [float(logs[a, b]) for a, b in zip(TOKENS[:296].tolist(), TOKENS[1:297].tolist(), strict=True)]
    expected = math.exp(-sum(known) / len(known))
    assert perplexity(model, TOKENS[:298], window=8) == pytest.approx(expected, rel=1e-5)


@torch.no_grad()
def test_weights_begin_as_torchs_modules_do() -> None:
    config = make_config("one-block", d_vocab=400, n_ctx=100, d_model=64)
    model = started(config, Generator().manual_seed(0))
    assert float(model.W_E.std()) == pytest.approx(1, abs=0.03)
    linear = torch.nn.Linear(256, 64)
    out = model.blocks[0].mlp.W_out
    assert float(out.std()) == pytest.approx(float(linear.weight.std()), rel=0.05)
    assert float(out.abs().max()) <= 256**-0.5


def test_operations_of_a_known_model() -> None:
    config = make_config("no-context", d_vocab=1024, n_ctx=128, d_model=128)
    assert floating_operations(config, 128) == 6 * 128 * 1024
    block = make_config("one-block", d_vocab=1024, n_ctx=128, d_model=128)
    assert floating_operations(block, 128) == 6 * (12 * 128**2 + 128 * 1024 + 128 * 128)


def test_text_is_cut_once(text: Path) -> None:
    both = text_of(text)
    share = len(both.held_out) / (len(both.train) + len(both.held_out))
    assert share == pytest.approx(0.1, abs=1e-3)
    assert both is text_of(text)


def test_a_row_says_all_there_is_to_say(text: Path) -> None:
    settings = Settings(quick=True, corpus=text)
    config = make_config("one-block", d_vocab=1024, n_ctx=32, d_model=16)
    _, found = language.measured(config, language.QUICK, settings, 0, lambda said: None)
    assert 1 < found["held_out"] < 5000
    assert 0 < found["share_of_peak"] < 1
    assert found["losses"][-1][0] == language.QUICK.steps
