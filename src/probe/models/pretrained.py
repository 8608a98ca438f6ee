"""A local Hugging Face model behind TransformerLens's bridge: same hooks, same names as ours. Nothing is fetched.

The bridge would put a beginning-of-sentence token in front by default; here it never does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from probe.errors import NotThere, ProbeError


def open_pretrained(folder: Path) -> Any:
    """Open a folder that `save_pretrained` wrote, with its tokenizer, as a TransformerBridge on the CPU.

    Raises:
        NotThere: no such folder, or no config.json in it.
        ProbeError: the folder holds pickled weights, or a model that the bridge does not know.
    """
    if not (folder / "config.json").is_file():
        raise NotThere(f"{folder} is no local Hugging Face model (it has no config.json)")
    if not list(folder.glob("*.safetensors")):
        raise ProbeError(
            f"{folder} has no .safetensors weights, and pickled ones are never opened; convert them once with "
            "transformers: model.save_pretrained(folder, safe_serialization=True)"
        )
    from transformer_lens.model_bridge import TransformerBridge

    try:
        bridge = TransformerBridge.boot_transformers(str(folder), device="cpu")
    except Exception as error:  # whatever the library finds wrong with a foreign folder
        raise ProbeError(f"{folder}: the bridge can't open this model ({type(error).__name__}: {error})") from None
    bridge.eval()
    return bridge


@torch.no_grad()
def continuation_scores(bridge: Any, prompt: str, continuations: Sequence[str]) -> list[float]:
    """Log-probability of each continuation after a prompt, in nats, summed over its tokens."""
    tokenizer, scores = bridge.tokenizer, []
    before = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    for continuation in continuations:
        ids = tokenizer(f"{prompt} {continuation}", add_special_tokens=False)["input_ids"]
        differ = (i for i, (a, b) in enumerate(zip(before, ids, strict=False)) if a != b)
        shared = next(differ, min(len(before), len(ids)))
        if shared == 0 or shared == len(ids):
            raise ProbeError(f"the tokenizer can't tell {continuation!r} from the prompt before it")
        logits = bridge(torch.tensor([ids]), return_type="logits", prepend_bos=False)[0].log_softmax(-1)
        scores.append(float(sum(logits[i - 1, ids[i]] for i in range(shared, len(ids)))))
    return scores
