"""How often a model is right, with intervals that count noun pairs rather than sentences.

Sentences of one noun pair are no independent evidence: whole pairs are drawn. Where
every answer is right, Wilson's interval over the pairs stands in, because a resample of equal values knows no doubt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from probe.intervals import cluster_interval, wilson
from probe.models.transformer import Transformer
from probe.result import AnalysisResult, Provenance
from probe.tasks.vocabulary import Batch

RATES = ("referent accuracy", "wrong noun", "pair accuracy")


def accuracy(models: Mapping[str, Transformer], sides: Mapping[str, Batch], provenance: Provenance) -> AnalysisResult:
    """Score models on the sides of a data set.

    Args:
        models: condition (`trained`, `untrained`) -> model.
        sides: name of a split -> its sentences.
        provenance: of the run.

    Returns:
        A row for each `split, condition, metric` with `value`, `low`, `high`, `n` and `groups`, the noun pairs.
    """
    rows: list[dict[str, Any]] = []
    for split, batch in sides.items():
        for condition, model in models.items():
            for metric, values in zip(RATES, rates(model, batch), strict=True):
                about = {"split": split, "condition": condition, "metric": metric, "n": len(batch)}
                rows.append({**about, **with_interval(values, batch.groups)})
    d_vocab = next(iter(models.values())).config.d_vocab
    return AnalysisResult(
        name="accuracy",
        table=pd.DataFrame(rows),
        unit="share of sentences",
        maximum=1.0,
        floor=f"1 / {d_vocab} over all words, 1/2 for who knows the two nouns",
        convention="arg-max over the whole vocabulary (pair accuracy: over the two nouns); a tie of k earns 1/k; 95 % "
        "cluster bootstrap over unordered noun pairs",
        provenance=provenance,
    )


def rates(model: Transformer, batch: Batch) -> list[np.ndarray]:
    """Per sentence: is the answer, is the wrong noun, is the answer of the two the arg-max; each [example]."""
    at = batch.positions["answer"]
    logits = np.empty((len(batch), model.config.d_vocab), dtype=np.float64)
    with torch.no_grad():
        for position in np.unique(at):
            rows = np.flatnonzero(at == position)
            logits[rows] = model.next_word_logits(torch.from_numpy(batch.tokens[rows, :position])).numpy()
    each = np.arange(len(batch))
    best = logits == logits.max(-1, keepdims=True)
    share = best / best.sum(-1, keepdims=True)
    difference = logits[each, batch.answer] - logits[each, batch.distractor]
    return [share[each, batch.answer], share[each, batch.distractor], (np.sign(difference) + 1) / 2]


def with_interval(values: np.ndarray, groups: Sequence[str]) -> dict[str, Any]:
    """Mean, interval and number of groups of one value a sentence."""
    mean, n = float(values.mean()), len(set(groups))
    low, high = wilson(mean, n) if mean in (0.0, 1.0) else cluster_interval(values.tolist(), groups)
    return {"value": mean, "low": low, "high": high, "groups": n}
