"""Where the rooms are joined: data sets and runs are found, runs are planned and trained, models opened, maps made.

The command line and the notebooks call these functions; nothing below knows of run folders *and* torch. Torch itself is
imported inside the functions that need it.
"""

from probe.lab.auditing import audit_of
from probe.lab.data import open_dataset, run_dataset
from probe.lab.figures import drawable, figure
from probe.lab.formation import formation_of
from probe.lab.heads import answer_rows_of, heads_of, roles_of, run_of_task
from probe.lab.keeping import keep_model
from probe.lab.looking import Question, ask, attention_of, look
from probe.lab.models import open_model, provenance, untrained_model
from probe.lab.probing import interchange_of, probes_of, subspaces_of
from probe.lab.reporting import material_of, report_on, report_path, write_report
from probe.lab.tracing import (
    attribution_of,
    contrasts_of,
    evidence_of,
    examine,
    lens_of,
    stability_of,
    sweeps_of,
    trace_run,
    trace_runs,
)
from probe.lab.training import Plan, advance_run, make_plan, plan_run, summary, train, train_here, train_side_by_side
from probe.lab.variables import swaps_of, targets_of

__all__ = [
    "Plan",
    "Question",
    "advance_run",
    "answer_rows_of",
    "ask",
    "attention_of",
    "attribution_of",
    "audit_of",
    "contrasts_of",
    "drawable",
    "evidence_of",
    "examine",
    "figure",
    "formation_of",
    "heads_of",
    "interchange_of",
    "keep_model",
    "lens_of",
    "look",
    "make_plan",
    "material_of",
    "open_dataset",
    "open_model",
    "plan_run",
    "probes_of",
    "provenance",
    "report_on",
    "report_path",
    "roles_of",
    "run_dataset",
    "run_of_task",
    "stability_of",
    "subspaces_of",
    "summary",
    "swaps_of",
    "sweeps_of",
    "targets_of",
    "trace_run",
    "trace_runs",
    "train",
    "train_here",
    "train_side_by_side",
    "untrained_model",
    "write_report",
]
