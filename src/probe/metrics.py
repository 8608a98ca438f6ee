"""Whether the model is right: logit difference, accuracies in which a tie earns its share, losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True, kw_only=True)
class Score:
    """How a model did on a set of cloze sentences. All three rates are means over sentences in [0, 1]."""

    referent_accuracy: float
    """The answer has the largest logit of the whole vocabulary. Chance 1 / d_vocab, or 1/2 for who knows the pair."""
    distractor_rate: float
    """The other candidate has."""
    pair_accuracy: float
    """The answer's logit is above the distractor's. Chance 1/2."""
    ties: int
    """Sentences in which the largest logit, or the pair's, is shared; each earned 1/k."""
    n: int

    def as_dict(self) -> dict[str, Any]:
        """All fields, rates rounded to six digits."""
        return {key: round(value, 6) if isinstance(value, float) else value for key, value in asdict(self).items()}


def logit_difference(
    logits: Float[Tensor, "... example d_vocab"], answer: Int[Tensor, " example"], distractor: Int[Tensor, " example"]
) -> Float[Tensor, "... example"]:
    """Logit of the answer minus logit of the distractor, in logits; positive where the model prefers the answer."""
    rows = torch.arange(len(answer), device=logits.device)
    return logits[..., rows, answer] - logits[..., rows, distractor]


def score(
    logits: Float[Tensor, "example d_vocab"], answer: Int[Tensor, " example"], distractor: Int[Tensor, " example"]
) -> Score:
    """Score logits at the position that has to name the answer. A tie of k words earns 1/k.

    Three words, two sentences; the second one is a tie of all three:

    >>> logits = torch.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    >>> score(logits, answer=torch.tensor([0, 0]), distractor=torch.tensor([1, 1])).as_dict()
    {'referent_accuracy': 0.666667, 'distractor_rate': 0.166667, 'pair_accuracy': 0.75, 'ties': 1, 'n': 2}
    """
    best = logits == logits.max(-1, keepdim=True).values
    share = best / best.sum(-1, keepdim=True)
    rows = torch.arange(len(logits), device=logits.device)
    difference = logit_difference(logits, answer, distractor)
    tied = (best.sum(-1) > 1) | (difference == 0)
    return Score(
        referent_accuracy=float(share[rows, answer].mean()),
        distractor_rate=float(share[rows, distractor].mean()),
        pair_accuracy=float(((difference > 0) + 0.5 * (difference == 0)).mean()),
        ties=int(tied.sum()),
        n=len(logits),
    )


def next_token_loss(
    logits: Float[Tensor, "batch predicted d_vocab"], tokens: Int[Tensor, "batch pos"]
) -> Float[Tensor, ""]:
    """Mean cross-entropy of each token given those before it, in nats. `logits` may stop one position early."""
    pos = tokens.shape[1] - 1
    return F.cross_entropy(logits[:, :pos].flatten(0, 1), tokens[:, 1:].flatten())


@torch.no_grad()
def score_model(
    answer_logits: Callable[[Int[Tensor, "example pos"]], Float[Tensor, "example d_vocab"]],
    tokens: Int[Tensor, "example pos"],
    answer_position: Int[Tensor, " example"],
    answer: Int[Tensor, " example"],
    distractor: Int[Tensor, " example"],
) -> Score:
    """Score sentences in groups that have the answer at one place: each prompt is cut there, so nothing is leaked."""
    logits = torch.empty(0)
    for position in answer_position.unique().tolist():
        rows = answer_position == position
        part = answer_logits(tokens[rows, :position])
        if not len(logits):
            logits = part.new_empty(len(tokens), part.shape[-1])
        logits[rows] = part
    return score(logits, answer, distractor)
