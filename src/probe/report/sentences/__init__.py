"""Plain English made from numbers: each sentence would read differently if they did.

Every function takes rows of a result and returns a sentence; where the numbers say nothing, it says that.
"""

from probe.report.sentences.answers import (
    changes_said,
    dated,
    does_it_work,
    learned_at,
    over_seeds,
    what_changed,
    worth_of_order,
)
from probe.report.sentences.attention import as_the_chapter, looks_said, moved, roles_said, rows_said
from probe.report.sentences.causes import arrival, loudest_places, silent_lookers, strongest_edges
from probe.report.sentences.circuits import faithful, holes, lens_said, smallest, sweeps_said, writers
from probe.report.sentences.heads import composed, named_heads
from probe.report.sentences.presence import interchanged, readable
from probe.report.sentences.runs import common_kinds, shared_edges, ways_said
from probe.report.sentences.words import counted, effect, interval, listed, percent, signed

__all__ = [
    "arrival",
    "as_the_chapter",
    "changes_said",
    "common_kinds",
    "composed",
    "counted",
    "dated",
    "does_it_work",
    "effect",
    "faithful",
    "holes",
    "interchanged",
    "interval",
    "learned_at",
    "lens_said",
    "listed",
    "looks_said",
    "loudest_places",
    "moved",
    "named_heads",
    "over_seeds",
    "percent",
    "readable",
    "roles_said",
    "rows_said",
    "shared_edges",
    "signed",
    "silent_lookers",
    "smallest",
    "strongest_edges",
    "sweeps_said",
    "ways_said",
    "what_changed",
    "worth_of_order",
    "writers",
]
