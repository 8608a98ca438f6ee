"""Every figure by name: what it shows, which results it needs, which command computes them, and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from probe.errors import NotThere, ProbeError, nearest
from probe.figures import of_circuits, of_evidence, of_heads, of_presence, of_training
from probe.figures.figure import Figure
from probe.figures.findings import Findings


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One figure that can be asked for."""

    about: str
    """A line for the list."""
    make: Callable[[Findings], Figure]
    needs: tuple[str, ...] = ()
    """Results, by name; a star stands for every contrast."""
    takes: tuple[str, ...] = ()
    """Results that it shows too, where they are there."""
    command: str
    """What computes them."""


FIGURES: Mapping[str, Kind] = {
    "scores": Kind(
        about="accuracies beside the untrained model",
        make=of_training.scores,
        needs=("accuracy",),
        command="probe report RUN",
    ),
    "training": Kind(
        about="loss and accuracies over training",
        make=of_training.training,
        takes=("formation", "formation-changes"),
        command="probe train",
    ),
    "formation": Kind(
        about="head scores over checkpoints, with dated changes",
        make=of_training.formation,
        needs=("formation",),
        takes=("formation-changes",),
        command="probe heads RUN --formation",
    ),
    "heads": Kind(about="head × score", make=of_heads.heads, needs=("heads",), command="probe heads RUN"),
    "composition": Kind(
        about="head × head, for queries, keys and values",
        make=of_heads.composition,
        needs=("composition",),
        command="probe heads RUN",
    ),
    "roles": Kind(
        about="where heads look from the answer's place, by role",
        make=of_heads.roles,
        needs=("head-roles",),
        command="probe heads RUN",
    ),
    "rows": Kind(
        about="the answer's row for every word of the contrast, mean over heads",
        make=of_heads.rows,
        needs=("answer-rows",),
        command="probe heads RUN --rows",
    ),
    "rows-by-head": Kind(
        about="the same for every head",
        make=of_heads.rows_by_head,
        needs=("answer-rows",),
        command="probe heads RUN --rows",
    ),
    "trace": Kind(
        about="the circuit of every contrast",
        make=of_circuits.trace,
        needs=("trace-edges-*", "trace-nodes-*"),
        command="probe trace RUN",
    ),
    "nodes": Kind(
        about="effect of every part at every position",
        make=of_circuits.nodes,
        needs=("trace-nodes-*",),
        command="probe trace RUN",
    ),
    "sweeps": Kind(
        about="effect of every activation",
        make=of_circuits.sweeps,
        needs=("sweeps-*",),
        command="probe trace RUN",
    ),
    "attribution": Kind(
        about="direct and total effects on the logit difference",
        make=of_circuits.attribution,
        needs=("attribution-*",),
        command="probe trace RUN",
    ),
    "evidence": Kind(
        about="faithfulness of the circuit, as a range with controls",
        make=of_evidence.evidence,
        needs=("evidence-*",),
        command="probe trace RUN",
    ),
    "subsets": Kind(
        about="completeness and minimality of the circuit",
        make=of_evidence.subsets,
        needs=("subsets-*",),
        command="probe trace RUN",
    ),
    "sizes": Kind(
        about="faithfulness over the number of edges",
        make=of_evidence.sizes,
        needs=("sizes-*",),
        command="probe trace RUN",
    ),
    "lens": Kind(
        about="the stream read by the unembedding",
        make=of_presence.lens,
        needs=("lens",),
        command="probe trace RUN",
    ),
    "probes": Kind(
        about="what linear probes read off the stream",
        make=of_presence.probes,
        needs=("probes",),
        command="probe probes RUN",
    ),
    "probes-by-head": Kind(
        about="the same of heads' outputs",
        make=of_presence.probes_by_head,
        needs=("probes",),
        command="probe probes RUN",
    ),
    "interchange": Kind(
        about="swapping one variable of the task at every place",
        make=of_presence.interchange,
        needs=("interchange",),
        command="probe probes RUN",
    ),
}

ATTENTION = "attention"
"""The figure that is of sentences, and not of what was found out about a run."""


def kind_of(name: str) -> Kind:
    """The figure of a name.

    Raises:
        ProbeError: there is none; the message names the nearest.
    """
    if name not in FIGURES:
        raise ProbeError(f"there is no figure {name!r}; {nearest(name, [ATTENTION, *FIGURES])}")
    return FIGURES[name]


def keys_of(kind: Kind, keys: Iterable[str]) -> list[str]:
    """Those of the kept results that a figure shows."""
    return [key for key in keys if any(fnmatchcase(key, pattern) for pattern in (*kind.needs, *kind.takes))]


def missing(kind: Kind, keys: Iterable[str]) -> list[str]:
    """What a figure needs and is not kept."""
    known = list(keys)
    return [pattern for pattern in kind.needs if not any(fnmatchcase(key, pattern) for key in known)]


def figure_of(name: str, found: Findings) -> Figure:
    """Make a figure from what a run holds.

    Raises:
        ProbeError: there is no figure of this name.
        NotThere: a result is missing; the message names the command that computes it.
    """
    kind = kind_of(name)
    lacking = missing(kind, found.results)
    if lacking or (name == "training" and not found.metrics):
        what = ", ".join(lacking) or "the evaluations of training"
        raise NotThere(
            f"run {found.run} holds no {what}, which figure {name!r} shows; compute it with: "
            f"{kind.command.replace('RUN', found.run)}"
        )
    return replace(kind.make(found), name=name, run=found.run, digest=found.digest)
