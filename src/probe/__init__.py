"""probe: what a small transformer looks at, and whether that causes its answer.

Nothing heavy is imported until it is used:

>>> import probe
>>> spec = probe.load_task("winograd-hard")
>>> dataset = probe.make_dataset(spec, seed=0)
>>> len(dataset.train), len(dataset.validation), len(dataset.held_out)
(1560, 120, 240)
>>> probe.order_blind_counts(dataset).ceiling
0.5

From a task to what causes the answer, one call each; a run's folder keeps what is computed:

    run = probe.train(dataset, "two-block", Path("runs"))
    probe.look(run, "the animal did not cross the street...")    # where its heads look
    traces = probe.trace_run(run)                                # what causes the answer
    probe.figure(run, "trace")                                   # the picture of it
    probe.audit_of("pairs.csv")                                  # what else could answer, in your own data

The notebooks in `notebooks/` use nothing but public names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from probe.activations import cached as cached
    from probe.activations import intervened as intervened
    from probe.analyses.attention import attention as attention
    from probe.analyses.evidence import Evidence as Evidence
    from probe.analyses.prediction import prediction as prediction
    from probe.analyses.trace import Trace as Trace
    from probe.analyses.trace import trace as trace
    from probe.audit import AuditResult as AuditResult
    from probe.contrasts import Contrast as Contrast
    from probe.errors import NotThere as NotThere
    from probe.errors import ProbeError as ProbeError
    from probe.figures.attention_svg import attention_svg as attention_svg
    from probe.figures.figure import Figure as Figure
    from probe.figures.figure import figure_print as figure_print
    from probe.figures.figure import figure_svg as figure_svg
    from probe.figures.view import AttentionView as AttentionView
    from probe.figures.view import attention_view as attention_view
    from probe.lab import answer_rows_of as answer_rows_of
    from probe.lab import ask as ask
    from probe.lab import attention_of as attention_of
    from probe.lab import attribution_of as attribution_of
    from probe.lab import audit_of as audit_of
    from probe.lab import contrasts_of as contrasts_of
    from probe.lab import drawable as drawable
    from probe.lab import evidence_of as evidence_of
    from probe.lab import figure as figure
    from probe.lab import formation_of as formation_of
    from probe.lab import heads_of as heads_of
    from probe.lab import interchange_of as interchange_of
    from probe.lab import keep_model as keep_model
    from probe.lab import lens_of as lens_of
    from probe.lab import look as look
    from probe.lab import make_plan as make_plan
    from probe.lab import open_model as open_model
    from probe.lab import plan_run as plan_run
    from probe.lab import probes_of as probes_of
    from probe.lab import report_on as report_on
    from probe.lab import roles_of as roles_of
    from probe.lab import run_dataset as run_dataset
    from probe.lab import stability_of as stability_of
    from probe.lab import subspaces_of as subspaces_of
    from probe.lab import summary as summary
    from probe.lab import sweeps_of as sweeps_of
    from probe.lab import trace_run as trace_run
    from probe.lab import train as train
    from probe.lab import train_here as train_here
    from probe.lab import train_side_by_side as train_side_by_side
    from probe.lab import untrained_model as untrained_model
    from probe.lab import write_report as write_report
    from probe.metrics import Score as Score
    from probe.metrics import logit_difference as logit_difference
    from probe.models.config import ModelConfig as ModelConfig
    from probe.models.config import make_config as make_config
    from probe.models.handmade import gated_solver as gated_solver
    from probe.models.handmade import induction_model as induction_model
    from probe.models.handmade import two_hop_solver as two_hop_solver
    from probe.models.hooked import HookedTransformer as HookedTransformer
    from probe.models.transformer import Transformer as Transformer
    from probe.models.transformer import folded as folded
    from probe.models.transformer import initialised as initialised
    from probe.report.trace import trace_text as trace_text
    from probe.report.training import sweep_summary as sweep_summary
    from probe.result import AnalysisResult as AnalysisResult
    from probe.result import Provenance as Provenance
    from probe.store import Run as Run
    from probe.store import load_result as load_result
    from probe.store import open_run as open_run
    from probe.tasks.dataset import Dataset as Dataset
    from probe.tasks.dataset import load_dataset as load_dataset
    from probe.tasks.dataset import make_dataset as make_dataset
    from probe.tasks.dataset import minimal_pairs as minimal_pairs
    from probe.tasks.dataset import order_blind_counts as order_blind_counts
    from probe.tasks.dataset import save_dataset as save_dataset
    from probe.tasks.examples import Example as Example
    from probe.tasks.spec import TaskSpec as TaskSpec
    from probe.tasks.spec import load_task as load_task
    from probe.tasks.spec import task_names as task_names
    from probe.tasks.vocabulary import Vocabulary as Vocabulary
    from probe.training.config import TrainingConfig as TrainingConfig
    from probe.training.config import training_for as training_for

_HOME = {
    "probe.activations": ["cached", "intervened"],
    "probe.analyses.attention": ["attention"],
    "probe.analyses.evidence": ["Evidence"],
    "probe.analyses.prediction": ["prediction"],
    "probe.analyses.trace": ["Trace", "trace"],
    "probe.audit": ["AuditResult"],
    "probe.contrasts": ["Contrast"],
    "probe.errors": ["NotThere", "ProbeError"],
    "probe.figures.attention_svg": ["attention_svg"],
    "probe.figures.figure": ["Figure", "figure_print", "figure_svg"],
    "probe.figures.view": ["AttentionView", "attention_view"],
    "probe.lab": (
        "answer_rows_of ask attention_of attribution_of audit_of contrasts_of drawable evidence_of figure "
        "formation_of heads_of interchange_of keep_model lens_of look make_plan open_model plan_run probes_of "
        "report_on roles_of run_dataset stability_of subspaces_of summary sweeps_of trace_run train train_here "
        "train_side_by_side untrained_model write_report"
    ).split(),
    "probe.metrics": ["Score", "logit_difference"],
    "probe.models.config": ["ModelConfig", "make_config"],
    "probe.models.handmade": ["gated_solver", "induction_model", "two_hop_solver"],
    "probe.models.hooked": ["HookedTransformer"],
    "probe.models.transformer": ["Transformer", "folded", "initialised"],
    "probe.report.trace": ["trace_text"],
    "probe.report.training": ["sweep_summary"],
    "probe.result": ["AnalysisResult", "Provenance"],
    "probe.store": ["Run", "load_result", "open_run"],
    "probe.tasks.dataset": ("Dataset load_dataset make_dataset minimal_pairs order_blind_counts save_dataset").split(),
    "probe.tasks.examples": ["Example"],
    "probe.tasks.spec": ["TaskSpec", "load_task", "task_names"],
    "probe.tasks.vocabulary": ["Vocabulary"],
    "probe.training.config": ["TrainingConfig", "training_for"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import a public name's module when the name is first used (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'probe' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
