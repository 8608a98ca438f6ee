"""Analyses of a run: which there are, and the missing ones computed, side by side where there are cores for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from probe import store
from probe.errors import ProbeError
from probe.lab.data import run_dataset
from probe.lab.formation import formation_of
from probe.lab.heads import answer_rows_of, heads_of, roles_of
from probe.lab.looking import attention_along, attention_of, shown_question
from probe.lab.models import open_model, provenance
from probe.lab.probing import interchange_of, probes_of
from probe.lab.tracing import attribution_of, evidence_of, lens_of, sweeps_of, trace_run
from probe.processes import side_by_side
from probe.result import AnalysisResult, Provenance
from probe.store import Run

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """One thing that a report wants to know of a run."""

    results: tuple[str, ...]
    """The names of its results, the one that is always there first; one that ends in a dash is their beginning, where
    there is one for each contrast."""
    compute: Callable[[Run, int | None], Any]
    """Computes them all and keeps them with the run; over so many pairs where it counts pairs."""

    @property
    def name(self) -> str:
        """What a reader calls it."""
        return self.results[0].removesuffix("-ways-").rstrip("-")


def accuracy_of(run: Run) -> AnalysisResult:
    """Accuracy of the trained and the untrained model, with intervals; kept with the run."""
    from probe.analyses.accuracy import accuracy

    dataset = run_dataset(run)
    models = {"trained": open_model(run)}
    if 0 in store.checkpoint_steps(run):
        models["untrained"] = open_model(run, 0)
    sides = {side: dataset.vocabulary.batch(dataset.sides[side]) for side in ("validation", "held_out")}
    result = accuracy(models, sides, provenance(run))
    store.save_result(run, result.name, result)
    return result


ANALYSES = (
    Analysis(results=("probes",), compute=lambda run, pairs: probes_of(run)),
    Analysis(results=("evidence-", "sizes-", "subsets-"), compute=evidence_of),
    Analysis(results=("trace-ways-", "trace-nodes-", "trace-edges-"), compute=trace_run),
    Analysis(results=("formation", "formation-changes"), compute=lambda run, pairs: formation_of(run)),
    Analysis(results=("interchange",), compute=lambda run, pairs: interchange_of(run)),
    Analysis(results=("sweeps-",), compute=sweeps_of),
    Analysis(results=("accuracy",), compute=lambda run, pairs: accuracy_of(run)),
    Analysis(results=("attribution-",), compute=attribution_of),
    Analysis(results=("heads", "composition"), compute=lambda run, pairs: heads_of(run)),
    Analysis(results=("head-roles",), compute=lambda run, pairs: roles_of(run)),
    Analysis(results=("answer-rows",), compute=lambda run, pairs: answer_rows_of(run)),
    Analysis(results=("lens",), compute=lens_of),
)
"""Each is one line; the longest first, so that none is left to itself at the end."""
LOOKING = Analysis(results=("attention",), compute=lambda run, pairs: look_at(run))
"""What a report shows of where a run looks; its results are named after the sentences."""


def compute(
    run: Run, wanted: Mapping[str, int | None], processes: int = 1, tell: Tell = lambda doing: None
) -> dict[str, str]:
    """Compute analyses and keep their results with the run, so many processes side by side.

    Args:
        run: the run.
        wanted: names of analyses, each with the pairs that it is to count, or None for its own number.
        processes: each imports torch for itself; the numbers are those of one process.
        tell: hears what is being computed.

    Returns:
        The reason, by name, why an analysis cannot be computed for this model or task.
    """
    jobs = [(run, each.name, wanted[each.name]) for each in (*ANALYSES, LOOKING) if each.name in wanted]
    reasons = side_by_side(_reason_against, jobs, processes, lambda job, said: tell(said))
    return {name: reason for (_, name, _), reason in zip(jobs, reasons, strict=True) if reason}


def _reason_against(job: tuple[Run, str, int | None], tell: Tell) -> str:
    """Compute one analysis; returns why it cannot be, or nothing."""
    run, name, pairs = job
    tell(f"computing {name} …")
    try:
        next(each for each in (*ANALYSES, LOOKING) if each.name == name).compute(run, pairs)
    except ProbeError as error:
        return str(error)
    return ""


def look_at(run: Run) -> None:
    """Keep the maps of the sentences that a report shows, at the end and along training."""
    question = shown_question(run, run_dataset(run))
    attention_of(run, question)
    attention_along(run, question)


def result_names(run: Run) -> list[str]:
    """Names of the results that a run's folder holds."""
    return sorted(path.stem for path in (run.path / "results").glob("*.json") if path.with_suffix(".parquet").exists())


def belongs(name: str, results: Sequence[str]) -> bool:
    """Whether a result is one of these, by its name or by its beginning."""
    return any(name.startswith(own) if own.endswith("-") else name == own for own in results)


def fresh(run: Run, name: str, source: Provenance) -> bool:
    """Whether a run holds a result of this name that comes from its present weights and sentences."""
    found = store.load_result(run, name)
    return found is not None and found.provenance == source
