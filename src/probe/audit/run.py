"""All auditors on one reading -> one result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from probe.audit import verdict as verdicts
from probe.audit.ceiling import Ceiling, ceiling
from probe.audit.choice import Answers
from probe.audit.groups import (
    Fold,
    Groups,
    describe,
    find_groups,
    grouped_folds,
    random_folds,
    shipped_fold,
)
from probe.audit.leaks import Leak, find_leaks
from probe.audit.leaks import judge as judge_leaks
from probe.audit.material import Material, Tokenizer, characters, material, normalised, raw, unspaced
from probe.audit.order_bits import OrderBits, order_bits
from probe.audit.retention import AnswerFunction, Certificate, Retention, shuffle_retention
from probe.audit.single import TokenScore, z_scores
from probe.audit.statistics import Clusters, Interval, cluster_bootstraps, holm, permutation_p
from probe.audit.table import AUDITORS, Auditor, without_slots
from probe.errors import ProbeError
from probe.tasks.readers import Question, Reading, pooled
from probe.tasks.readers.questions import with_split

UNGROUPED = ("bag-of-words", "bag-of-pairs")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One auditor under one tokenisation, in grouped folds, with its verdict."""

    auditor: str
    what: str
    counts: bool
    """Whether it enters the verdict."""
    tokens: str
    n: int
    clusters: int
    accuracy: float
    low: float
    high: float
    chance: float
    p: float
    """Permutation p above chance, not corrected."""
    p_holm: float
    """Holm-corrected over the auditors of this tokenisation that count (over the others for these)."""
    bits: float
    """Bits an answer that it saves, log₂ k − cross-entropy out of fold; below 0 where it is confidently wrong."""
    pair_accuracy: float | None
    """Share of pairs (or of other twins) of which every question is answered right."""
    shipped: float | None
    """Accuracy on the test side as the file is split."""
    ungrouped: float | None
    """Accuracy in folds that tear twins apart; only the trained bags."""
    verdict: str
    reason: str
    weights: tuple[tuple[str, float], ...]
    examples: tuple[str, ...]
    """The five questions that it answers most clearly and right."""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """What an audit found; everything a report shows."""

    reading: Reading
    verdict: str
    by: tuple[str, ...]
    """Auditors that cheat, the best and narrowest first; or what leaks."""
    headline: str
    margin: float
    chance: float
    groups: str
    clusters: int
    ceiling: Ceiling
    ceiling_verdict: tuple[str, str]
    findings: tuple[Finding, ...]
    leaks: tuple[Leak, ...]
    order: OrderBits | None
    tokens: tuple[TokenScore, ...]
    notes: tuple[str, ...]
    seconds: float
    retention: Retention | None = None
    """What a model kept under shuffles, where one was asked."""
    certificate: Certificate | None = None

    @property
    def cheatable(self) -> bool:
        """Whether an order-blind auditor answers it."""
        return any(f.verdict == verdicts.CHEATABLE for f in self.findings if f.counts and f.tokens != "raw")

    @property
    def leaked(self) -> bool:
        """Whether train tells test, in either direction."""
        return any(leak.leaked for leak in self.leaks) or any(
            f.verdict == verdicts.LEAKED for f in self.findings if f.counts and f.tokens != "raw"
        )

    def finding(self, auditor: str, tokens: str | None = None) -> Finding | None:
        """One auditor's finding, under the tokenisation that counts unless another is named."""
        return next(
            (f for f in self.findings if f.auditor == auditor and (tokens or self.findings[0].tokens) == f.tokens), None
        )

    def as_dict(self) -> dict[str, Any]:
        """A JSON object; the questions themselves are not in it."""
        reading = {
            k: v for k, v in asdict(replace(self.reading, questions=())).items() if k not in ("questions", "classes")
        }
        return _plain(
            {
                "schema": 1,
                "source": self.reading.source,
                "verdict": self.verdict,
                "by": self.by,
                "cheatable": self.cheatable,
                "leaked": self.leaked,
                "headline": self.headline,
                "margin": self.margin,
                "chance": self.chance,
                "questions": len(self.reading.questions),
                "clusters": self.clusters,
                "groups": self.groups,
                "reading": reading,
                "ceiling": asdict(self.ceiling) | dict(zip(("verdict", "reason"), self.ceiling_verdict, strict=True)),
                "auditors": [asdict(f) for f in self.findings],
                "leaks": [asdict(leak) for leak in self.leaks],
                "order_bits": asdict(self.order) if self.order else None,
                "tokens": [asdict(token) for token in self.tokens],
                "retention": asdict(self.retention) if self.retention else None,
                "certificate": asdict(self.certificate) if self.certificate else None,
                "notes": self.notes,
                "seconds": self.seconds,
            }
        )


def _plain(value: Any) -> Any:
    """JSON has no NaN: null; floats to six digits."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return round(float(value), 6) if np.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value


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
        ProbeError: a margin that is none, or readings that ask different things.
    """
    if not 0 < margin < 0.5:
        raise ProbeError(f"--margin {margin}: a share above chance, between 0 and 0.5")
    start = time.perf_counter()
    notes: list[str] = []
    whole = reading
    if against is not None:
        whole = _joined(reading, against)
    materials = _materials(whole, tokens, tokenizer, notes)
    first = materials[0]
    groups = find_groups(first)
    shipped = shipped_fold(first)
    target = (
        np.array([q.split != "train" for q in whole.questions]) if against is not None else np.ones(len(first), bool)
    )
    clusters = Clusters(index=groups.index, seed=seed)
    findings: list[Finding] = []
    for current in materials:
        findings += _findings(current, groups, clusters, shipped, target, margin, seed, progress, full=current is first)
    progress("ceiling")
    exact = ceiling(first)
    best = max((f.accuracy for f in findings if f.counts and f.tokens == first.tokens), default=first.chance)
    leaks: list[Leak] = []
    if shipped:
        progress("leaks")
        leaks = judge_leaks(
            find_leaks(first, groups, *shipped[0]),
            chance=first.chance,
            margin=margin,
            best=best,
            declared_split=reading.declared_split,
        )
    progress("order in bits")
    result = AuditResult(
        reading=reading,
        verdict="",
        by=(),
        headline="",
        margin=margin,
        chance=first.chance,
        groups=describe(groups, len(first)),
        clusters=groups.count,
        ceiling=exact,
        ceiling_verdict=exact.verdict(first.chance, margin, best),
        findings=tuple(findings),
        leaks=tuple(leaks),
        order=order_bits(first, groups),
        tokens=tuple(z_scores(first)),
        notes=tuple(notes),
        seconds=0.0,
    )
    if model is not None:
        if reading.kind != "cloze":
            raise ProbeError(f"{reading.source}: a model answers cloze questions; these are {reading.kind} questions")
        progress("shuffles")
        asked = materials[-1] if materials[-1].tokens == "raw" else material(whole, "raw", raw)
        retention, certificate = shuffle_retention(asked, model, clusters, shuffles=shuffles, seed=seed)
        result = replace(result, retention=retention, certificate=certificate)
    return replace(_concluded(result, first.tokens), seconds=time.perf_counter() - start)


def _joined(reading: Reading, against: Reading) -> Reading:
    if against.kind != reading.kind:
        raise ProbeError(
            f"{against.source} holds {against.kind} questions, {reading.source} {reading.kind} questions; they can't be compared"
        )
    train = replace(against, questions=with_split(against.questions, "train"))
    test = replace(reading, questions=with_split(reading.questions, "held_out"))
    return replace(pooled([train, test]), source=reading.source, declared_split="")


def _materials(reading: Reading, tokens: str, tokenizer: Tokenizer | None, notes: list[str]) -> list[Material]:
    if tokenizer is not None:
        return [material(reading, "tokenizer", tokenizer)]
    if tokens == "char" or (tokens == "both" and unspaced(reading)):
        if tokens == "both":
            notes.append("the script puts no blanks between words: one character is one token")
        return [material(reading, "char", characters)]
    choices = {"normalised": normalised, "raw": raw}
    if tokens in choices:
        return [material(reading, tokens, choices[tokens])]
    if tokens != "both":
        raise ProbeError(f"--tokens {tokens}: choose from both, normalised, raw, char")
    first, second = (material(reading, name, cut) for name, cut in choices.items())
    if first.prompts == second.prompts and first.options == second.options:
        notes.append("raw and normalised tokens are the same")
        return [first]
    return [first, second]


def _findings(
    current: Material,
    groups: Groups,
    clusters: Clusters,
    shipped: list[Fold],
    target: np.ndarray,
    margin: float,
    seed: int,
    progress: Callable[[str], None],
    *,
    full: bool,
) -> list[Finding]:
    folds = grouped_folds(groups.index, seed=seed)
    auditors = [a for a in AUDITORS if current.kind in a.kinds]
    if full:
        auditors += without_slots(current)
    tried: list[tuple[Auditor, Answers]] = []
    for auditor in auditors:
        if auditor.name == "option-index" and current.index_is_order:
            continue
        progress(f"{auditor.name} ({current.tokens})")
        answers = auditor.answer(current, folds)
        credit = np.where(target, answers.credit, np.nan)
        if not np.isnan(credit).all():
            tried.append((auditor, replace(answers, credit=credit)))
    chance = current.chance
    pairs = permutation_p([np.nan_to_num(a.credit - chance) for _, a in tried], clusters)
    corrected: dict[int, tuple[float, float]] = {}
    for blind in (True, False):
        own = [j for j, (auditor, _) in enumerate(tried) if auditor.counts == blind]
        above, below = holm([pairs[j][0] for j in own]), holm([pairs[j][1] for j in own])
        corrected |= {j: (above[k], below[k]) for k, j in enumerate(own)}
    credits = [answers.credit for _, answers in tried]
    intervals = cluster_bootstraps(credits, clusters, coins=[_broken(current, credit) for credit in credits])
    return [
        _finding(
            current,
            auditor,
            answers,
            intervals[j],
            pairs[j][0],
            corrected[j],
            groups,
            shipped,
            margin,
            seed,
            len(tried),
            full,
        )
        for j, (auditor, answers) in enumerate(tried)
    ]


def _finding(
    current: Material,
    auditor: Auditor,
    answers: Answers,
    interval: Interval,
    p: float,
    corrected: tuple[float, float],
    groups: Groups,
    shipped: list[Fold],
    margin: float,
    seed: int,
    comparisons: int,
    full: bool,
) -> Finding:
    scored = ~np.isnan(answers.credit)
    own_clusters = len(np.unique(groups.index[scored]))
    judgement = verdicts.judge(
        interval,
        chance=current.chance,
        margin=margin,
        p_above=corrected[0],
        p_below=corrected[1],
        clusters=own_clusters,
        comparisons=comparisons,
        below_is_leak=current.kind != "label",
    )
    torn = full and auditor.name in UNGROUPED and groups.count < len(current)
    options = [len(current.classes) if current.kind == "label" else len(o) for o in current.options]
    uniform = np.log2(np.array(options))[scored]
    cost = -np.log2(np.clip(answers.probability[scored], 1e-6, 1.0))
    return Finding(
        auditor=auditor.name,
        what=auditor.what,
        counts=auditor.counts,
        tokens=current.tokens,
        n=int(scored.sum()),
        clusters=own_clusters,
        accuracy=interval.mean,
        low=interval.low,
        high=interval.high,
        chance=current.chance,
        p=p,
        p_holm=corrected[0],
        bits=float(np.mean(uniform - cost)),
        pair_accuracy=_pair_accuracy(current, answers, groups),
        shipped=_mean(auditor.answer(current, shipped).credit) if shipped and full else None,
        ungrouped=_mean(auditor.answer(current, random_folds(len(current), seed=seed)).credit) if torn else None,
        verdict=judgement.verdict,
        reason=judgement.reason,
        weights=answers.weights,
        examples=_examples(current, answers),
        note=answers.note,
    )


def _broken(current: Material, credit: np.ndarray) -> np.ndarray:
    """The credit with ties broken by each question's coin; NaN stays."""
    tie = (credit > 0) & (credit < 1)
    guess = current.coins if current.two_way else (current.coins < np.nan_to_num(credit)).astype(float)
    return np.where(tie, guess, credit)


def _mean(credit: np.ndarray) -> float | None:
    return None if np.isnan(credit).all() else float(np.nanmean(credit))


def _pair_accuracy(current: Material, answers: Answers, groups: Groups) -> float | None:
    """All questions of a pair right; a pair of sentences is one question already."""
    if current.kind == "pair":
        return float(np.nanmean(answers.credit == 1.0))
    ids = [q.pair_id for q in current.questions]
    keys = ids if any(ids) else [str(g) for g in groups.index]
    worst: dict[str, list[float]] = {}
    for key, credit in zip(keys, answers.credit, strict=True):
        if key and not np.isnan(credit):
            worst.setdefault(key, []).append(float(credit))
    twins = [min(credits) == 1.0 for credits in worst.values() if len(credits) > 1]
    return float(np.mean(twins)) if twins else None


def _examples(current: Material, answers: Answers, n: int = 5) -> tuple[str, ...]:
    """The right answers given most clearly, no text twice."""
    margin = np.where(answers.credit == 1.0, answers.margin, -np.inf)
    shown: dict[str, None] = {}
    for i in np.argsort(-np.nan_to_num(margin, nan=-np.inf), kind="stable")[: 4 * n]:
        if np.isfinite(margin[i]) and margin[i] > 0 and len(shown) < n:
            shown[_shown(current.questions[i], current.classes)] = None
    return tuple(shown)


def _shown(question: Question, classes: tuple[str, ...]) -> str:
    if classes:
        return f"{question.prompt} → {classes[question.answer]}"
    if not question.prompt:
        return f"{question.right} (not: {question.options[1 - question.answer]})"
    others = ", ".join(o for k, o in enumerate(question.options) if k != question.answer)
    return f"{question.prompt} → {question.right} (not {others})"


def _concluded(result: AuditResult, tokens: str) -> AuditResult:
    """The overall verdict, from the order-blind auditors under the tokenisation that counts, and from the leaks."""
    blind = [f for f in result.findings if f.counts and f.tokens == tokens]
    cheats = [f for f in blind if f.verdict == verdicts.CHEATABLE]
    below = [f for f in blind if f.verdict == verdicts.LEAKED]
    leaks = [leak for leak in result.leaks if leak.leaked]
    notes = list(result.notes)
    notes += [leak.reason for leak in result.leaks if leak.reason and not leak.leaked]
    if cheats:
        top = max(f.accuracy for f in cheats)
        head = [f for f in cheats if f.accuracy >= top - result.margin]
        rest = sorted((f for f in cheats if f not in head), key=lambda f: -f.accuracy)
        by = tuple(f.auditor for f in (*head, *rest))
        verdict, best = verdicts.CHEATABLE, head[0]
        headline = f"cheatable by {best.auditor}: {best.accuracy:.2f} [{best.low:.2f}, {best.high:.2f}], chance {best.chance:.2f}"
        if leaks or below:
            headline += "; and leaked: " + (
                leaks[0].reason if leaks else f"{below[0].auditor} is far below chance ({below[0].accuracy:.2f})"
            )
    elif leaks or below:
        verdict = verdicts.LEAKED
        by = (*(leak.relation for leak in leaks), *(f.auditor for f in below))
        headline = "leaked: " + (
            leaks[0].reason
            if leaks
            else f"{below[0].auditor} is far below chance, {below[0].accuracy:.2f} [{below[0].low:.2f}, {below[0].high:.2f}]"
        )
    elif not blind:
        verdict, by = verdicts.UNDERPOWERED, ()
        headline = f"underpowered: all {len(result.reading.questions)} questions are related, so none can be held out"
    elif weak := [f for f in blind if f.verdict == verdicts.UNDERPOWERED]:
        verdict, by = verdicts.UNDERPOWERED, tuple(f.auditor for f in weak)
        headline = f"underpowered: n = {len(result.reading.questions)}, {weak[0].reason}"
    else:
        verdict, by = verdicts.CLEAN, ()
        highest = max((f.high for f in blind), default=result.chance)
        headline = f"clean: no cheat tried can be above {result.chance + result.margin:.2f} (highest upper bound {highest:.3f})"
    for f in result.findings:
        other = result.finding(f.auditor, "raw")
        if (
            f.tokens == tokens != "raw"
            and f.counts
            and other
            and other.accuracy > f.accuracy + result.margin
            and other.verdict == verdicts.CHEATABLE
        ):
            notes.append(
                f"raw tokens let {f.auditor} reach {other.accuracy:.2f} (normalised {f.accuracy:.2f}): a glued full stop or a capital tells a place"
            )
        if f.ungrouped is not None and f.tokens == tokens and f.ungrouped > f.high + result.margin:
            notes.append(
                f"a random split of this file would leak: {f.auditor} reaches {f.ungrouped:.2f} with twins torn apart, {f.accuracy:.2f} with twins together"
            )
    aware = [f for f in result.findings if not f.counts and f.tokens == tokens and f.verdict == verdicts.CHEATABLE]
    if aware:
        best = max(aware, key=lambda f: f.accuracy)
        notes.append(
            f"of order, {best.auditor} ({best.what}) suffices for {best.accuracy:.2f}: needing order is not needing binding"
        )
    return replace(result, verdict=verdict, by=by, headline=headline, notes=tuple(notes))
