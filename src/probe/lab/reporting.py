"""Reports: what a run folder holds, and what is missing computed, joined into the material of a page."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from probe import store
from probe.errors import ProbeError
from probe.figures.view import AttentionView, attention_view
from probe.files import digest, read_json, to_json, write_atomic
from probe.lab.analysing import ANALYSES, LOOKING, Tell, belongs, compute, fresh, result_names
from probe.lab.data import run_dataset
from probe.lab.looking import attention_along, attention_of, shown_question
from probe.lab.models import provenance
from probe.lab.training import summary
from probe.report.document import Report
from probe.report.material import Material
from probe.result import AnalysisResult, Provenance
from probe.store import Run
from probe.tasks.dataset import Dataset, order_blind_counts


def material_of(
    run: Run, tell: Tell = lambda doing: None, only: Sequence[str] | None = None, processes: int = 1
) -> Material:
    """Read a run's folder; compute and keep what is missing, or was computed from other weights.

    `tell` hears what is being computed, in so many `processes`. Where nothing is missing torch is not imported. What
    cannot be computed for this model or task is noted with its reason, and the report goes without. `only` names the
    analyses that are wanted, and does without maps.
    """
    outcome, dataset, source = summary(run), run_dataset(run), provenance(run)
    known = _known_gaps(run, source)
    wanted = [each for each in ANALYSES if only is None or each.name in only]
    held = result_names(run)
    lacking: dict[str, int | None] = {
        each.name: None
        for each in wanted
        if each.name not in known and not any(fresh(run, n, source) for n in held if belongs(n, each.results[:1]))
    }
    if only is None and not _looked_at(run, dataset, source):
        lacking[LOOKING.name] = None
    found = compute(run, lacking, processes, tell)
    gone = known | {name: reason for name, reason in found.items() if name != LOOKING.name}
    if gone != known:
        _keep_gaps(run, source, gone)
    missing = {each.name: gone[each.name] for each in wanted if each.name in gone}
    view, along = None, None
    try:
        view, along = _looked(run, dataset) if only is None else (None, None)
    except ProbeError as error:
        missing[LOOKING.name] = str(error)
    kept = {name: store.load_result(run, name) for name in result_names(run) if not name.startswith("attn-")}
    return Material(
        run=run,
        dataset=dataset,
        counts=order_blind_counts(dataset),
        summary=outcome,
        metrics=store.read_metrics(run),
        parameters={name: array.size for name, array in store.load_arrays(run.path / "model.safetensors").items()},
        siblings=siblings_of(run),
        view=view,
        along=along,
        results={name: r for name, r in kept.items() if r is not None and r.provenance == source},
        missing=missing,
    )


GAPS = "not-computed.json"
"""What cannot be computed for a run, with the reasons: asking again would import torch to hear the same."""


def _known_gaps(run: Run, source: Provenance) -> dict[str, str]:
    path = run.path / "results" / GAPS
    known = read_json(path, "file") if path.exists() else {}
    reasons = known.pop("reasons", {})
    return dict(reasons) if known == _gaps_hold_for(run, source) else {}


def _keep_gaps(run: Run, source: Provenance, reasons: Mapping[str, str]) -> None:
    content = {**_gaps_hold_for(run, source), "reasons": dict(reasons)}
    write_atomic(run.path / "results" / GAPS, to_json(content) + "\n")


def _gaps_hold_for(run: Run, source: Provenance) -> dict[str, Any]:
    """What may change so that a reason holds no longer: what computes, and the checkpoints that are there."""
    files = sorted((run.path / "checkpoints").glob("step-*"))
    return {"provenance": source.as_dict(), "checkpoints": {file.name: file.stat().st_size for file in files}}


def siblings_of(run: Run) -> list[dict[str, Any]]:
    """Summaries of the finished runs beside this one that differ from it in the seed alone, this one among them."""
    found = []
    for other in store.siblings(run):
        with contextlib.suppress(ProbeError):  # a damaged neighbour is no reason not to report on this run
            found.append(summary(other))
    return found


# -- where it looks ----------------------------------------------------------------------------------------------


def _looked_at(run: Run, dataset: Dataset, source: Provenance) -> bool:
    """Whether a run holds the maps that its report shows."""
    try:
        key = shown_question(run, dataset).key
    except ProbeError:
        return True  # there is nothing to look at; said when the maps are asked for
    kinds = ("attention", "prediction", *(["along"] if store.checkpoint_steps(run) else []))
    return all(fresh(run, f"{key}-{kind}", source) for kind in kinds)


def _looked(run: Run, dataset: Dataset) -> tuple[AttentionView, AnalysisResult | None]:
    question = shown_question(run, dataset)
    attention, prediction = attention_of(run, question)
    view = attention_view(
        question.title, attention, prediction, question.queries, question.candidates, question.answers
    )
    return view, attention_along(run, question)


COMPARED = ("accuracy", "trace")
"""What a comparison needs of each run."""


# -- the report ------------------------------------------------------------------------------------------------------


def report_on(
    runs: Sequence[Run], tell: Tell = lambda doing: None, processes: int = 1
) -> tuple[Report, dict[str, str]]:
    """The report on a run, or on several beside each other; and what it goes without, with the reasons.

    What is missing is computed in so many `processes`, each of which imports torch for itself.
    """
    from probe.report.comparison import comparison_of
    from probe.report.story import report_of

    if len(runs) == 1:
        material = material_of(runs[0], tell, processes=processes)
        return report_of(material), dict(material.missing)
    materials = [
        material_of(run, lambda doing, name=run.name: tell(f"{name}: {doing}"), COMPARED, processes) for run in runs
    ]
    gone = {f"{each.run.name}, {name}": why for each in materials for name, why in each.missing.items()}
    return comparison_of(materials, _stability(materials)), gone


def _stability(materials: Sequence[Material]) -> AnalysisResult | None:
    """How much of their circuits the traced runs share that have the first one's shape; None below two."""
    from probe.analyses.stability import stability

    runs: dict[str, dict[str, Any]] = {}
    for each in materials:
        if _shape(each) == _shape(materials[0]):
            for contrast, edges in each.named("trace-edges-").items():
                tables = (each.results[f"trace-nodes-{contrast}"].table, edges.table)
                runs.setdefault(each.run.name, {})[str(edges.details["contrast"])] = tables
    return stability(runs, provenance(materials[0].run)) if len(runs) > 1 else None


def _shape(material: Material) -> tuple[int, int]:
    return material.run.config["n_layers"], material.run.config["n_heads"]


def report_path(runs: Sequence[Run], kind: str) -> Path:
    """Where a report lies if nobody says where: in the run's folder, or beside the folders of several."""
    if len(runs) == 1:
        return runs[0].path / f"report.{kind}"
    return runs[0].path.parent / f"comparison-{digest([run.name for run in runs])[:8]}.{kind}"


def write_report(report: Report, path: Path, kind: str) -> list[Path]:
    """Write a page, or Markdown and its drawings; returns the files, the report last."""
    from probe.report.markdown import markdown
    from probe.report.page import page

    if kind == "html":
        write_atomic(path, page(report))
        return [path]
    folder = path.parent / f"{path.stem}-figures"
    text, drawn = markdown(report, folder.name)
    for name, svg in drawn.items():
        write_atomic(folder / name, svg)
    write_atomic(path, text)
    return [*(folder / name for name in drawn), path]
