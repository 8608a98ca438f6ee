"""Reproductions: run row by row, each row saved by itself, so that what was interrupted goes on; then judged.

OUT/<name>/             (<name>-quick with --quick)
  rows/<row>-s<seed>.json        numbers of one row with one seed, and what made them
  <name>.md  <name>.html         the section, with the settings and every verdict
  figures/*.svg  *.png
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from probe.errors import NotThere, ProbeError, nearest
from probe.files import digest, read_json, to_json, write_atomic
from probe.lab.tracing import contrasts_of
from probe.processes import side_by_side
from probe.reproductions import MINUTES
from probe.reproductions.claims import Job, Judged, Measured, Reproduction, Settings, judge
from probe.reproductions.corpus import SHA256
from probe.result import versions


def reproduction_of(name: str) -> Reproduction:
    """The reproduction of that name."""
    if name not in MINUTES:
        raise NotThere(f"there is no reproduction {name!r}; {nearest(name, MINUTES)}")
    from probe.reproductions import cost, identities, ladder, norms, positions, scaling, sizes, winograd

    if name == "winograd":
        return winograd.reproduction(contrasts_of)
    return {
        "identities": identities.IDENTITIES,
        "sizes": sizes.SIZES,
        "cost": cost.COST,
        "scaling": scaling.SCALING,
        "ladder": ladder.LADDER,
        "positions": positions.POSITIONS,
        "norms": norms.NORMS,
    }[name]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One job with one seed: what is run, and the file that it is saved in."""

    name: str
    key: str
    seed: int
    settings: Settings
    made_with: Mapping[str, Any]
    """What a saved row must have been made with to count."""
    path: Path


def folder_of(name: str, settings: Settings, out: Path) -> Path:
    """Where a reproduction is kept; a quick one, or one on another text, by itself, so that it never stands for it."""
    if settings.quick:
        return out / f"{name}-quick"
    text = _text(settings)
    return out / (name if text == SHA256 else f"{name}-on-{text[:8]}")


def _text(settings: Settings) -> str:
    """Digest of the corpus. Nothing is run without one; what was run on the chapter's can be judged without it."""
    return SHA256 if settings.corpus is None else digest(settings.corpus.read_bytes())


def rows_of(reproduction: Reproduction, settings: Settings, seeds: int | None, out: Path) -> list[Row]:
    """Every row, all jobs of a seed before the next seed."""
    name, folder = reproduction.name, folder_of(reproduction.name, settings, out) / "rows"
    count = reproduction.seeds if seeds is None else seeds
    if count < 1:
        raise ProbeError(f"--seeds {count}: how many, 1 or more; they are 0, 1, 2, …")
    text = _text(settings) if reproduction.needs_corpus else None
    common = {"reproduction": name, "quick": settings.quick, "corpus": text}
    made_of = {job.key: json.loads(to_json(dict(job.made_of(settings)))) for job in reproduction.jobs}
    return [
        Row(
            name=name, key=job.key, seed=seed, settings=settings, path=folder / f"{job.key}-s{seed}.json",
            made_with=common | {"row": job.key, "seed": seed, "made_of": made_of[job.key]},
        )
        for seed in range(count)
        for job in reproduction.jobs
        if job.seeded or seed == 0
    ]  # fmt: skip


def seeds_there(reproduction: Reproduction, settings: Settings, out: Path) -> int:
    """How many seeds are judged where none are named: the usual ones, and every further one that was run."""
    names = [path.stem.rpartition("-s")[2] for path in (folder_of(reproduction.name, settings, out) / "rows").glob("*")]
    return max([reproduction.seeds, *(int(name) + 1 for name in names if name.isdecimal())])


def saved(row: Row) -> dict[str, Any] | None:
    """The numbers of a row that was run before with these settings, or None."""
    if not row.path.exists():
        return None
    kept = read_json(row.path, "row")
    if not isinstance(kept.get("values"), dict):
        raise ProbeError(f"{row.path}: this is no saved row; remove it and run the same command again")
    return kept["values"] if kept.get("made_with") == row.made_with else None


def run_rows(
    rows: Sequence[Row], processes: int, tell: Callable[[Row, str], None] = lambda row, said: None
) -> Mapping[int, Measured]:
    """Run what has not been run, `processes` rows at a time with one thread each; returns seed -> job -> numbers."""
    todo = [row for row in rows if saved(row) is None]
    side_by_side(_run, todo, processes, tell)
    return measured_of(rows)


def measured_of(rows: Sequence[Row]) -> Mapping[int, Measured]:
    """What has been run so far, by seed; what no seed changes stands under seed 0."""
    found: dict[int, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        values = saved(row)
        if values is not None:
            found.setdefault(row.seed, {})[row.key] = values
    return dict(sorted(found.items()))


def _run(row: Row, tell: Callable[[Any], None]) -> None:
    """Measure one row with one thread, and save it."""
    import torch

    torch.set_num_threads(1)
    job = _job(row)
    began = time.perf_counter()
    values = job.measure(row.settings, row.seed, tell)
    seconds = time.perf_counter() - began
    kept = {
        "made_with": dict(row.made_with),
        "values": values,
        "seconds": round(seconds, 2),
        "threads": 1,
        "versions": versions(),
    }
    write_atomic(row.path, to_json(kept, indent=None) + "\n")
    tell(f"done in {seconds:.0f} s")


def _job(row: Row) -> Job:
    return next(job for job in reproduction_of(row.name).jobs if job.key == row.key)


def write_section(
    reproduction: Reproduction, rows: Sequence[Row], settings: Settings, out: Path
) -> tuple[list[Judged], str]:
    """Judge what is there and write section and pictures; returns the verdicts, and the section for a terminal.

    Where nothing was run nothing is written.
    """
    from probe.figures.reproductions import draw
    from probe.report import reproductions as report

    by_seed = measured_of(rows)
    judged = [judge(claim, by_seed, settings.quick) for claim in reproduction.claims]
    notes = reproduction.notes(by_seed) if by_seed else ()
    figures = [figure for figure in (reproduction.figures(by_seed) if by_seed else ()) if any(figure.series.values())]
    text = report.section_text(reproduction, judged, notes, settings.quick)
    if not by_seed:
        return judged, text
    folder, made_with = folder_of(reproduction.name, settings, out), _made_with(rows)
    pictures = {figure.name: draw(figure, "png") for figure in figures}
    for figure in figures:
        write_atomic(folder / "figures" / f"{figure.name}.png", pictures[figure.name])
        write_atomic(folder / "figures" / f"{figure.name}.svg", draw(figure, "svg"))
    about = (reproduction, judged, notes, made_with)
    write_atomic(folder / f"{reproduction.name}.md", report.section_markdown(*about, list(pictures), settings.quick))
    write_atomic(folder / f"{reproduction.name}.html", report.section_html(*about, pictures, settings.quick))
    write_atomic(folder / f"{reproduction.name}.json", to_json([as_dict(one) for one in judged]) + "\n")
    return judged, text


def _made_with(rows: Sequence[Row]) -> dict[str, str]:
    """What the numbers come from, in words."""
    kept = [read_json(row.path, "row") for row in rows if saved(row) is not None]
    total = sum(one["seconds"] for one in kept)
    used = kept[0]["versions"] if kept else versions()
    found = {
        "rows": f"{len(kept)} of {len(rows)} run",
        "time": f"{total / 60:.1f} minutes, one thread a row",
        **{name: used[name] for name in ("probe-circuits", "torch", "python")},
    }
    if rows[0].made_with["corpus"] is not None:
        found["corpus"] = (
            "the chapter's" if rows[0].made_with["corpus"] == SHA256 else "ANOTHER TEXT than the chapter's"
        )
    return found


def as_dict(one: Judged) -> dict[str, Any]:
    """A judged claim as JSON."""
    claim = one.claim
    return {
        "statement": claim.statement,
        "chapter": claim.chapter,
        "rule": None if claim.rule is None else claim.rule.says,
        "values": {str(seed): value for seed, value in one.values.items()},
        "verdict": one.verdict,
        "why": one.why,
    }
