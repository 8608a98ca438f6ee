"""What models keep of their accuracy under a shuffle: a trained run, an order-blind run, a local Hugging Face model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from probe.cli import run as probe


def audited(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert probe(["audit", "winograd-hard", "--max-questions", "400", "--quiet", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)["audits"][0]


def test_a_model_that_reads_order_loses_its_accuracy(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = json.dumps(audited(capsys, "--run", "winograd-hard", "--runs", str(runs), "--shuffles", "2"))
    retention = json.loads(text)["retention"]
    assert retention["intact"]["mean"] > 0.99
    assert retention["shuffled"]["mean"] < 0.75


def test_a_local_hugging_face_model_is_asked_without_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tiny GPT-2 with random weights and a tokenizer made here: near chance, and every prompt is scored."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    from probe.tasks.examples import vocabulary_words
    from probe.tasks.spec import load_task

    words = ["<unk>", *vocabulary_words(load_task("winograd-hard"))]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    folder = tmp_path / "tiny"
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", eos_token="<unk>").save_pretrained(folder)
    config = GPT2Config(vocab_size=len(words), n_positions=32, n_embd=16, n_layer=1, n_head=2)
    GPT2LMHeadModel(config).save_pretrained(folder)
    capsys.readouterr()
    retention = audited(capsys, "--model", str(folder), "--shuffles", "1")["retention"]
    assert 0.2 < retention["intact"]["mean"] < 0.8


def test_models_that_are_not_there_or_pickled_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert probe(["audit", "winograd-hard", "--model", str(tmp_path)]) == 3
    assert "no config.json" in capsys.readouterr().err
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    assert probe(["audit", "winograd-hard", "--model", str(tmp_path)]) == 2
    assert "pickled ones are never opened" in capsys.readouterr().err
    assert probe(["audit", "winograd-hard", "--run", "x", "--model", "y"]) == 2
    assert probe(["audit", "winograd-hard", "--run", "nothing", "--runs", str(tmp_path)]) == 3
