"""All auditors on one reading -> one result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from probe.audit.ceiling import ceiling
from probe.audit.conclude import conclude
from probe.audit.declared import SEES_A_PLACE, declared, undeclared
from probe.audit.groups import describe, find_groups, shipped_fold
from probe.audit.leaks import Leak, find_leaks
from probe.audit.leaks import judge as judge_leaks
from probe.audit.material import Material, Tokenizer, characters, material, normalised, raw, unspaced
from probe.audit.order_bits import order_bits
from probe.audit.result import AuditResult
from probe.audit.retention import AnswerFunction, shuffle_retention
from probe.audit.single import z_scores
from probe.audit.statistics import Clusters
from probe.audit.trial import Setting, try_all
from probe.errors import ProbeError, check_seed
from probe.tasks.readers import Reading, pooled
from probe.tasks.readers.questions import with_split


def audit(
    reading: Reading,
    *,
    margin: float = 0.05,
    against: Reading | None = None,
    tokens: str = "both",
    tokenizer: Tokenizer | None = None,
    seed: int = 0,
    model: AnswerFunction | None = None,
    shuffles: int = 5,
    progress: Callable[[str], None] = lambda _: None,
) -> AuditResult:
    """Try to answer a data set without the order of its words.

    Args:
        reading: the questions.
        margin: how far above chance an auditor may be shown to stay below for `clean`; declared, not chosen afterwards.
        against: a training set; leaks between the two are looked for, and trained auditors also train on it.
        tokens: `both` (words normalised, and as they stand), `normalised`, `raw`, or `char`.
        tokenizer: text -> tokens, in place of the above.
        seed: of folds, resamples and permutations.
        model: prompts -> answers of a model, for cloze questions: how much of its accuracy survives a shuffle.
        shuffles: how many shuffles of each prompt the model is asked.
        progress: told the name of each auditor as it starts.

    Raises:
        ProbeError: a margin, a seed or a number of shuffles that is none, readings that ask different things, or
            questions that a model can't be asked.
    """
    if not 0 < margin < 0.5:
        raise ProbeError(f"--margin {margin}: a share above chance, between 0 and 0.5")
    if shuffles < 1:
        raise ProbeError(f"--shuffles {shuffles}: must be 1 or more")
    check_seed(seed)
    if model is not None and reading.kind != "cloze":
        raise ProbeError(f"{reading.source}: a model answers cloze questions; these are {reading.kind} questions")
    start = time.perf_counter()
    notes: list[str] = []
    whole = reading if against is None else _joined(reading, against)
    target = np.array([against is None or question.split != "train" for question in whole.questions])

    def cut(name: str, tokenizer: Tokenizer) -> Material:
        return material(whole, name, tokenizer, target)

    materials = _materials(whole, tokens, tokenizer, cut, notes)
    first = materials[0]
    groups = find_groups(first)
    shipped = shipped_fold(first)
    setting = Setting(
        groups=groups,
        clusters=Clusters(index=groups.index, seed=seed),
        shipped=shipped,
        margin=margin,
        seed=seed,
        progress=progress,
    )
    findings = [f for current in materials for f in try_all(current, setting, full=current is first)]
    progress("ceiling")
    asked, among = first.only_asked(), groups.among(target)
    exact = ceiling(asked)
    deciding = [f for f in findings if f.counts and f.tokens == first.tokens]
    best = max((f.accuracy for f in deciding), default=first.chance)
    by_bag = max((f.accuracy for f in deciding if f.auditor not in SEES_A_PLACE), default=first.chance)
    leaks: list[Leak] = []
    if shipped:
        progress("leaks")
        leaks = judge_leaks(
            find_leaks(first, groups, *shipped[0], files=whole.files),
            chance=first.chance,
            margin=margin,
            best=best,
            declared_split=whole.declared_split,
        )
    progress("order in bits")
    result = AuditResult(
        reading=reading,
        verdict="",
        by=(),
        headline="",
        margin=margin,
        chance=first.chance,
        groups=describe(among, len(asked)) + _trained_on(first, against),
        clusters=among.count,
        ceiling=exact,
        ceiling_verdict=exact.verdict(first.chance, margin, by_bag),
        findings=tuple(findings),
        leaks=tuple(leaks),
        order=order_bits(asked, among),
        tokens=tuple(z_scores(asked)),
        notes=tuple(notes),
        seconds=0.0,
    )
    if model is not None:
        progress("shuffles")
        words = materials[-1] if materials[-1].tokens == "raw" else cut("raw", raw)
        clusters = Clusters(index=among.index, seed=seed)
        retention, certificate = shuffle_retention(words.only_asked(), model, clusters, shuffles=shuffles, seed=seed)
        result = replace(result, retention=retention, certificate=certificate)
    result = conclude(result)
    if against is None:
        result = replace(result, declared=declared(result), undeclared=undeclared(result))
    return replace(result, seconds=time.perf_counter() - start)


def _joined(reading: Reading, against: Reading) -> Reading:
    if against.kind != reading.kind:
        raise ProbeError(
            f"{against.source} holds {against.kind} questions, {reading.source} {reading.kind} questions; "
            "they can't be compared"
        )
    train = replace(against, questions=with_split(against.questions, "train"))
    test = replace(reading, questions=with_split(reading.questions, "held_out"))
    return replace(pooled([train, test]), source=reading.source, declared_split="")


def _trained_on(whole: Material, against: Reading | None) -> str:
    """What the line on groups says of the training set."""
    return f"; {(~whole.asked).sum()} more, of {against.source}, are only trained on" if against else ""


def _materials(
    reading: Reading,
    tokens: str,
    tokenizer: Tokenizer | None,
    cut: Callable[[str, Tokenizer], Material],
    notes: list[str],
) -> list[Material]:
    if tokenizer is not None:
        return [cut("tokenizer", tokenizer)]
    if tokens == "char" or (tokens == "both" and unspaced(reading)):
        if tokens == "both":
            notes.append("the script puts no blanks between words: one character is one token")
        return [cut("char", characters)]
    choices = {"normalised": normalised, "raw": raw}
    if tokens in choices:
        return [cut(tokens, choices[tokens])]
    if tokens != "both":
        raise ProbeError(f"--tokens {tokens}: choose from both, normalised, raw, char")
    first, second = (cut(name, tokenizer) for name, tokenizer in choices.items())
    if first.prompts == second.prompts and first.options == second.options:
        notes.append("raw and normalised tokens are the same")
        return [first]
    return [first, second]
