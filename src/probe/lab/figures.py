"""Figures of a run: its folder opened for them, and what is missing computed where that is one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from probe import store
from probe.files import digest, read_json
from probe.lab.heads import answer_rows_of, heads_of, roles_of
from probe.lab.looking import ask, attention_of
from probe.lab.models import provenance
from probe.lab.tracing import trace_run
from probe.store import Run

if TYPE_CHECKING:
    from probe.figures.figure import Figure
    from probe.figures.findings import Findings

COMPUTED: Mapping[str, Callable[[Run], object]] = {
    "heads": heads_of,
    "composition": heads_of,
    "head-roles": roles_of,
    "answer-rows": answer_rows_of,
    "trace-nodes-*": trace_run,
    "trace-edges-*": trace_run,
}
"""What a figure may compute by itself, by the name of the result that it needs."""


def figure(run: Run, name: str, tell: Callable[[str], None] = lambda said: None, sentence: str = "...") -> Figure:
    """A figure of a run, from what its folder holds; heads and traces are computed where they are missing.

    Args:
        run: the run.
        name: as `probe figure` lists them.
        tell: hears what is being computed.
        sentence: that attention is drawn for; ending in dots it stands for the first minimal pair that begins so.

    Raises:
        ProbeError: there is no figure of this name.
        NotThere: a result is missing that takes a command of its own; the message names it.
    """
    from probe.figures.catalogue import ATTENTION, figure_of, kind_of, missing

    if name == ATTENTION:
        return _attention(run, sentence)
    kind = kind_of(name)
    for needed in missing(kind, _keys(run)):
        if needed in COMPUTED and run.finished:
            tell(f"computing {needed.rstrip('-*')} of {run.name} …")
            COMPUTED[needed](run)
            break
    return figure_of(name, findings_of(run, name))


def _attention(run: Run, sentence: str) -> Figure:
    """Attention for a sentence or a minimal pair, computed where the run does not keep it."""
    from probe.figures.catalogue import ATTENTION
    from probe.figures.figure import Figure
    from probe.figures.view import attention_view

    question = ask(run, sentence)
    seen, said = attention_of(run, question)
    title = " ".join(question.sentences[0])
    view = attention_view(title, seen, said, question.queries, question.candidates, question.answers)
    told = (
        "Rows look, columns are looked at; the framed row has to name the next word. Where a head looks is not whether"
    )
    return Figure(
        name=ATTENTION,
        title=f"Where {_about(run)} looks",
        caption=f"{told} that causes the answer: see `trace`. Floor: {seen.floor}.",
        parts=(view,),
        run=run.name,
        digest=digest(dict(run.manifest)),
    )


def findings_of(run: Run, name: str) -> Findings:
    """What a figure of this name may show: tables of other weights than the run's are left out."""
    from probe.figures.catalogue import keys_of, kind_of
    from probe.figures.findings import Findings

    wanted = keys_of(kind_of(name), _keys(run))
    results = {key: result for key in wanted if (result := store.load_result(run, key)) is not None}
    weights = provenance(run).model_digest if results else ""
    return Findings(
        run=run.name,
        digest=digest(dict(run.manifest)),
        about=_about(run),
        spec=run.manifest["spec"],
        metrics=store.read_metrics(run),
        scores=read_json(_scores(run), "summary") if _scores(run).exists() else None,
        results={key: result for key, result in results.items() if result.provenance.model_digest == weights},
    )


def drawable(run: Run) -> dict[str, str | None]:
    """Every figure, with the command that computes what it lacks; None where it can be drawn as it is."""
    from probe.figures.catalogue import ATTENTION, FIGURES, missing

    keys = _keys(run)
    lacking = {name: kind.command.replace("RUN", run.name) for name, kind in FIGURES.items() if missing(kind, keys)}
    if not _scores(run).exists():
        lacking["scores"] = FIGURES["scores"].command.replace("RUN", run.name)
    return {ATTENTION: None} | {name: lacking.get(name) for name in FIGURES}


def _about(run: Run) -> str:
    """Task and model, in words."""
    return f"{run.manifest['task']} · {run.manifest['variant']}"


def _keys(run: Run) -> list[str]:
    """Names of the tables that a run keeps."""
    return sorted(path.stem for path in (run.path / "results").glob("*.parquet"))


def _scores(run: Run) -> Path:
    """The final scores."""
    return run.path / "results" / "summary.json"
