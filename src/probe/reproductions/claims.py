"""What a reproduction is made of: jobs that measure, claims that say what the chapter says, a rule for each claim.

A job is one row of work: it measures named numbers with one seed, and is saved by itself. A claim takes its number from
what the jobs measured with one seed, so that every seed is judged alone and a verdict counts seeds. Rules are declared
with the claims. No torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from probe.errors import ProbeError

Verdict = Literal["agrees", "differs", "depends on the seed", "not run", "not judged"]
Tell = Callable[[str], None]
Measured = Mapping[str, Mapping[str, Any]]
"""Job -> its numbers, of one seed."""


class NotRun(LookupError):
    """A claim asks for what was not measured."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a user chooses for all jobs of a reproduction."""

    quick: bool = False
    """Small models and few steps: shows that everything runs, and proves nothing that is measured."""
    corpus: Path | None = None
    """The text of the language models."""
    config: Path | None = None
    """A `config.json` of the user's own, for `sizes`."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One row of work."""

    key: str
    """Names it, and its file."""
    measure: Callable[[Settings, int, Tell], dict[str, Any]]
    """From settings and a seed to named numbers (or lists and tables of them, as JSON)."""
    seeded: bool = True
    """Whether a seed changes it; a job that is not seeded runs once."""
    made_of: Callable[[Settings], Mapping[str, Any]] = lambda settings: {}
    """What decides its numbers beside seed and corpus (model, training, sizes), as JSON: saved with them, and a row
    that was made of anything else is run again."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What a number has to be, declared beforehand.

    A measured statement is judged by order and direction first (`holds`), then by size (`size`), each an interval that
    includes its ends. An exact one has `holds` alone.
    """

    says: str
    holds: tuple[float, float]
    size: tuple[float, float] | None = None
    exact: bool = False


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement of the chapter."""

    statement: str
    value: Callable[[Measured], float]
    """The number of one seed; a job that was not run is asked for in vain (`NotRun`)."""
    rule: Rule | None = None
    """None where nothing could be judged; `why` says why."""
    why: str = "the chapter has no figure for it"
    chapter: str = ""
    """The chapter's figure as it stands there, "≈" kept; empty where it has none."""
    form: str = ".2f"
    """How the number is written."""


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """All about one table of the chapter."""

    name: str
    title: str
    jobs: Sequence[Job]
    claims: Sequence[Claim]
    setting: str
    """How it is measured, in words."""
    seeds: int = 1
    """Seeds where none are asked for."""
    needs_corpus: bool = False
    alone: bool = False
    """Whether its rows are timed, so that they never run side by side."""
    figures: Callable[[Mapping[int, Measured]], Sequence[Figure]] = lambda by_seed: ()
    """From what was measured, by seed, to pictures."""
    notes: Callable[[Mapping[int, Measured]], Sequence[tuple[str, str]]] = lambda by_seed: ()
    """Titles and lines of text, for what is no single number."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A picture as numbers: lines or bars over x, drawn by `probe.figures.reproductions`."""

    name: str
    title: str
    x_label: str
    y_label: str
    series: Mapping[str, Sequence[tuple[Any, float]]]
    """Name -> (x, y); text as x makes bars."""
    reference: Mapping[str, float] | None = None
    """The chapter's figures: a tick at each bar of that name."""
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A claim, its numbers by seed, and what the rule says of them."""

    claim: Claim
    values: Mapping[int, float]
    verdict: Verdict
    why: str

    @property
    def failed(self) -> bool:
        """Whether an exact statement does not hold: that is a fault, where a measurement that differs is a finding."""
        exact = self.claim.rule is not None and self.claim.rule.exact
        return exact and self.verdict in ("differs", "depends on the seed")


# -- rules -------------------------------------------------------------------------------------------------------


def exactly(figure: float, tolerance: float = 0.0) -> Rule:
    """An exact statement: equal, up to float tolerance.

    >>> exactly(1.0, 1e-6).says
    'exact: 1 ± 1e-06'
    """
    says = f"exact: {figure:,.12g}" + (f" ± {tolerance:g}" if tolerance else "")
    return Rule(says=says, holds=(figure - tolerance, figure + tolerance), exact=True)


def at_most(bound: float) -> Rule:
    """An exact statement about an error: no larger than a float tolerance."""
    return Rule(says=f"exact: at most {bound:g}", holds=(0.0, bound), exact=True)


def about(figure: float, share: float) -> Rule:
    """A measured size: within a share of the chapter's figure.

    >>> about(50.0, 0.1).holds
    (45.0, 55.0)
    """
    reach = abs(figure) * share
    return Rule(says=f"within {100 * share:g} % of {figure:,.12g}", holds=(figure - reach, figure + reach))


def within(low: float, high: float, says: str = "") -> Rule:
    """A measured number between two bounds."""
    return Rule(says=says or f"{low:,.12g} to {high:,.12g}", holds=(low, high))


def above(bound: float, size: Rule | None = None) -> Rule:
    """A direction, then a size where one is given."""
    return _direction(f"above {bound:g}", (math.nextafter(bound, math.inf), math.inf), size)


def below(bound: float, size: Rule | None = None) -> Rule:
    """A direction, then a size where one is given."""
    return _direction(f"below {bound:g}", (-math.inf, math.nextafter(bound, -math.inf)), size)


def _direction(says: str, holds: tuple[float, float], size: Rule | None) -> Rule:
    if size is None:
        return Rule(says=says, holds=holds)
    return Rule(says=f"{says}; then {size.says}", holds=holds, size=size.holds)


# -- verdicts ----------------------------------------------------------------------------------------------------


def judge(claim: Claim, by_seed: Mapping[int, Measured], quick: bool = False) -> Judged:
    """Judge a claim by every seed: agrees where all hold, differs where none do, depends on the seed in between.

    The direction is judged first; where it holds in every seed, the size. Of a quick look only what is exact is judged.

    >>> claim = Claim(statement="b is worse than a", value=lambda m: m["b"]["loss"] - m["a"]["loss"], rule=above(0))
    >>> judge(claim, {0: {"a": {"loss": 1.0}, "b": {"loss": 2.0}}, 1: {"a": {"loss": 1.0}, "b": {"loss": 0.5}}}).verdict
    'depends on the seed'
    """
    values: dict[int, float] = {}
    for seed, measured in by_seed.items():
        try:
            values[seed] = float(claim.value(_Jobs(measured)))
        except NotRun:
            continue
        except KeyError as error:
            raise ProbeError(
                f"{claim.statement!r}: a saved row has no number {error}; another version made it: remove the row's "
                "file and run the same command again"
            ) from None

    def judged(verdict: Verdict, why: str = "") -> Judged:
        return Judged(claim=claim, values=values, verdict=verdict, why=why)

    if not values:
        return judged("not run")
    if claim.rule is None:
        return judged("not judged", claim.why)
    if quick and not claim.rule.exact:
        return judged("not judged", "quick")
    n = len(values)
    inside = _count(values, claim.rule.holds)
    if inside < n:
        return judged("depends on the seed" if inside else "differs", f"holds in {inside} of {n}" if n > 1 else "")
    if claim.rule.size is None:
        return judged("agrees", f"in all {n} seeds" if n > 1 else "")
    sized = _count(values, claim.rule.size)
    if sized < n:
        why = f"the direction holds, the size in {sized} of {n}" if n > 1 else "the direction holds, not the size"
        return judged("depends on the seed" if sized else "differs", why)
    return judged("agrees", f"in all {n} seeds" if n > 1 else "")


class _Jobs(dict[str, Mapping[str, Any]]):
    """What was measured with one seed; a job that is not there was not run."""

    def __missing__(self, job: str) -> Mapping[str, Any]:
        raise NotRun(job)


def _count(values: Mapping[int, float], interval: tuple[float, float]) -> int:
    low, high = interval
    return sum(low <= value <= high for value in values.values())
