"""probe: what a small transformer looks at, and whether that causes its answer.

Nothing heavy is imported until it is used:

>>> import probe
>>> spec = probe.load_task("winograd-hard")
>>> dataset = probe.make_dataset(spec, seed=0)
>>> len(dataset.train), len(dataset.validation), len(dataset.held_out)
(1560, 120, 240)
>>> probe.order_blind_counts(dataset).ceiling
0.5
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from probe.analyses.attention import attention as attention
    from probe.analyses.prediction import prediction as prediction
    from probe.figures.attention_svg import attention_svg as attention_svg
    from probe.figures.view import attention_view as attention_view
    from probe.lab import ask as ask
    from probe.lab import attention_of as attention_of
    from probe.lab import figure as figure
    from probe.lab import make_plan as make_plan
    from probe.lab import open_model as open_model
    from probe.lab import plan_run as plan_run
    from probe.lab import run_dataset as run_dataset
    from probe.lab import train_here as train_here
    from probe.lab import train_side_by_side as train_side_by_side
    from probe.models.config import ModelConfig as ModelConfig
    from probe.models.config import make_config as make_config
    from probe.models.hooked import HookedTransformer as HookedTransformer
    from probe.models.transformer import Transformer as Transformer
    from probe.models.transformer import folded as folded
    from probe.models.transformer import initialised as initialised
    from probe.result import AnalysisResult as AnalysisResult
    from probe.store import Run as Run
    from probe.store import open_run as open_run
    from probe.tasks.dataset import Dataset as Dataset
    from probe.tasks.dataset import load_dataset as load_dataset
    from probe.tasks.dataset import make_dataset as make_dataset
    from probe.tasks.dataset import minimal_pairs as minimal_pairs
    from probe.tasks.dataset import order_blind_counts as order_blind_counts
    from probe.tasks.dataset import save_dataset as save_dataset
    from probe.tasks.examples import Example as Example
    from probe.tasks.spec import TaskSpec as TaskSpec
    from probe.tasks.spec import load_task as load_task
    from probe.tasks.spec import task_names as task_names
    from probe.training.config import TrainingConfig as TrainingConfig

_HOME = {
    "probe.analyses.attention": ["attention"],
    "probe.analyses.prediction": ["prediction"],
    "probe.figures.attention_svg": ["attention_svg"],
    "probe.figures.view": ["attention_view"],
    "probe.lab": ["ask", "attention_of", "figure", "make_plan", "open_model", "plan_run", "run_dataset", "train_here"]
    + ["train_side_by_side"],
    "probe.models.config": ["ModelConfig", "make_config"],
    "probe.models.hooked": ["HookedTransformer"],
    "probe.models.transformer": ["Transformer", "folded", "initialised"],
    "probe.result": ["AnalysisResult"],
    "probe.store": ["Run", "open_run"],
    "probe.tasks.dataset": ["Dataset", "load_dataset", "make_dataset", "minimal_pairs", "order_blind_counts"]
    + ["save_dataset"],
    "probe.tasks.examples": ["Example"],
    "probe.tasks.spec": ["TaskSpec", "load_task", "task_names"],
    "probe.training.config": ["TrainingConfig"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import a public name's module when the name is first used (PEP 562)."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'probe' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
