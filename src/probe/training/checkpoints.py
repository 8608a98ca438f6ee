"""A training state as named arrays, and back; what a checkpoint holds. Never pickled."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from probe.errors import ProbeError
from probe.training.loop import TrainingState

Arrays = dict[str, np.ndarray]


def model_arrays(model: torch.nn.Module) -> Arrays:
    """The weights by name."""
    return {name: _array(tensor) for name, tensor in model.state_dict().items()}


def load_model_arrays(model: torch.nn.Module, arrays: Mapping[str, np.ndarray], where: str) -> None:
    """Put weights into a model; a name or shape that does not fit is refused, `where` names the file."""
    expected = model.state_dict()
    for name in sorted(set(expected) ^ set(arrays)):
        kind = "lacks" if name in expected else "has an unknown tensor"
        raise ProbeError(f"{where} {kind} {name!r}; it does not belong to this config.json")
    for name, tensor in expected.items():
        if tuple(tensor.shape) != arrays[name].shape:
            raise ProbeError(f"{where}: {name} has shape {arrays[name].shape}, config.json wants {tuple(tensor.shape)}")
    model.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})


def state_arrays(state: TrainingState) -> Arrays:
    """Weights, optimizer moments and counters by name."""
    arrays = {f"model.{name}": array for name, array in model_arrays(state.model).items()}
    arrays |= {f"optimizer.{name}": _array(moment) for name, moment in state.optimizer.moments.items()}
    cooling = -1 if state.cooling_since is None else state.cooling_since
    counters = {"step": state.step, "cooling": cooling, "done": int(state.done), "losses": state.losses}
    return arrays | {name: np.array(value) for name, value in counters.items()}


def load_state_arrays(state: TrainingState, arrays: Mapping[str, np.ndarray], where: str) -> None:
    """Continue from what `state_arrays` gave; `state` comes from `start` with the same configuration."""
    for counter in ("step", "cooling", "losses"):
        if counter not in arrays:
            raise ProbeError(f"{where} holds no {counter!r}, so it is no training state; remove it and train again")
    weights = {name.removeprefix("model."): a for name, a in arrays.items() if name.startswith("model.")}
    load_model_arrays(state.model, weights, where)
    for name, moment in state.optimizer.moments.items():
        saved = arrays.get(f"optimizer.{name}")
        if saved is None or saved.shape != tuple(moment.shape):
            raise ProbeError(f"{where} has no fitting moment {name!r}, it belongs to another optimizer; train again")
        moment.copy_(torch.from_numpy(np.array(saved)))
    state.step, cooling = int(arrays["step"]), int(arrays["cooling"])
    state.cooling_since = None if cooling < 0 else cooling
    state.losses = arrays["losses"].tolist()
    state.done = bool(arrays.get("done", False))


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy().copy()
