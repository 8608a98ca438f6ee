"""Shared by all tests: shapes are checked as the annotations say, one thread, and one small trained run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from jaxtyping import install_import_hook

os.environ.setdefault("OMP_NUM_THREADS", "1")
# every annotated shape in the model and its neighbours is checked at run time, in the tests only
install_import_hook(
    ["probe.models.transformer", "probe.models.hooked", "probe.metrics", "probe.activations", "probe.figures"],
    "beartype.beartype",
)


@pytest.fixture(scope="session", autouse=True)
def one_core() -> Iterator[None]:
    """Commands that are run in this process compute in it: no test waits for a second torch to be imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
        yield


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one finished two-block run on winograd-hard, which `latest` names."""
    from probe import lab
    from probe.training.config import TrainingConfig

    root = tmp_path_factory.mktemp("runs")
    dataset, _ = lab.open_dataset("winograd-hard", root / "no-data")
    plan = lab.make_plan(dataset, "two-block", TrainingConfig(until=1.0, checkpoint_every=50), threads=1)
    lab.train_here(lab.plan_run(plan, root))
    return root


@pytest.fixture(scope="session")
def run(runs: Path):
    """The finished run."""
    from probe import store

    return store.open_run(runs)


@pytest.fixture
def make_view():
    """A view of sentences under uniform attention, made by hand."""
    from pictures import view_of

    return view_of


@pytest.fixture
def hostile() -> tuple[str, ...]:
    """Words that have broken pages."""
    from pictures import HOSTILE

    return HOSTILE
