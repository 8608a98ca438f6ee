"""The variables that a cloze task declares: pairs of sentences that swap one, and labels that a probe looks for."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from probe.errors import ProbeError
from probe.tasks.dataset import Dataset
from probe.tasks.examples import Example, shuffled
from probe.tasks.spec import Cloze

if TYPE_CHECKING:
    from probe.analyses.probes import Sentences, Target
    from probe.swaps import Swap

PAIRS = 120
"""Pairs of base and source for each variable."""


def declared(dataset: Dataset) -> Cloze:
    """The question of a task that declares variables: two candidates, and a word that decides between them."""
    if not isinstance(dataset.spec.question, Cloze):
        raise ProbeError(f"{dataset.name} declares no variables to look for; use a cloze task, as winograd-hard")
    return dataset.spec.question


def variables_of(dataset: Dataset) -> dict[str, tuple[str, Sequence[str]]]:
    """Variable -> the slot that gives it its value, and its values: words, or the slots that a role can pick."""
    cloze, lexicon = declared(dataset), dataset.spec.lexicon
    first, second = cloze.candidate_slots

    def words(*slots: str) -> list[str]:
        return list(dict.fromkeys(word for slot in slots for name in cloze.slots[slot] for word in lexicon[name]))

    return {
        "first noun": (first, words(first)),
        "second noun": (second, words(second)),
        f"{cloze.decided_by}'s role": (cloze.decided_by, [first, second]),
        "answer": ("answer", words(first, second)),
    }


def _speaks_of_first(example: Example) -> bool:
    return example.answer == example.candidates[0]


def swaps_of(dataset: Dataset, examples: Sequence[Example], n: int = PAIRS, seed: int = 0) -> list[Swap]:
    """Pairs for each variable of a cloze task: first noun, second noun, role of the deciding word, and the answer.

    Base and source have four distinct nouns and different roles. For a noun, the base is a sentence whose answer it is,
    so that swapping it alone must make the answer the source's noun in its place; for the role the answer must become
    the base's other noun; for the answer itself, the source's. So the prediction is never the base's own answer and,
    but for the last, never the source's.

    Args:
        dataset: the task.
        examples: the sentences to pair, such as `dataset.held_out`.
        n: pairs for each variable.
        seed: of the drawing.

    Raises:
        ProbeError: the task declares no variables, or no such pairs are found.
    """
    from probe.swaps import Swap

    predictions: list[Callable[[Example, Example], str | None]] = [
        lambda base, source: source.candidates[0] if _speaks_of_first(base) else None,
        lambda base, source: None if _speaks_of_first(base) else source.candidates[1],
        lambda base, source: base.distractor,
        lambda base, source: source.answer,
    ]
    vocabulary, swaps = dataset.vocabulary, []
    for (variable, (slot, values)), predict in zip(variables_of(dataset).items(), predictions, strict=True):
        generator = random.Random(f"{variable} {seed}")
        pairs: list[tuple[Example, Example, str]] = []
        for _ in range(100 * n):
            base, source = (examples[int(generator.random() * len(examples))] for _ in range(2))
            predicted = predict(base, source)
            distinct = len({*base.candidates, *source.candidates}) == 4
            if distinct and predicted and _speaks_of_first(base) != _speaks_of_first(source):
                pairs.append((base, source, predicted))
            if len(pairs) == n:
                break
        else:
            raise ProbeError(f"{dataset.name}: too few pairs of sentences in which only the {variable} could be told")
        bases, sources, wanted = zip(*pairs, strict=True)
        tensors = {
            "base": vocabulary.batch_of([base.prompt for base in bases]),
            "source": vocabulary.batch_of([source.prompt for source in sources]),
            "answer": vocabulary.encode([base.answer for base in bases]),
            "source_answer": vocabulary.encode([source.answer for source in sources]),
            "predicted": vocabulary.encode(wanted),
            "keys": vocabulary.encode([source.tokens[source.positions[slot]] for source in sources]),
        }
        swaps.append(
            Swap(
                variable=variable,
                groups=[base.group for base in bases],
                roles=_roles(examples[0]),
                n_values=len(values),
                **_as_tensors(tensors),
            )
        )
    return swaps


def _roles(example: Example) -> dict[int, str]:
    """Position of the prompt -> its slot or role, or else its word; the last is where the answer is named."""
    answer = example.positions["answer"]
    named = {position: role for role, position in example.positions.items() if position < answer}
    return dict(enumerate(example.prompt)) | named | {answer - 1: "answer's place"}


def _as_tensors(arrays: dict[str, Any]) -> dict[str, Any]:
    import torch

    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def targets_of(dataset: Dataset, seed: int = 0) -> tuple[Sentences, list[Target]]:
    """The variables of a cloze task as labels of its training and held-out sentences, and their control tasks.

    The control of the role deals roles to the deciding words by lot, half of those of either role each; that of the
    answer is the answer under these roles; there is none where either role has one word. Splits: by the nouns, but for
    the one that is the label, of which half are drawn by lot; and by the deciding word, in the halves of the control.
    """
    import torch

    from probe.analyses.probes import Sentences, Target

    cloze, vocabulary = declared(dataset), dataset.vocabulary
    examples = [*dataset.train, *dataset.held_out]
    generator = random.Random(f"probes {seed}")
    dealt = _dealt_roles(dataset, generator)
    nouns = variables_of(dataset)["answer"][1]
    half = set(shuffled(nouns, generator)[: len(nouns) // 2])
    where = examples[0].positions
    both = [example.candidates for example in examples]
    by_lot = [dealt[example.tokens[where[cloze.decided_by]]] for example in examples]
    both_dealt = len({(_speaks_of_first(example), role) for example, role in zip(examples, by_lot, strict=True)}) == 4
    swaps = swaps_of(dataset, dataset.held_out, seed=seed)
    targets = []

    def rows(chosen: Sequence[bool]) -> Any:
        return torch.tensor(chosen).nonzero().flatten()

    for swap, (variable, (slot, values)) in zip(swaps, variables_of(dataset).items(), strict=True):
        is_role, is_answer = slot == cloze.decided_by, slot == "answer"
        index = {value: number for number, value in enumerate(values)}
        if is_role:
            words = [values[int(not _speaks_of_first(example))] for example in examples]
            control = [values[role] for role in by_lot]
        else:
            words = [example.tokens[where[slot]] for example in examples]
            control = [pair[role] for pair, role in zip(both, by_lot, strict=True)]
        context = [{*pair} - {word} for pair, word in zip(both, words, strict=True)]
        splits = {"other nouns": ([c <= half for c in context], [not c & half for c in context])}
        decided = (is_role or is_answer) and both_dealt
        if decided:
            splits[f"other {cloze.decided_by}s"] = ([not role for role in by_lot], [bool(role) for role in by_lot])
        targets.append(
            Target(
                name=variable,
                labels=torch.tensor([index[word] for word in words]),
                n_labels=len(values),
                since=max(where[s] for s in (*cloze.candidate_slots, cloze.decided_by)) if is_answer else where[slot],
                control=torch.tensor([index[word] for word in control]) if decided else None,
                splits={
                    name: (rows(some), rows(others))
                    for name, (some, others) in splits.items()
                    if any(some) and any(others)
                },
                swap=swap,
            )
        )
    sentences = Sentences(
        tokens=torch.from_numpy(vocabulary.batch_of([example.prompt for example in examples])),
        n_train=len(dataset.train),
        groups=[example.group for example in examples],
        roles=_roles(examples[0]),
    )
    return sentences, targets


def _dealt_roles(dataset: Dataset, generator: random.Random) -> dict[str, int]:
    """Deciding word -> 0 or 1 by lot, so that either true role has as many words of each: the two are independent."""
    cloze, dealt = declared(dataset), {}
    for slot in cloze.candidate_slots:
        lists = [name for name in cloze.slots[cloze.decided_by] if cloze.answers[name] == slot]
        words = shuffled([word for name in lists for word in dataset.spec.lexicon[name]], generator)
        dealt |= {word: number % 2 for number, word in enumerate(words)}
    return dealt
