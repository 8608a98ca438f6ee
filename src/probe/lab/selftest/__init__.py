"""Every metric on models and maps whose value is known, before anyone believes it on a model whose value is not."""

from __future__ import annotations

from probe.lab.selftest.basics import accuracy, model, order
from probe.lab.selftest.check import Check
from probe.lab.selftest.circuits import evidence, linear, solvers
from probe.lab.selftest.heads import dates, induction, maps, rows, weights
from probe.lab.selftest.probes import interchanges, linear_probes

__all__ = ["WITHOUT_ORACLE", "Check", "selftest"]

WITHOUT_ORACLE = (
    "overlap of circuits between seeds",
    "the logit lens",
    "sweeps by kind of activation",
    "learned subspaces",
    "interchange and erasure along a probe",
    "the auditors that learn",
    "wall time",
)
"""What the product prints and no oracle checks."""

GROUPS = (
    accuracy,
    order,
    model,
    maps,
    induction,
    weights,
    rows,
    dates,
    solvers,
    evidence,
    linear,
    linear_probes,
    interchanges,
)
"""Functions that return checks, in the order of the table."""


def selftest() -> list[Check]:
    """Run all checks; about five seconds."""
    return [check for group in GROUPS for check in group()]
