"""What a report says, before it is a page or a Markdown file: sections of figures, tables and sentences. No format.

Every string is plain text, and is escaped where it is written; only a panel's SVG is markup already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, kw_only=True)
class Number:
    """A cell of a table that sorts by its value and reads as its text."""

    value: float
    text: str


Cell = str | Number


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One drawing of a figure."""

    svg: str
    group: str = ""
    """Panels of one group stand in one row, under its name, where there is room."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Drawings that make one point."""

    name: str
    """A file name without an ending, unique in the report."""
    title: str
    says: str
    """One or two sentences made from the numbers that are drawn."""
    panels: tuple[Panel, ...]
    note: str
    """How to read it: unit, floor, maximum, n, convention."""
    role: str = "plain"
    """What a page can do with it beside showing it: `maps`, `live`, `circuit`, `strip` or `plain`."""
    edges: Mapping[str, Any] = field(default_factory=dict)
    """Of a circuit: edge -> `title`, `says` (its numbers in lines) and `nodes`, shown where an edge is chosen."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of text and numbers."""

    name: str
    title: str
    says: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    folded: bool = False
    """Long, and beside the point at first: a page shows it on demand."""


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """Token lines whose words can be pointed at."""

    tokens: tuple[tuple[str, ...], ...]
    changed: tuple[int, ...] = ()
    """Positions at which they differ."""
    after: tuple[str, ...] = ()
    """What is said after each line."""


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Text as it is: commands, a manifest."""

    title: str
    text: str
    folded: bool = False


Part = Figure | Table | Sentences | Lines


@dataclass(frozen=True, kw_only=True)
class Section:
    """A question and what answers it."""

    name: str
    title: str
    says: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Maps:
    """Attention behind the drawn maps, for hover and for the slider: shares 0 … 1, by key."""

    tokens: tuple[tuple[str, ...], ...] = ()
    values: Mapping[str, Float[np.ndarray, "query key"]] = field(default_factory=dict)
    sentence: Mapping[str, int] = field(default_factory=dict)
    """Key -> which of the token lines."""
    steps: tuple[int, ...] = ()
    along: Mapping[str, tuple[Float[np.ndarray, "query key"], ...]] = field(default_factory=dict)
    """Key -> its map at each of `steps`."""
    said: tuple[str, ...] = ()
    """What is known of each step."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """All of it."""

    title: str
    subtitle: str
    summary: tuple[str, ...]
    """The few sentences that a reader in a hurry takes away."""
    sections: Sequence[Section]
    numbers: Mapping[str, Any]
    """The stated numbers with the digests of what they were computed from; what `probe verify` computes again."""
    maps: Maps = field(default_factory=Maps)
