"""Several audits, one process a file; what `probe audit` does between its options and its output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from probe.audit import AuditResult
from probe.audit import audit as audit_reading
from probe.audit.material import Tokenizer
from probe.audit.retention import AnswerFunction
from probe.errors import NotThere, ProbeError
from probe.processes import side_by_side
from probe.tasks.readers import pooled, read


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to audit and how; `sources` are pooled into one set."""

    sources: tuple[str, ...]
    against: str
    format: str | None
    mapping: Mapping[str, str]
    encoding: str | None
    strict: bool
    margin: float
    tokens: str
    tokenizer: str
    max_questions: int
    seed: int
    shuffles: int

    def only(self, source: str) -> Job:
        """The same job for one source."""
        return replace(self, sources=(source,))


def mapping(pairs: Sequence[str]) -> dict[str, str]:
    """`["good=a"]` -> `{"good": "a"}`.

    >>> mapping(["good=column one"])
    {'good': 'column one'}
    """
    found: dict[str, str] = {}
    for pair in pairs:
        field, sign, column = pair.partition("=")
        if not sign or not field.strip() or not column:
            raise ProbeError(f"--map {pair}: write FIELD=COLUMN, e.g. --map good=sentence_good")
        if field.strip() in found:
            raise ProbeError(f"--map {pair}: {field.strip()} is mapped twice")
        found[field.strip()] = column
    return found


def work(job: Job, model: AnswerFunction | None = None) -> AuditResult:
    """Read and audit; one linear-algebra thread, because the files are what runs in parallel."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        options = {"format": job.format, "mapping": job.mapping, "encoding": job.encoding, "strict": job.strict}
        readings = [
            read(source, **options, max_questions=job.max_questions, stdin=sys.stdin.buffer if source == "-" else None)
            for source in job.sources
        ]
        against = read(job.against, **options, max_questions=job.max_questions) if job.against else None
        reading = pooled(readings) if len(readings) > 1 else readings[0]
        if model is not None and any(len(question.options) > 2 for question in reading.questions):
            raise ProbeError(f"{reading.source}: a model is asked questions of two candidates; some have more")
        return audit_reading(
            reading,
            against=against,
            margin=job.margin,
            tokens=job.tokens,
            tokenizer=hugging_face(job.tokenizer) if job.tokenizer else None,
            seed=job.seed,
            model=model,
            shuffles=job.shuffles,
        )


def run(
    parts: Sequence[Job], *, workers: int, model: AnswerFunction | None, say: Callable[[str], None]
) -> tuple[list[AuditResult], list[tuple[str, ProbeError]]]:
    """All jobs, results in their order; a file that can't be read does not stop the others."""
    names = [" + ".join(part.sources) for part in parts]
    if min(workers, len(parts)) > 1 and model is None and "-" not in names:
        found = side_by_side(_outcome, parts, workers, lambda part, said: say(said))
    else:
        found = []
        for name, part in zip(names, parts, strict=True):
            say(f"auditing {name} …")
            found.append(_outcome(part, lambda said: None, model))
    done = [each for each in found if isinstance(each, AuditResult)]
    return done, [(name, each) for name, each in zip(names, found, strict=True) if isinstance(each, ProbeError)]


def _outcome(part: Job, tell: Callable[[str], None], model: AnswerFunction | None = None) -> AuditResult | ProbeError:
    """The audit of one file, or why there is none."""
    name = " + ".join(part.sources)
    try:
        result = work(part, model)
    except ProbeError as error:
        tell(f"{name}: error")
        return error
    tell(f"{name}: {result.verdict} ({result.seconds:.1f} s)")
    return result


def hugging_face(path: str) -> Tokenizer:
    """A tokenizer.json on this machine, as text -> tokens; nothing is fetched."""
    if not Path(path).is_file():
        raise NotThere(f"--tokenizer {path}: no such file; give the tokenizer.json of a model on this machine")
    from tokenizers import Tokenizer as HuggingFaceTokenizer

    try:
        loaded = HuggingFaceTokenizer.from_file(path)
    except Exception as error:  # the library raises bare Exception
        raise ProbeError(f"--tokenizer {path}: not a tokenizer.json ({error})") from None
    return lambda text: loaded.encode(text, add_special_tokens=False).tokens
