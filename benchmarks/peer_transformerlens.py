"""The peer: the hard task trained with TransformerLens's own native model, by the plain loop that its user would write.

AdamW, batches of 64, held-out check every 50 steps, stop at the first 100 %. Sentences and model are those of
winograd-hard and `--blocks 2`. One JSON line a seed; `import_s` and `wall_s` are seconds.

    python benchmarks/peer_transformerlens.py SEEDS [LR] [D_MODEL]
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import time
from typing import Any

BEGAN = time.perf_counter()  # the import is part of what a user waits for
import torch  # noqa: E402
import transformer_lens.model_bridge.sources.native  # noqa: E402, F401  attaches boot_native
from transformer_lens.config import TransformerBridgeConfig  # noqa: E402
from transformer_lens.model_bridge import TransformerBridge  # noqa: E402

IMPORT = time.perf_counter() - BEGAN

NOUNS = "animal street dog cat river road child bridge horse field car truck boat wall path man".split()
CROSSER, CROSSED = "tired scared slow weak".split(), "wet wide busy steep".split()
WORDS = "the did not cross because it was too , so waited .".split()
VOCABULARY = {word: i for i, word in enumerate(WORDS + NOUNS + CROSSER + CROSSED)}
ANSWER = 15


def sentence(x: str, y: str, adjective: str) -> list[int]:
    """One sentence, as word numbers."""
    answer = x if adjective in CROSSER else y
    text = f"the {x} did not cross the {y} because it was too {adjective} , so the {answer} waited ."
    return [VOCABULARY[word] for word in text.split()]


def sentences(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """train, and held-out pairs whose reverse is in train."""
    rng = random.Random(seed)
    pairs = list(itertools.combinations(NOUNS, 2))
    rng.shuffle(pairs)
    train, held_out = [], []
    for i, pair in enumerate(pairs):
        x, y = pair[::-1] if rng.random() < 0.5 else pair
        train.append((y, x))
        (held_out if i < len(pairs) / 4 else train).append((x, y))
    both = ([sentence(x, y, a) for x, y in some for a in CROSSER + CROSSED] for some in (train, held_out))
    first, second = (torch.tensor(some) for some in both)
    return first, second


def train(seed: int, lr: float, d_model: int, most: int = 3000) -> dict[str, object]:
    """Train one seed to 100 %, or to the last step."""
    tokens, held_out = sentences(seed)
    torch.manual_seed(seed)
    config = TransformerBridgeConfig(
        d_model=d_model, n_layers=2, n_heads=4, d_head=d_model // 4, d_mlp=4 * d_model, n_ctx=18,
        d_vocab=len(VOCABULARY), act_fn="gelu", normalization_type="LN", seed=seed,
    )  # fmt: skip
    bridge: Any = TransformerBridge  # which the import of `native` gave a method that no type checker sees
    model = bridge.boot_native(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    generator = torch.Generator().manual_seed(seed)
    began, accuracy, step = time.perf_counter(), 0.0, 0
    for step in range(1, most + 1):
        batch = tokens[torch.randint(len(tokens), (64,), generator=generator)]
        loss = model(batch, return_type="loss")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            with torch.no_grad():
                said = model(held_out[:, :-1], return_type="logits")[:, ANSWER - 1].argmax(-1)
            accuracy = float((said == held_out[:, ANSWER]).float().mean())
            if accuracy == 1.0:
                break
    reached = step if accuracy == 1.0 else None
    times = {"wall_s": round(time.perf_counter() - began, 2), "import_s": round(IMPORT, 2)}
    return {"peer": "transformer-lens", "seed": seed, "steps_to_100": reached, "last": accuracy, **times}


if __name__ == "__main__":
    count, rate, width = (*sys.argv[1:], *("1", "0.001", "64")[len(sys.argv) - 1 :])
    for number in range(int(count)):
        print(json.dumps(train(number, float(rate), int(width))), flush=True)
