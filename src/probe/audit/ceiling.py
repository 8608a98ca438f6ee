"""The exact order-blind ceiling, no model: what the best table bag -> answer can reach on these very rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass

from probe.audit.groups import bag
from probe.audit.material import Material


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """Σ over bags of the largest answer count, divided by all rows (pooled over splits).

    For pairs a row is one sentence with the answer right or wrong; otherwise the answer is a candidate or a class.
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

        Where bags hardly repeat the count alone can't tell; `best`, what a trained order-blind auditor reaches on
        words it was not trained on, can.
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
    table: dict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    last: dict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    equal = 0
    for i in range(len(material)):
        if material.kind == "pair":
            bags = [bag(option) for option in material.options[i]]
            equal += len(set(bags)) == 1
            for k, option in enumerate(material.options[i]):
                table[bags[k]][k == material.answers[i]] += 1
                last[(bags[k], option[-1:])][k == material.answers[i]] += 1
            continue
        prompt = material.prompts[i]
        if material.kind == "cloze":
            key, answer = (bag(prompt), frozenset(material.options[i])), material.options[i][material.answers[i]]
        else:
            key, answer = bag(prompt), int(material.answers[i])
        table[key][answer] += 1
        last[(key, prompt[-1:])][answer] += 1
    rows = sum(counts.total() for counts in table.values())
    return Ceiling(
        accuracy=sum(max(counts.values()) for counts in table.values()) / rows,
        with_last=sum(max(counts.values()) for counts in last.values()) / rows,
        bags=len(table),
        rows=rows,
        repeated=sum(counts.total() for counts in table.values() if counts.total() > 1) / rows,
        equal_bags=equal / len(material) if material.kind == "pair" else 0.0,
    )
