"""What a model says next: probability and logit of every word after each sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from probe.activations import HookedModel, cached
from probe.models.transformer import Transformer
from probe.result import AnalysisResult, Provenance


def prediction(
    model: Transformer | HookedModel,
    sentences: Sequence[Sequence[str]],
    ids: Sequence[np.ndarray],
    words: Sequence[str],
    queries: Sequence[int],
    provenance: Provenance,
) -> AnalysisResult:
    """Read the next-word distribution at one position of each sentence.

    Args:
        model: ours, or any hooked model.
        sentences: the words, for `details`.
        ids: the word ids of each sentence.
        words: the vocabulary, id by id.
        queries: the position in each sentence whose next word is predicted.
        provenance: of the run.

    Returns:
        A table with a row for each `sentence, query, word` and `metric` `logit` or `probability`, most probable first.
    """
    frames = []
    for number, (row, query) in enumerate(zip(ids, queries, strict=True)):
        logits, _ = cached(model, torch.from_numpy(row)[None], [])
        at = logits[0, query]
        order = at.argsort(descending=True, stable=True).tolist()
        for metric, values in (("logit", at), ("probability", at.softmax(-1))):
            columns = {"sentence": number, "query": query, "word": [words[i] for i in order], "metric": metric}
            frames.append(pd.DataFrame({**columns, "value": values[order].cpu().numpy()}))
    return AnalysisResult(
        name="prediction",
        table=pd.concat(frames, ignore_index=True),
        unit="logits (logit), probability",
        maximum=1.0,
        floor=f"every word alike: probability 1 / {len(words)}",
        convention="the word that follows position `query`",
        provenance=provenance,
        details={"sentences": [list(sentence) for sentence in sentences]},
    )
