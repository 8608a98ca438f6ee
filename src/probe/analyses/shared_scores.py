"""A free check on two sentences: at layer 0, scores between words that both share cannot differ. No torch.

At layer 0 a query depends on its own word and index alone, so in two sentences that share them the scores on shared
keys are bit-equal. The *weights* need not be: a changed word's key competes in the softmax, and so a first-layer head
can be gated by a word it has not fetched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from probe.result import AnalysisResult


@dataclass(frozen=True, kw_only=True)
class SharedScores:
    """Layer 0 in two sentences of one length: what the changed words can and cannot have moved."""

    bit_equal: bool
    """Whether scores agree to the last bit wherever query and key share word and index. Must hold."""
    compared: int
    """Scores compared, over all heads."""
    largest_weight_change: float
    """Largest difference of *weight* among those same cells: how far the changed word's key competes."""


def shared_scores(result: AnalysisResult) -> SharedScores | None:
    """Compare layer 0 of sentences 0 and 1 on the words they share; None where nothing can be compared."""
    first, second = (np.array(words) for words in result.details["sentences"][:2])
    if len(first) != len(second):
        return None
    table = result.table.loc[result.table["layer"] == 0]
    same = np.flatnonzero(first == second).tolist()
    table = table.loc[table["query"].isin(same) & table["key"].isin(same)]
    wide = table.pivot(index=["metric", "head", "query", "key"], columns="sentence", values="value")
    if "score" not in wide.index.get_level_values("metric"):
        return None
    score, weight = wide.loc["score"], wide.loc["weight"]
    return SharedScores(
        bit_equal=bool((score[0] == score[1]).all()),
        compared=len(score),
        largest_weight_change=float((weight[0] - weight[1]).abs().max()),
    )
