"""The exact order-blind ceiling, no model: what the best table bag -> answer can reach on these very rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from probe.audit.groups import bag
from probe.audit.material import Material, Tokens

EQUAL = "equal"
"""The answer where both sentences look the same, so that none can be named."""


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """Σ over bags of the largest answer count, divided by all rows (pooled over splits).

    The answer is a candidate or a class. Of two sentences a reader sees two bags at once, in no order, and says which
    is right: a table of single sentences would be no bound (the shorter of "very good", "very very good" may always be
    right). Equal bags earn 1/2.
    """

    accuracy: float
    """A bag that stands once is always "solved", so near 1 this says nothing unless bags repeat."""
    with_last: float
    """The same for bag and last token."""
    bags: int
    rows: int
    repeated: float
    """Share of the rows whose bag stands in more than one row."""
    equal_bags: float
    """Pairs only: share of pairs whose two sentences have the same bag, so that only order tells them apart."""

    def verdict(self, chance: float, margin: float, best: float) -> tuple[str, str]:
        """`clean` is a proof here; `bag-sufficient` a property of the task, not always a defect.

        Where bags hardly repeat the count alone can't tell; `best`, what a trained auditor that sees no place reaches
        on words it was not trained on, can.
        """
        if self.accuracy <= chance + margin:
            return "clean", f"no order-blind answer can exceed {self.accuracy:.3f} on these rows: an exact count"
        if self.accuracy >= 0.99 and (self.repeated >= 0.5 or best >= 0.98):
            return "bag-sufficient", "the bag decides the answer; no defect where the task is not about order"
        if self.repeated < 0.5:
            return "open", f"only {self.repeated:.0%} of the rows share their bag with another: the count can't say"
        return (
            "open",
            f"an order-blind table could reach {self.accuracy:.3f}; the trained auditors say what is learnable",
        )


def ceiling(material: Material) -> Ceiling:
    """Count.

    >>> from probe.audit.material import material as make, normalised
    >>> from probe.tasks.readers.questions import Question, Reading
    >>> questions = (Question(options=("a b c", "c b a"), answer=0),)
    >>> reading = Reading(source="", format="", kind="pair", questions=questions, records=1, used=1, malformed=0,
    ...                   unlabelled=0, sampled_out=0)
    >>> ceiling(make(reading, "normalised", normalised)).accuracy
    0.5
    """
    rows = len(material)
    table, last = (_table(material, seen) for seen in (bag, _with_last))
    return Ceiling(
        accuracy=sum(_most(counts) for counts in table.values()) / rows,
        with_last=sum(_most(counts) for counts in last.values()) / rows,
        bags=len(table),
        rows=rows,
        repeated=sum(counts.total() for counts in table.values() if counts.total() > 1) / rows,
        equal_bags=sum(counts[EQUAL] for counts in table.values()) / rows,
    )


def _with_last(tokens: Tokens) -> Hashable:
    return bag(tokens), tokens[-1:]


def _table(material: Material, seen: Callable[[Tokens], Hashable]) -> dict[Hashable, Counter[Hashable]]:
    """What a reader sees of a question -> how often each answer was right."""
    table: dict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    for prompt, options, answer in zip(material.prompts, material.options, material.answers, strict=True):
        if material.kind == "pair":
            sides = [seen(option) for option in options]
            table[frozenset(sides)][EQUAL if sides[0] == sides[1] else sides[answer]] += 1
        elif material.kind == "cloze":
            table[seen(prompt), frozenset(options)][options[answer]] += 1
        else:
            table[seen(prompt)][int(answer)] += 1
    return table


def _most(counts: Counter[Hashable]) -> float:
    """How many of these rows the best answer gets right."""
    return counts[EQUAL] / 2 if EQUAL in counts else max(counts.values())
