"""Reports: what a run folder holds, and what is missing computed, joined into the material of a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probe import store
from probe.errors import ProbeError
from probe.figures.view import AttentionView, attention_view
from probe.files import digest, read_json, to_json, write_atomic
from probe.lab.data import run_dataset
from probe.lab.formation import formation_of
from probe.lab.heads import answer_rows_of, heads_of, roles_of
from probe.lab.looking import Question, ask, attention_of
from probe.lab.models import open_model, provenance
from probe.lab.probing import interchange_of, probes_of
from probe.lab.tracing import attribution_of, evidence_of, lens_of, sweeps_of, trace_run
from probe.lab.training import summary
from probe.report.document import Report
from probe.report.material import Material
from probe.result import AnalysisResult, Provenance
from probe.store import Run
from probe.tasks.dataset import Dataset, minimal_pairs, order_blind_counts

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """One thing that a report wants to know of a run."""

    results: tuple[str, ...]
    """The names of its results, the one that is always there first; one that ends in a dash is their beginning, where
    there is one for each contrast."""
    compute: Callable[[Run, int | None], Any]
    """Computes them all and keeps them with the run; over about so many pairs where it counts pairs."""

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
    Analysis(results=("accuracy",), compute=lambda run, pairs: accuracy_of(run)),
    Analysis(results=("heads", "composition"), compute=lambda run, pairs: heads_of(run)),
    Analysis(results=("head-roles",), compute=lambda run, pairs: roles_of(run)),
    Analysis(results=("answer-rows",), compute=lambda run, pairs: answer_rows_of(run)),
    Analysis(results=("formation", "formation-changes"), compute=lambda run, pairs: formation_of(run)),
    Analysis(results=("trace-ways-", "trace-nodes-", "trace-edges-"), compute=trace_run),
    Analysis(results=("sweeps-",), compute=sweeps_of),
    Analysis(results=("attribution-",), compute=attribution_of),
    Analysis(results=("lens",), compute=lens_of),
    Analysis(results=("evidence-", "sizes-", "subsets-"), compute=evidence_of),
    Analysis(results=("probes",), compute=lambda run, pairs: probes_of(run)),
    Analysis(results=("interchange",), compute=lambda run, pairs: interchange_of(run)),
)
"""In the order in which they are computed; each is one line."""


def material_of(run: Run, tell: Tell = lambda doing: None, only: Sequence[str] | None = None) -> Material:
    """Read a run's folder; compute and keep what is missing, or was computed from other weights.

    `tell` hears what is being computed. Where nothing is missing torch is not imported. What cannot be computed for
    this model or task is noted with its reason, and the report goes without. `only` names the analyses that are wanted,
    and does without maps.
    """
    outcome, dataset, source = summary(run), run_dataset(run), provenance(run)
    missing = _known_gaps(run, source)
    for analysis in ANALYSES:
        kept = (name for name in result_names(run) if belongs(name, analysis.results[:1]))
        unwanted = only is not None and analysis.name not in only
        if unwanted or analysis.name in missing or any(_fresh(run, name, source) for name in kept):
            continue
        tell(f"computing {analysis.name} …")
        try:
            analysis.compute(run, None)
        except ProbeError as error:
            missing[analysis.name] = str(error)
            _keep_gaps(run, source, missing)
    view, along = None, None
    try:
        view, along = _looked(run, dataset, source, tell) if only is None else (None, None)
    except ProbeError as error:
        missing["attention"] = str(error)
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


def result_names(run: Run) -> list[str]:
    """Names of the results that a run's folder holds."""
    return sorted(path.stem for path in (run.path / "results").glob("*.json") if path.with_suffix(".parquet").exists())


GAPS = "not-computed.json"
"""What cannot be computed for a run, with the reasons: asking again would import torch to hear the same."""


def _known_gaps(run: Run, source: Provenance) -> dict[str, str]:
    path = run.path / "results" / GAPS
    known = read_json(path, "file") if path.exists() else {}
    return dict(known.get("reasons", {})) if known.get("provenance") == source.as_dict() else {}


def _keep_gaps(run: Run, source: Provenance, reasons: Mapping[str, str]) -> None:
    content = {"provenance": source.as_dict(), "reasons": dict(reasons)}
    write_atomic(run.path / "results" / GAPS, to_json(content) + "\n")


def siblings_of(run: Run) -> list[dict[str, Any]]:
    """Summaries of the finished runs beside this one that differ from it in the seed alone, this one among them."""
    found = []
    for name in store.run_names(run.path.parent):
        try:
            other = store.open_run(run.path.parent, name)
            if other.finished and _but_seed(other) == _but_seed(run):
                found.append(summary(other))
        except ProbeError:
            continue  # a damaged neighbour is no reason not to report on this run
    return sorted(found, key=lambda each: each["seed"])


def _but_seed(run: Run) -> Any:
    manifest = run.manifest
    training = {key: value for key, value in manifest["training"].items() if key != "seed"}
    return manifest["data_sha256"], manifest["variant"], training, run.config


def belongs(name: str, results: Sequence[str]) -> bool:
    """Whether a result is one of these, by its name or by its beginning."""
    return any(name.startswith(own) if own.endswith("-") else name == own for own in results)


def _fresh(run: Run, name: str, source: Provenance) -> bool:
    found = store.load_result(run, name)
    return found is not None and found.provenance == source


# -- where it looks ----------------------------------------------------------------------------------------------


def shown_question(run: Run, dataset: Dataset) -> Question:
    """What a report looks at: the first minimal pair of held_out, which the model was not trained on."""
    pairs = minimal_pairs(dataset.held_out)
    if not pairs:
        return ask(run, " ".join(dataset.held_out[0].prompt))
    first, second = pairs[0]
    return ask(run, " ".join(first.prompt), against=" ".join(second.prompt))


def _looked(run: Run, dataset: Dataset, source: Provenance, tell: Tell) -> tuple[AttentionView, AnalysisResult | None]:
    question = shown_question(run, dataset)
    if not _fresh(run, f"{question.key}-attention", source):
        tell("computing attention …")
    attention, prediction = attention_of(run, question)
    view = attention_view(
        question.title, attention, prediction, question.queries, question.candidates, question.answers
    )
    return view, attention_along(run, question, tell)


def attention_along(run: Run, question: Question, tell: Tell = lambda doing: None) -> AnalysisResult | None:
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

    tell("computing attention along training …")
    ids = [run.vocabulary.encode(sentence) for sentence in question.sentences]
    looked = {step: attention(open_model(run, step), question.sentences, ids, source) for step in steps}
    frames = [r.table[r.table["metric"] == "weight"].assign(step=step) for step, r in looked.items()]
    last = looked[steps[-1]]
    result = AnalysisResult(**{**vars(last), "name": "attention-along", "table": pd.concat(frames, ignore_index=True)})
    store.save_result(run, key, result)
    return result


COMPARED = ("accuracy", "trace")
"""What a comparison needs of each run."""


# -- the report ------------------------------------------------------------------------------------------------------


def report_on(runs: Sequence[Run], tell: Tell = lambda doing: None) -> tuple[Report, dict[str, str]]:
    """The report on a run, or on several beside each other; and what it goes without, with the reasons."""
    from probe.report.comparison import comparison_of
    from probe.report.story import report_of

    if len(runs) == 1:
        material = material_of(runs[0], tell)
        return report_of(material), dict(material.missing)
    materials = [material_of(run, lambda doing, name=run.name: tell(f"{name}: {doing}"), COMPARED) for run in runs]
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
