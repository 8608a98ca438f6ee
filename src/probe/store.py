"""Run folders: what a training run leaves behind, and everything that is later found out about it. No torch.

    runs/<task>-<blocks>b-s<seed>-<digest>/
      manifest.json  config.json  vocabulary.json     what was asked for; written first
      metrics.jsonl                                    one line an evaluation
      checkpoints/   step-000100.safetensors           weights along the way
                     state.safetensors                 weights, moments and counters of the newest checkpoint
      model.safetensors                                written last: a run that has it is finished
      results/       <analysis>.parquet + .json        tables, and what they mean
      figures/
    runs/latest                                        the newest finished run's name

Weights and tables are read with safetensors, JSON and Parquet; nothing is ever unpickled. All writes are atomic.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from probe.errors import NotThere, ProbeError, nearest
from probe.files import read_json, read_text, to_json, write_atomic
from probe.markup import paragraph, table
from probe.result import AnalysisResult, Provenance
from probe.tasks.vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np

SCHEMA = 1
LATEST = "latest"
_MANIFEST = {
    "task": str,
    "spec": dict,
    "task_digest": str,
    "data_seed": int,
    "data_sha256": str,
    "variant": str,
    "training": dict,
    "threads": int,
    "dtype": str,
    "versions": dict,
    "git_commit": str | None,
}
"""What every manifest holds, and of which kind."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run folder that has been opened."""

    path: Path
    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def finished(self) -> bool:
        """Whether training came to its end."""
        return (self.path / "model.safetensors").exists()

    @property
    def config(self) -> dict[str, Any]:
        """The model's configuration."""
        return read_json(self.path / "config.json", "model config")

    @property
    def vocabulary(self) -> Vocabulary:
        """The words the model knows."""
        return Vocabulary.load(self.path / "vocabulary.json")

    def _repr_html_(self) -> str:
        """What a notebook shows: task, model, seed, and the accuracies beside those of the untrained model."""
        manifest, kept = self.manifest, self.path / "results" / "summary.json"
        said = f"{manifest['task']} · {manifest['variant']} · seed {manifest['training']['seed']}"
        if not (self.finished and kept.exists()):
            return paragraph(f"{said}. Not finished: continue it with train_here.", bold=self.name)
        scores = read_json(kept, "summary")
        rates = {
            "referent_accuracy": "right word",
            "distractor_rate": "wrong noun",
            "pair_accuracy": "right of the two",
        }
        rows = [
            [side, condition, *(of_side[rate] for rate in rates), of_side["n"]]
            for side in ("validation", "held_out")
            for condition, of_side in (("this run", scores[side]), ("untrained", scores["untrained"][side]))
        ]
        shown = table(["sentences", "model", *rates.values(), "n"], rows)
        return paragraph(f"{said}.", bold=self.name) + shown


# -- finding runs ------------------------------------------------------------------------------------------------


def create_run(
    root: Path, name: str, manifest: Mapping[str, Any], config: Mapping[str, Any], vocabulary: Vocabulary
) -> Run:
    """Make the folder of a new run; the manifest goes last, so that a folder with one is complete up to there."""
    path = root / name
    write_atomic(path / "config.json", to_json(dict(config)) + "\n")
    vocabulary.save(path / "vocabulary.json")
    write_atomic(path / "manifest.json", to_json({"schema": SCHEMA, **manifest}) + "\n")
    return open_run(root, name)


def open_run(root: str | Path, name: str | None = None) -> Run:
    """Open a run by name, by path, by the beginning of its name, or the latest one where no name is given.

    Args:
        root: the folder of the runs, as `runs`.
        name: of the run, or its path, or as much of its beginning as no other run shares; the latest by default.

    Raises:
        NotThere: no run of this name, no run at all, or a folder without `manifest.json`.
        ProbeError: several runs begin so; or a manifest that is damaged or of another version.
    """
    path = _find(Path(root), name)
    if not (path / "manifest.json").exists():
        raise NotThere(f"{path} is no run folder (it has no manifest.json); `probe runs` lists runs")
    manifest = read_json(path / "manifest.json", "manifest")
    if manifest.get("schema") != SCHEMA:
        raise ProbeError(
            f"{path}/manifest.json: schema {manifest.get('schema')!r} is not {SCHEMA}, another version's run"
        )
    for key, kind in _MANIFEST.items():
        if not isinstance(manifest.get(key, ...), kind):
            said = f"{manifest[key]!r} is no {kind}" if key in manifest else "is missing"
            raise ProbeError(f"{path}/manifest.json: {key}: {said}; the file was changed by hand or by another tool")
    if not isinstance(manifest["training"].get("seed"), int):
        raise ProbeError(f"{path}/manifest.json: training.seed: is missing or no number; the file was changed")
    return Run(path=path, manifest=manifest)


def _find(root: Path, name: str | None) -> Path:
    if name is None:
        latest = root / LATEST
        if not latest.exists():
            if run_names(root):
                raise NotThere(f"{latest} is not there, which names the latest run; name one that `probe runs` lists")
            raise NotThere(f"there is no run in {root} yet; make one with: probe train")
        name = read_text(latest, "file").strip()
        if not name or not (root / name).is_dir():
            raise NotThere(f"{latest} names {name!r}, which is gone; name one that `probe runs` lists")
        return root / name
    if (root / name).is_dir() and name not in ("", ".", ".."):
        return root / name
    if Path(name).is_dir():
        return Path(name)
    names = run_names(root)
    matches = [known for known in names if known.startswith(name)]
    if len(matches) == 1:
        return root / matches[0]
    if len(matches) > 1:
        raise ProbeError(f"{len(matches)} runs in {root} begin with {name!r}: {', '.join(matches[:4])} …; name one")
    raise NotThere(f"there is no run {name!r} in {root}; {nearest(name, names)}")


def run_names(root: Path) -> list[str]:
    """Names of the run folders, sorted."""
    return sorted(path.parent.name for path in root.glob("*/manifest.json"))


def but_seed(run: Run) -> str:
    """All that made a run but its seed, as text to compare: sentences, variant, model and training."""
    training = {key: value for key, value in run.manifest["training"].items() if key != "seed"}
    return to_json([run.manifest["data_sha256"], run.manifest["variant"], run.config, training])


def siblings(run: Run) -> list[Run]:
    """The finished runs beside this one that differ from it in nothing but the seed, by seed; itself among them.

    One of each seed, however often it was trained (with other threads, as another name). A damaged neighbour, or one of
    another version, is none of them.
    """
    alike, root, mine = {}, run.path.parent, but_seed(run)
    for name in run_names(root):
        with contextlib.suppress(ProbeError):
            other = open_run(root, name)
            if other.finished and but_seed(other) == mine:
                alike.setdefault(other.manifest["training"]["seed"], other)
    own = {run.manifest["training"]["seed"]: run} if run.finished else {}
    return [other for _, other in sorted((alike | own).items())]


def mark_latest(run: Run) -> None:
    """Make a run the one that commands take when none is named."""
    write_atomic(run.path.parent / LATEST, run.name + "\n")


# -- weights -----------------------------------------------------------------------------------------------------


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays as safetensors."""
    import numpy as np
    from safetensors.numpy import save

    write_atomic(path, save({name: np.asarray(array, order="C") for name, array in arrays.items()}))


def load_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read safetensors; a truncated or foreign file is refused by name."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(path.read_bytes())
    except FileNotFoundError:
        raise NotThere(
            f"{path} does not exist; the run is not finished (probe train --resume {path.parent.name})"
        ) from None
    except (SafetensorError, ValueError, KeyError) as error:
        raise ProbeError(f"{path} is truncated or no safetensors file ({error}); remove it and train again") from None


def checkpoint_steps(run: Run) -> list[int]:
    """The steps at which weights were kept, ascending."""
    found = (re.fullmatch(r"step-(\d+)\.safetensors", p.name) for p in (run.path / "checkpoints").glob("step-*"))
    return sorted(int(match.group(1)) for match in found if match)


def checkpoint_path(run: Run, step: int | str) -> Path:
    """Where the weights of a step lie, or the resumable `state`."""
    name = step if isinstance(step, str) else f"step-{step:06d}"
    return run.path / "checkpoints" / f"{name}.safetensors"


# -- metrics -----------------------------------------------------------------------------------------------------


def read_metrics(run: Run) -> list[dict[str, Any]]:
    """The evaluations so far; a last line that a kill cut short is left out."""
    path = run.path / "metrics.jsonl"
    lines = path.read_bytes().decode("utf-8", "replace").splitlines() if path.exists() else []
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            if number < len(lines):
                raise ProbeError(f"{path}, line {number}: not valid JSON; the file was changed") from None
    return rows


def append_metrics(run: Run, row: Mapping[str, Any]) -> None:
    """Add one evaluation."""
    with (run.path / "metrics.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(to_json(dict(row), indent=None) + "\n")


def truncate_metrics(run: Run, step: int) -> None:
    """Forget the evaluations after `step`, from which a resumed run goes on."""
    rows = [row for row in read_metrics(run) if row["step"] <= step]
    write_atomic(run.path / "metrics.jsonl", "".join(to_json(row, indent=None) + "\n" for row in rows))


# -- results -----------------------------------------------------------------------------------------------------


def save_result(run: Run, key: str, result: AnalysisResult) -> None:
    """Keep an analysis with its run; the JSON goes last, so that a result with one is complete."""
    table = io.BytesIO()
    result.table.to_parquet(table, index=False)
    write_atomic(run.path / "results" / f"{key}.parquet", table.getvalue())
    write_atomic(run.path / "results" / f"{key}.json", to_json(result.meaning()) + "\n")


def load_result(run: Run, key: str) -> AnalysisResult | None:
    """An analysis that was kept, or None.

    Args:
        run: the run.
        key: the name of the result, as `trace-edges-adjective`; blanks stand as dashes.

    Raises:
        ProbeError: the result is damaged.
    """
    path = run.path / "results" / f"{key}.json"
    if not path.exists():
        return None
    import pandas as pd

    meaning = read_json(path, "result")
    try:
        table = pd.read_parquet(path.with_suffix(".parquet"))
        provenance = Provenance(**meaning.pop("provenance"))
        return AnalysisResult(**meaning, table=table, provenance=provenance)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ProbeError(f"result {path} is damaged ({error}); remove it and run the analysis again") from None
