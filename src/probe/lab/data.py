"""Which sentences: the data set that a user means, and the one that a run was trained on."""

from __future__ import annotations

from pathlib import Path

from probe import store
from probe.errors import ProbeError
from probe.files import read_text
from probe.store import Run
from probe.tasks.dataset import Dataset, load_dataset, make_dataset
from probe.tasks.spec import load_task, parse_task

DEFAULT_TASK = "winograd-hard"


def open_dataset(task: str | None, data: Path) -> tuple[Dataset, str]:
    """The data set that `--task` means, and where it came from, in words.

    A folder is loaded; a name too, if it was generated in `data`, else it is generated with seed 0. A task file, by its
    path, is generated with seed 0. None is the last generated one, or winograd-hard.
    """
    if task is None:
        latest = data / store.LATEST
        name = read_text(latest, "file").strip() if latest.exists() else ""
        if name and (data / name / "task.json").exists():
            return load_dataset(data / name), f"the last generated task, {data / name}"
        task = DEFAULT_TASK
    if Path(task).is_dir():
        return load_dataset(Path(task)), f"folder {task}"
    if (data / task / "task.json").exists():
        return load_dataset(data / task), f"folder {data / task}"
    return make_dataset(load_task(task), seed=0), f"task {task}, generated with seed 0"


def run_dataset(run: Run) -> Dataset:
    """The data set a run was trained on, generated again from its manifest and checked against its digest.

    Raises:
        ProbeError: the task no longer generates the sentences that the run was trained on.
    """
    where = f"{run.path}/manifest.json"
    spec = parse_task(run.manifest["spec"], name=run.manifest["task"], where=where)
    dataset = make_dataset(spec, seed=run.manifest["data_seed"])
    if dataset.digest != run.manifest["data_sha256"]:
        raise ProbeError(f"{where}: the task no longer generates the sentences that this run was trained on")
    return dataset
