"""Where the position that has to name the answer looks, over all held-out prompts: by role, and by filler.

The row of one sentence is an anecdote. Here it is the mean over the prompts of the data set's held-out side, with an
interval over noun pairs, and the untrained model beside it. A row says where a head looks, not what it does with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from torch import Tensor

from probe.activations import HookedModel, cached, shape_of
from probe.intervals import cluster_intervals
from probe.models.transformer import Transformer
from probe.result import AnalysisResult, Provenance

MEAN = -1
"""Stands for all heads of a layer in the column `head`."""
VARIES = -1
"""Stands in the column `position` for a role that has another position in every prompt."""
ELSEWHERE = "elsewhere"
"""The role of all positions that have no name."""


@dataclass(frozen=True, kw_only=True)
class Role:
    """One named place in every prompt."""

    name: str
    positions: Int[np.ndarray, " prompt"]

    @property
    def position(self) -> int:
        """Where it is, if that is the same in all prompts."""
        return int(self.positions[0]) if len(set(self.positions.tolist())) == 1 else VARIES


@dataclass(frozen=True, kw_only=True)
class Prompts:
    """Prompts of one length; the last position is the one that has to name the answer."""

    tokens: Int[Tensor, "prompt pos"]
    roles: Sequence[Role]
    groups: Sequence[str]
    """What is resampled together for intervals: the unordered noun pair."""
    fillers: Sequence[str] = ()
    """The word in the contrast's slot; none where the task has no contrast."""
    filler_groups: Mapping[str, str]
    """Filler -> the lexicon list it stands in."""


def answer_attention(model: Transformer | HookedModel, prompts: Prompts) -> Float[np.ndarray, "layer head prompt role"]:
    """Attention of the last position to each role, and to everything else as a last role."""
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(shape_of(model)[0])]
    _, seen = cached(model, prompts.tokens, names)
    row = np.stack([seen[name][:, :, -1].cpu().numpy() for name in names])  # layer prompt head key
    every = np.arange(len(prompts.tokens))
    named = np.stack([row[:, every, :, role.positions] for role in prompts.roles], -1)  # prompt layer head role
    rest = 1.0 - named.sum(-1, keepdims=True)
    return np.concatenate([named, rest], -1).transpose(1, 2, 0, 3)


def head_roles(
    models: Mapping[str, Transformer | HookedModel], prompts: Prompts, provenance: Provenance
) -> AnalysisResult:
    """Attention of the answer's place to each role: mean over prompts, for every head and model.

    Args:
        models: condition (`trained`, `untrained`) -> model.
        prompts: the held-out side.
        provenance: of the run.

    Returns:
        A row for each `condition, layer, head, role, position` with `value`, `low`, `high`.
    """
    rows = []
    for condition, model in models.items():
        weights = answer_attention(model, prompts)
        for layer, of_layer in enumerate(weights):
            for head, values in enumerate(of_layer):
                place = {"layer": layer, "head": head}
                rows += [
                    {**place, **cell, "condition": condition, "metric": "attention"} for cell in _cells(values, prompts)
                ]
    return _result("head-roles", rows, prompts, provenance)


def answer_rows(model: Transformer | HookedModel, prompts: Prompts, provenance: Provenance) -> AnalysisResult:
    """The same row for every filler of the contrast, by head and as the mean over a block's heads.

    Returns:
        A row for each `layer, head, filler, filler_group, role, position` with `value`, `low`, `high`; `head` is -1 for
        the mean over heads.
    """
    weights = answer_attention(model, prompts)
    rows = []
    for filler in dict.fromkeys(prompts.fillers):
        chosen = [i for i, word in enumerate(prompts.fillers) if word == filler]
        part = Prompts(
            tokens=prompts.tokens[chosen],
            roles=[Role(name=role.name, positions=role.positions[chosen]) for role in prompts.roles],
            groups=[prompts.groups[i] for i in chosen],
            filler_groups=prompts.filler_groups,
        )
        for layer, of_layer in enumerate(weights[:, :, chosen]):
            for head, values in enumerate([of_layer.mean(0), *of_layer], start=MEAN):
                place = {"layer": layer, "head": head, "filler": filler}
                place["filler_group"] = prompts.filler_groups[filler]
                rows += [{**place, **cell} for cell in _cells(values, part)]
    return _result("answer-rows", rows, prompts, provenance)


def _cells(values: Float[np.ndarray, "prompt role"], prompts: Prompts) -> list[dict[str, Any]]:
    """Mean and interval of each role; what is left over, where anything can be."""
    low, high = cluster_intervals(values.T, prompts.groups)
    places = [(role.name, role.position) for role in prompts.roles]
    if len(places) < prompts.tokens.shape[1]:
        places.append((ELSEWHERE, VARIES))
    return [
        {"role": name, "position": position, "value": float(values[:, i].mean())}
        | {"low": float(low[i]), "high": float(high[i])}
        for i, (name, position) in enumerate(places)
    ]


def _result(name: str, rows: list[dict[str, Any]], prompts: Prompts, provenance: Provenance) -> AnalysisResult:
    n, visible = prompts.tokens.shape
    return AnalysisResult(
        name=name,
        table=pd.DataFrame(rows),
        unit="share of attention",
        maximum=1.0,
        floor=f"uniform attention: 1 / {visible} = {1 / visible:.3f}",
        convention="row of the position before the answer; mean over held-out prompts; 95 % over noun pairs; "
        f"head {MEAN} is the mean over heads, position {VARIES} varies from prompt to prompt",
        provenance=provenance,
        details={"n": n, "visible": visible},
    )
