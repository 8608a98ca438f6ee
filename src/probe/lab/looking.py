"""Maps: from typed sentences to attention and prediction, computed once and kept with the run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from probe import store
from probe.errors import ProbeError, nearest
from probe.files import digest
from probe.lab.data import run_dataset
from probe.lab.models import open_model, provenance
from probe.result import AnalysisResult
from probe.store import Run
from probe.tasks.dataset import Dataset, minimal_pairs

if TYPE_CHECKING:
    from probe.figures.view import AttentionView


@dataclass(frozen=True, kw_only=True)
class Question:
    """Sentences to look at, and where in each."""

    title: str
    sentences: tuple[tuple[str, ...], ...]
    queries: tuple[int, ...]
    """The position whose row is read out; its next word is predicted."""
    candidates: tuple[tuple[str, ...], ...]
    """The two words in question of each sentence; empty where it is none of the task's."""
    answers: tuple[str | None, ...]
    fitting: int = 0
    """Minimal pairs that begin like a sentence with dots; the first of them is looked at."""

    @property
    def key(self) -> str:
        """Names the result of this question in a run's folder."""
        return f"attn-{digest([list(map(list, self.sentences)), list(self.queries)])[:10]}"


def ask(run: Run, text: str, against: str | None = None, pair: bool = False, query: str | None = None) -> Question:
    """Turn typed sentences into a question, with the help of the run's task.

    Args:
        run: whose vocabulary and task count.
        text: a sentence or its beginning; ending in dots it stands for the first minimal pair that begins so.
        against: a second sentence to compare with.
        pair: compare with the other sentence of the minimal pair.
        query: a word or position; by default the one before the answer, or else the last.

    Returns:
        The sentences, and for each the position that is read out, the two words in question and the right one.

    Raises:
        ProbeError: a word that the run does not know, a beginning that no minimal pair has, `pair` for a sentence that
            has no partner, a `query` that names no one position, or a run whose words are not its task's.
    """
    from probe.tasks import completion

    dataset = run_dataset(run)
    words = run.vocabulary
    if words != dataset.vocabulary:
        raise ProbeError(f"{run.path}/vocabulary.json: these are not the words of {dataset.name} that the run learned")
    chosen: list[tuple[tuple[str, ...], Any]] = []
    fitting = 0
    for sentence in [text] if against is None else [text, against]:
        if completion.is_open(sentence):
            both, matches = completion.complete(sentence, dataset)
            fitting = max(fitting, matches)
            kept = both if against is None else both[:1]
            chosen += [(example.prompt, example) for example in kept]
        else:
            tokens = completion.words_of(sentence, words)
            chosen.append((tokens, completion.find_prompt(tokens, dataset)))
    if pair and len(chosen) == 1:
        tokens, example = chosen[0]
        if example is None:
            raise ProbeError(
                f"--pair: {' '.join(tokens)!r} is no prompt of {dataset.name}; end it in ... or use --against"
            )
        other = completion.partner(example, dataset)
        chosen.append((other.tokens[: len(tokens)], other))
    queries = []
    for tokens, example in chosen:
        if query is not None:
            queries.append(_position(query, tokens))
        else:
            queries.append(len(tokens) - 1 if example is None else example.positions["answer"] - 1)
    return Question(
        title=" ".join(text.split()),
        sentences=tuple(tokens for tokens, _ in chosen),
        queries=tuple(queries),
        candidates=tuple(() if example is None else example.candidates for _, example in chosen),
        answers=tuple(
            None if example is None or at != example.positions["answer"] - 1 else example.answer
            for (_, example), at in zip(chosen, queries, strict=True)
        ),
    )


def _position(query: str, tokens: Sequence[str]) -> int:
    """The position that `--query` names, by number or by a word that stands once."""
    if re.fullmatch(r"-?[0-9]+", query) and query not in tokens:
        position = int(query)
        if not -len(tokens) <= position < len(tokens):
            raise ProbeError(f"--query {query}: the sentence has positions 0 … {len(tokens) - 1}")
        return position % len(tokens)
    places = [i for i, token in enumerate(tokens) if token == query]
    if len(places) == 1:
        return places[0]
    if places:
        raise ProbeError(f"--query {query}: stands at positions {', '.join(map(str, places))}; give a number")
    raise ProbeError(f"--query {query}: no such word in the sentence; {nearest(query, tokens)}")


def attention_of(run: Run, question: Question) -> tuple[AnalysisResult, AnalysisResult]:
    """Attention and prediction for a question: read from the run's folder, or computed and kept there.

    What is there already is shown without importing torch.

    Returns:
        Attention: rows `sentence, layer, head, query, key, metric, value`, a share of attention (`weight`) or logits
        before the softmax (`score`). Prediction: rows `sentence, query, word, metric, value`, a `logit` or a
        `probability`, most probable first.

    Raises:
        NotThere: the run is not finished.
        ProbeError: the model has no attention, or a word of the question is not among the run's.
    """
    keys = (f"{question.key}-attention", f"{question.key}-prediction")
    found = [store.load_result(run, key) for key in keys]
    source = provenance(run)
    if found[0] is not None and found[1] is not None and found[0].provenance == found[1].provenance == source:
        return found[0], found[1]
    from probe.analyses.attention import attention
    from probe.analyses.prediction import prediction

    model, words = open_model(run), run.vocabulary
    ids = [words.encode(sentence) for sentence in question.sentences]
    results = (
        attention(model, question.sentences, ids, source),
        prediction(model, question.sentences, ids, words.words, question.queries, source),
    )
    for key, result in zip(keys, results, strict=True):
        store.save_result(run, key, result)
    return results


def shown_question(run: Run, dataset: Dataset) -> Question:
    """What a report looks at: the first minimal pair of held_out, which the model was not trained on."""
    pairs = minimal_pairs(dataset.held_out)
    if not pairs:
        return ask(run, " ".join(dataset.held_out[0].prompt))
    first, second = pairs[0]
    return ask(run, " ".join(first.prompt), against=" ".join(second.prompt))


def attention_along(run: Run, question: Question) -> AnalysisResult | None:
    """The attention of a question at every checkpoint of a run, with a column `step`; kept with the run."""
    key, source = f"{question.key}-along", provenance(run)
    steps = store.checkpoint_steps(run)
    found = store.load_result(run, key)
    if found is not None and found.provenance == source:
        return found
    if not steps:
        return None
    import pandas as pd

    from probe.analyses.attention import attention

    ids = [run.vocabulary.encode(sentence) for sentence in question.sentences]
    looked = {step: attention(open_model(run, step), question.sentences, ids, source) for step in steps}
    frames = [r.table[r.table["metric"] == "weight"].assign(step=step) for step, r in looked.items()]
    last = looked[steps[-1]]
    result = AnalysisResult(**{**vars(last), "name": "attention-along", "table": pd.concat(frames, ignore_index=True)})
    store.save_result(run, key, result)
    return result


def look(
    run: Run,
    text: str,
    against: str | None = None,
    pair: bool = False,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
) -> AttentionView:
    """Where a run's heads look in a sentence, or in two: `ask`, `attention_of` and `attention_view` in one call.

    Args:
        run: the run; its folder keeps what is computed.
        text: a sentence or its beginning, as for `ask`.
        against: a second sentence to compare with.
        pair: compare with the other sentence of the minimal pair.
        layers: which to show, counted from 0; all by default.
        heads: which to show of these layers; all by default, none for the mean of each block alone.

    Returns:
        The view, which a notebook draws; `attention_svg` makes a file of it. Its weights are shares of attention.

    Raises:
        NotThere: the run is not finished.
        ProbeError: what `ask` refuses; a model without attention; a layer or head that it does not have.
    """
    from probe.figures.view import attention_view

    question = ask(run, text, against, pair)
    attention, prediction = attention_of(run, question)
    for what, chosen in (("layers", layers), ("heads", heads)):
        count = attention.details[f"n_{what}"]
        for number in chosen or ():
            if not 0 <= number < count:
                raise ProbeError(f"{what}: there is no {number}; the model has {what} 0 … {count - 1}")
    return attention_view(
        question.title,
        attention,
        prediction,
        question.queries,
        question.candidates,
        question.answers,
        layers,
        heads,
    )
