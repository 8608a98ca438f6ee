"""Figures of a run: its folder opened for them, and what is missing computed where that is one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from probe import store
from probe.files import digest
from probe.lab.analysing import ANALYSES, belongs, result_names
from probe.lab.looking import ask, attention_of
from probe.lab.models import provenance
from probe.store import Run

if TYPE_CHECKING:
    from probe.figures.figure import Figure
    from probe.figures.findings import Findings


def figure(run: Run, name: str, tell: Callable[[str], None] = lambda said: None, sentence: str = "...") -> Figure:
    """A figure of a run, from what its folder holds; what is missing is computed and kept, where that is one call.

    Args:
        run: the run.
        name: as `probe figure` lists them.
        tell: hears what is being computed.
        sentence: that attention is drawn for; ending in dots it stands for the first minimal pair that begins so.

    Raises:
        ProbeError: there is no figure of this name, or not of this task or model.
        NotThere: a result is missing that takes a command of its own; the message names it.
    """
    from probe.figures.catalogue import ATTENTION, figure_of, kind_of, missing

    if name == ATTENTION:
        return _attention(run, sentence)
    kind = kind_of(name)
    lacking = missing(kind, findings_of(run, name).results) if run.finished else []
    for analysis in ANALYSES:
        if any(belongs(needed.removesuffix("*"), analysis.results) for needed in lacking):
            tell(f"computing {analysis.name} of {run.name} …")
            analysis.compute(run, None)
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
    """What a figure of this name may show: tables of other weights, or of an older analysis, are left out."""
    from probe.figures.catalogue import keys_of, kind_of
    from probe.figures.findings import Findings

    wanted = keys_of(kind_of(name), result_names(run))
    results = {key: result for key in wanted if (result := store.load_result(run, key)) is not None}
    source = provenance(run) if results else None
    return Findings(
        run=run.name,
        digest=digest(dict(run.manifest)),
        about=_about(run),
        spec=run.manifest["spec"],
        metrics=store.read_metrics(run),
        results={key: result for key, result in results.items() if result.provenance == source},
    )


def drawable(run: Run) -> dict[str, str | None]:
    """Every figure, with what computes that which it lacks; None where it can be drawn as it is."""
    from probe.figures.catalogue import ATTENTION, FIGURES, missing

    kept = result_names(run)
    lacking = {name: kind.command.replace("RUN", run.name) for name, kind in FIGURES.items() if missing(kind, kept)}
    return {ATTENTION: None} | {name: lacking.get(name) for name in FIGURES}


def _about(run: Run) -> str:
    """Task and model, in words."""
    return f"{run.manifest['task']} · {run.manifest['variant']}"
