"""Where the rooms are joined: data sets and runs are found, runs are planned and trained, models opened, maps made.

The command line and the notebooks call these functions; nothing below knows of run folders *and* torch. Torch itself is
imported inside the functions that need it.
"""

from probe.lab.data import open_dataset, run_dataset
from probe.lab.looking import Question, ask, attention_of, heads_of
from probe.lab.models import open_model, provenance
from probe.lab.probing import interchange_of, probes_of
from probe.lab.tracing import contrasts_of, trace_run
from probe.lab.training import (
    Plan,
    advance_run,
    make_plan,
    plan_run,
    summary,
    train_here,
    train_side_by_side,
)
from probe.lab.variables import swaps_of, targets_of

__all__ = [
    "Plan",
    "Question",
    "advance_run",
    "ask",
    "attention_of",
    "contrasts_of",
    "heads_of",
    "interchange_of",
    "make_plan",
    "open_dataset",
    "open_model",
    "plan_run",
    "probes_of",
    "provenance",
    "run_dataset",
    "summary",
    "swaps_of",
    "targets_of",
    "trace_run",
    "train_here",
    "train_side_by_side",
]
