"""All auditors, in the order in which a verdict names them: the narrowest explanation first.

A cheat is one file and one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from probe.audit import bags, company, fluency, local_order, single
from probe.audit import partial as parts
from probe.audit.choice import Answers, FeatureMap, choose
from probe.audit.groups import Fold
from probe.audit.material import Material


@dataclass(frozen=True, kw_only=True)
class Auditor:
    """One way to answer without reading as one should."""

    name: str
    what: str
    features: FeatureMap | None = None
    """For the auditors that learn weights of features."""
    other: Callable[[Material, Sequence[Fold]], Answers] | None = None
    """For those that answer in another way."""
    kinds: tuple[str, ...] = ("pair", "cloze", "label")
    counts: bool = True
    """Whether it counts in the verdict: order-blind, or a fixed place. The others say how little order suffices."""

    def answer(self, material: Material, folds: Sequence[Fold]) -> Answers:
        """Learn on the train side of each fold, answer the test side."""
        if self.features is not None:
            return choose(material, folds, self.features)
        assert self.other is not None, self.name
        return self.other(material, folds)


CLOZE = ("cloze",)
AUDITORS = (
    Auditor(
        name="option-index",
        what="the place of the option in the file's list",
        features=single.option_index,
        kinds=CLOZE,
    ),
    Auditor(
        name="candidate-position",
        what="which candidate is mentioned first, second or never",
        features=single.candidate_position,
        kinds=CLOZE,
    ),
    Auditor(
        name="counting",
        what="how often the prompt holds the candidate",
        features=single.counting,
        kinds=CLOZE,
    ),
    Auditor(name="copying", what="the label stands in the text", other=single.copying, kinds=("label",)),
    Auditor(
        name="prior",
        what="the candidates alone: some are the answer more often",
        features=single.prior,
        kinds=CLOZE,
    ),
    Auditor(
        name="frequency",
        what="how frequent the candidate's words are in the file",
        other=single.frequency,
        kinds=CLOZE,
    ),
    Auditor(name="length", what="tokens and characters", features=single.length),
    Auditor(name="single-token", what="the one token that tells most", other=single.best_token(bags.words)),
    Auditor(
        name="collocation",
        what="the candidate that keeps company with the other words, no label seen",
        other=company.collocation,
        kinds=CLOZE,
    ),
    Auditor(
        name="agreement",
        what="the deciding word's ending, on words never trained on",
        other=company.agreement,
        kinds=CLOZE,
    ),
    Auditor(
        name="fixed-order",
        what="a ranking of the names tells which stands first",
        other=company.fixed_order,
        kinds=CLOZE,
    ),
    Auditor(
        name="fluency",
        what="unigram language model, no label seen",
        other=fluency.unigram,
        kinds=("pair", "cloze"),
    ),
    Auditor(name="bag-of-words", what="logistic regression on unordered words", features=bags.words),
    Auditor(
        name="bag-of-pairs",
        what="logistic regression on unordered pairs of words",
        features=bags.pairs,
    ),
    # order-aware: not cheats, but how little order suffices
    Auditor(
        name="token-at-place",
        what="the one token at a place that tells most",
        other=single.best_token(single.placed_tokens),
        kinds=("pair", "label"),
        counts=False,
    ),
    Auditor(
        name="first-3",
        what="bag of the first three tokens",
        features=parts.window(3),
        kinds=("pair", "label"),
        counts=False,
    ),
    Auditor(
        name="last-1",
        what="the last token",
        features=parts.window(-1),
        kinds=("pair", "label"),
        counts=False,
    ),
    Auditor(name="last-3", what="bag of the last three tokens", features=parts.window(-3), counts=False),
    Auditor(
        name="bigram-fluency",
        what="bigram language model, no label seen",
        other=fluency.bigram,
        kinds=("pair", "cloze"),
        counts=False,
    ),
    Auditor(name="n-grams", what="bigrams and trigrams", features=local_order.ngrams, counts=False),
    Auditor(
        name="places",
        what="tokens with their places",
        features=local_order.places,
        counts=False,
    ),
    Auditor(
        name="mention-and-word",
        what="order of mention with each word",
        features=local_order.mention_and_word,
        kinds=CLOZE,
        counts=False,
    ),
)


def without_slots(material: Material) -> list[Auditor]:
    """An auditor for each named slot: the bag of words with that word dropped."""
    return [
        Auditor(
            name=f"without-{slot}",
            what=f"bag of words without the {slot}",
            features=parts.without(slot),
            kinds=CLOZE,
        )
        for slot in parts.slots(material)
    ]
