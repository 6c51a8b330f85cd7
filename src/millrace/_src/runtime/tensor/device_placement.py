"""Device placement: moving tensors to the context's device, compute dtype, kernel settings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from millrace._src.core.machine.cores import available_cores
from millrace._src.core.values.tensor import Tensor

from .backend import cuda_fork_guard as forked  # noqa: F401  the guard stands as soon as anything can be computed
from .backend import execution_mode as modes
from .backend.context import get_context, get_device, setting_listeners
from .storage import wrap

__all__ = [
    "align_devices",
    "creation_device",
    "cast_to_compute_dtype",
    "ensure_on_device",
    "to_context_device",
]


def creation_device() -> str | None:
    """The device argument for new tensors: the context's device; None on a CPU.

    A tensor that is created on the host would be transferred in every step, and would prevent a CUDA Graph.
    """
    device = get_device()
    return None if device == "cpu" else device


def to_context_device(data: torch.Tensor) -> torch.Tensor:
    """Move a tensor to the context's device."""
    return data if get_device() == "cpu" else data.to(get_device())


def ensure_on_device(tensor: Tensor) -> torch.Tensor:
    """The PyTorch tensor of a Tensor, moved from the host to the context's device if needed."""
    data = tensor._torch
    if get_device() != "cpu" and data.device.type == "cpu":
        data = tensor._torch = data.to(get_device())
    return data


def align_devices(error: BaseException, values: Iterable[Any]) -> bool:
    """Move tensors to the context's device if an operation failed because of mixed devices; whether one
    moved.

    A pipeline batch is on the host. MindSpore transfers it on use; so it is transferred here, once.
    """
    if not isinstance(error, RuntimeError) or len(_devices(values)) < 2:
        return False  # the error text differs between kernels, so the devices of the tensors decide
    device = torch.device(get_device())
    return _move_to_device(values, device)


def cast_to_compute_dtype(values: Any) -> Any:
    """The values with floating tensors cast to the compute dtype of the running Cell; None if no cast is
    needed.
    """
    dtype = modes.thread_state.compute_dtype
    if dtype is None or not _needs_float_cast(values, dtype):
        return None
    return _cast_floats(values, dtype)


def _needs_float_cast(value: Any, dtype: torch.dtype) -> bool:
    if isinstance(value, Tensor):
        return bool(value._torch.is_floating_point() and value._torch.dtype != dtype)
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return any(_needs_float_cast(part, dtype) for part in parts)


def _cast_floats(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, Tensor):
        return wrap(value._torch.to(dtype)) if value._torch.is_floating_point() else value
    if isinstance(value, (tuple, list)):
        return type(value)(_cast_floats(part, dtype) for part in value)
    if isinstance(value, dict):
        return {name: _cast_floats(part, dtype) for name, part in value.items()}
    return value


def _devices(values: Iterable[Any]) -> set[torch.device]:
    """The devices of the tensors."""
    devices: set[torch.device] = set()
    for value in values:
        if isinstance(value, Tensor):
            devices.add(value._torch.device)
        elif isinstance(value, (tuple, list)):
            devices |= _devices(value)
    return devices


def _move_to_device(values: Iterable[Any], device: torch.device) -> bool:
    moved = False
    for value in values:
        if isinstance(value, Tensor) and value._torch.device != device:
            value._torch = value._torch.to(device)
            moved = True
        elif isinstance(value, (tuple, list)):
            moved = _move_to_device(value, device) or moved
    return moved


def _on_setting_changed(name: str, value: Any) -> None:
    if name == "deterministic":
        torch.use_deterministic_algorithms(value == "ON", warn_only=True)
    elif name == "runtime_num_threads" and value:
        torch.set_num_threads(int(value))


def _limit_torch_threads(environment: Mapping[str, str] = os.environ) -> None:
    """Limit PyTorch's threads to the container's share of the cores; PyTorch counts the cores of the machine."""
    if "OMP_NUM_THREADS" not in environment and available_cores() < torch.get_num_threads():
        torch.set_num_threads(available_cores())


_limit_torch_threads()
setting_listeners.append(_on_setting_changed)
for _name in ("deterministic", "runtime_num_threads"):
    if get_context(_name) not in ("OFF", 0):
        _on_setting_changed(_name, get_context(_name))
