"""Every sentence of a task and its minimal pair: TaskSpec -> list[Example].

A cloze task is enumerated, all of it; a sequence task is sampled from a passed generator. Randomness comes from
`random.Random.random` alone, the one method whose sequence Python guarantees across versions, so that a seed gives the
same bytes on any machine.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from probe.errors import ProbeError
from probe.tasks.spec import Cloze, TaskSpec, TokenSequence

Item = TypeVar("Item")


@dataclass(frozen=True, kw_only=True)
class Example:
    """One sentence whose word at `positions["answer"]` can be told from the words before it.

    >>> example = Example(
    ...     tokens=("ann", "saw", "bob", "wave", ":", "bob"), candidates=("ann", "bob"), answer="bob",
    ...     distractor="ann", positions={"x": 0, "y": 2, "answer": 5}, pair_id="p", group="ann|bob", split="train")
    >>> " ".join(example.prompt)
    'ann saw bob wave :'
    """

    tokens: tuple[str, ...]
    candidates: tuple[str, str]
    """The two words in question, in the order in which they stand in the sentence."""
    answer: str
    distractor: str
    positions: Mapping[str, int]
    """Role -> index into `tokens`. `answer` is where the answer stands; a model names it at the position before."""
    pair_id: str
    """The two sentences of a minimal pair share it."""
    group: str
    """What must stay together in a resample: the unordered pair of nouns."""
    split: str = ""

    @property
    def text(self) -> str:
        """The whole sentence."""
        return " ".join(self.tokens)

    @property
    def prompt(self) -> tuple[str, ...]:
        """What may be seen before the answer has to be named."""
        return self.tokens[: self.positions["answer"]]

    def as_dict(self) -> dict[str, Any]:
        """The example as a JSON object, the form of one line in a data file."""
        return {
            "text": self.text,
            "tokens": list(self.tokens),
            "candidates": list(self.candidates),
            "answer": self.answer,
            "distractor": self.distractor,
            "positions": dict(self.positions),
            "pair_id": self.pair_id,
            "group": self.group,
            "split": self.split,
        }


def alone(name: str) -> bool:
    """Whether a `pair_id` or `group` is the number of one sequence: it has no partner, and counts in its data set only.

    >>> alone("sequence-7"), alone("ann>bob#0"), alone("period-7")
    (True, False, False)
    """
    return re.fullmatch(r"sequence-\d+", name) is not None


def shuffled(items: Sequence[Item], generator: random.Random) -> list[Item]:
    """Return the items in random order, the same in every version of Python for the same generator state."""
    keys = [generator.random() for _ in items]
    return [items[i] for i in sorted(range(len(items)), key=keys.__getitem__)]


def generate_sentences(spec: TaskSpec, generator: random.Random) -> list[Example]:
    """Make every sentence of a cloze task, or draw the sentences of a sequence task; splits are not assigned yet."""
    if isinstance(spec.question, TokenSequence):
        return _sequences(spec.question, int(spec.split.train + spec.split.validation + spec.split.held_out), generator)
    return _cloze(spec, spec.question, generator)


def vocabulary_words(spec: TaskSpec) -> tuple[str, ...]:
    """Every word the task can use: the template in reading order, then the lexicon."""
    if isinstance(spec.question, TokenSequence):
        return tuple(f"t{i}" for i in range(spec.question.words))
    template = (token for token in spec.question.template if not token.startswith("{"))
    return tuple(dict.fromkeys(itertools.chain(template, *spec.lexicon.values())))


def _cloze(spec: TaskSpec, cloze: Cloze, generator: random.Random) -> list[Example]:
    list_of = {word: name for name, words in spec.lexicon.items() for word in words}
    rank = {word: i for i, word in enumerate(list_of)}
    free = [slot for slot in cloze.slot_order if slot not in (cloze.decided_by, "answer")]
    deciding = [word for name in cloze.slots[cloze.decided_by] for word in spec.lexicon[name]]
    fillers = [[word for name in cloze.slots[slot] for word in spec.lexicon[name]] for slot in free]
    first, second = cloze.candidate_slots
    examples: list[Example] = []
    for words in itertools.product(*fillers):
        frame = dict(zip(free, words, strict=True))
        x, y = frame[first], frame[second]
        if x == y or (cloze.order == "lexicon" and rank[x] > rank[y]):
            continue
        if cloze.prior and (list_of[x] == cloze.prior.lexicon) == (list_of[y] == cloze.prior.lexicon):
            continue
        frames = [_fill(cloze, frame | {cloze.decided_by: word}, list_of) for word in deciding]
        examples += _paired(frame, [e for e in frames if _goes(cloze, e, list_of)])
    if cloze.prior:
        examples = _thinned(examples, cloze.prior.share, set(spec.lexicon[cloze.prior.lexicon]), generator)
    if not examples:
        raise ProbeError(f"task file {spec.file}: no sentence is left; loosen pairs or goes_with")
    return examples


def _fill(cloze: Cloze, words: dict[str, str], list_of: Mapping[str, str]) -> Example:
    """Put one word into each slot; pair_id and group are not set yet."""
    answer_slot = cloze.answers[list_of[words[cloze.decided_by]]]
    first, second = cloze.candidate_slots
    words = words | {"answer": words[answer_slot]}
    tokens = tuple(words[token[1:-1]] if token.startswith("{") else token for token in cloze.template)
    positions = {token[1:-1]: i for i, token in enumerate(cloze.template) if token.startswith("{")}
    positions |= {role: cloze.template.index(word) for role, word in cloze.roles.items()}
    return Example(
        tokens=tokens,
        candidates=(words[first], words[second]),
        answer=words["answer"],
        distractor=words[second if answer_slot == first else first],
        positions=dict(sorted(positions.items(), key=lambda item: item[1])),
        pair_id="",
        group="|".join(sorted((words[first], words[second]))),
    )


def _goes(cloze: Cloze, example: Example, list_of: Mapping[str, str]) -> bool:
    """Whether `goes_with` allows the sentence: the answer belongs to the deciding word, the distractor does not."""
    word = example.tokens[example.positions[cloze.decided_by]]
    partners = cloze.goes_with.get(word, cloze.goes_with.get(list_of[word]))
    return partners is None or (example.answer in partners and example.distractor not in partners)


def _paired(frame: Mapping[str, str], examples: list[Example]) -> list[Example]:
    """Pair the i-th sentence of one frame whose answer is x with the i-th whose answer is y."""
    name = ">".join(frame.values())
    count = {0: 0, 1: 0}
    paired = []
    for example in examples:
        side = int(example.answer == example.candidates[1])
        paired.append(replace(example, pair_id=f"{name}#{count[side]}"))
        count[side] += 1
    return paired


def _thinned(examples: list[Example], share: float, favoured: set[str], generator: random.Random) -> list[Example]:
    """Drop sentences until each favoured word is the answer in `share` of those it stands in, as near as counts go."""
    kept: set[int] = set()
    for word in sorted(favoured):
        of_word = [i for i, e in enumerate(examples) if word in e.candidates]
        wins = [i for i in of_word if examples[i].answer == word]
        losses = [i for i in of_word if examples[i].answer != word]
        kept |= set(wins) | set(shuffled(losses, generator)[: round(len(wins) * (1 - share) / share)])
    return [examples[i] for i in sorted(kept)]


def _sequences(rule: TokenSequence, count: int, generator: random.Random) -> list[Example]:
    """Draw `count` distinct sequences."""
    words = [f"t{i}" for i in range(rule.words)]
    draw = _repeat if rule.rule == "repeat" else _triple
    seen: set[tuple[str, ...]] = set()
    examples: list[Example] = []
    for attempt in range(20 * count):
        if len(examples) == count:
            return examples
        example = draw(rule, words, generator, attempt)
        if example.tokens not in seen:
            seen.add(example.tokens)
            examples.append(replace(example, pair_id=f"sequence-{len(examples)}"))
    raise ProbeError(
        f"only {len(examples)} distinct sequences found, {count} asked for; use more words or fewer sequences"
    )


def _repeat(rule: TokenSequence, words: list[str], generator: random.Random, _: int) -> Example:
    """One sequence whose second copy is cut where the last token has a rival: another word of the period."""
    low, high = rule.periods
    period = low + int(generator.random() * (high - low + 1))
    copy = shuffled(words, generator)[:period]
    tokens = tuple(copy[i % period] for i in range(rule.length))
    answer = rule.length - 1
    unfinished = [word for i, word in enumerate(copy) if i >= answer % period and word != tokens[answer]]
    distractor = shuffled(unfinished or [word for word in copy if word != tokens[answer]], generator)[0]
    positions = {"source": answer - period, "query": answer - 1, "answer": answer}
    return _sequence_example(tokens, distractor, positions, f"period-{period}")


def _triple(rule: TokenSequence, words: list[str], generator: random.Random, number: int) -> Example:
    names = shuffled(words, generator)[: 2 * rule.length // 3]
    tokens = tuple(itertools.chain(*((a, b, a) for a, b in zip(names[::2], names[1::2], strict=True))))
    answer = rule.length - 1
    # a word that the prompt holds once, as the answer: the last, or half of the time one mentioned before the answer
    earlier = names[1:-2:2]
    before = earlier and generator.random() < 0.5
    distractor = earlier[int(generator.random() * len(earlier))] if before else names[-1]
    positions = {"source": answer - 2, "query": answer - 1, "answer": answer}
    return _sequence_example(tokens, distractor, positions, f"sequence-{number}")


def _sequence_example(tokens: tuple[str, ...], distractor: str, positions: dict[str, int], group: str) -> Example:
    answer = tokens[positions["answer"]]
    first, second = sorted((answer, distractor), key=tokens.index)
    return Example(
        tokens=tokens,
        candidates=(first, second),
        answer=answer,
        distractor=distractor,
        positions=positions,
        pair_id="",
        group=group,
    )
