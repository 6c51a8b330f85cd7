"""The device that the context names, in PyTorch: where tensors go, and what is asked of its kernels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from millrace.core.tensor import Tensor

from .context import get_context, get_device, listeners

__all__ = ["bring_together", "place"]


def place(data: torch.Tensor) -> torch.Tensor:
    """A tensor on the context's device."""
    return data if get_device() == "cpu" else data.to(get_device())


def bring_together(error: BaseException, values: Iterable[Any]) -> bool:
    """Move tensors to the context's device where an operation failed because they were on several; whether one moved.

    A batch of the pipeline comes on the host, and MindSpore moves it when it is used; so it is moved here, once.
    """
    if not isinstance(error, RuntimeError) or len(_devices(values)) < 2:
        return False  # its words differ from kernel to kernel: what counts is where the tensors are
    device = torch.device(get_device())
    return _moved(values, device)


def _devices(values: Iterable[Any]) -> set[torch.device]:
    """Where the tensors are."""
    found: set[torch.device] = set()
    for value in values:
        if isinstance(value, Tensor):
            found.add(value._torch.device)
        elif isinstance(value, (tuple, list)):
            found |= _devices(value)
    return found


def _moved(values: Iterable[Any], device: torch.device) -> bool:
    moved = False
    for value in values:
        if isinstance(value, Tensor) and value._torch.device != device:
            value._torch = value._torch.to(device)
            moved = True
        elif isinstance(value, (tuple, list)):
            moved = _moved(value, device) or moved
    return moved


def _changed(name: str, value: Any) -> None:
    if name == "deterministic":
        torch.use_deterministic_algorithms(value == "ON", warn_only=True)
    elif name == "runtime_num_threads" and value:
        torch.set_num_threads(int(value))


listeners.append(_changed)
for _name in ("deterministic", "runtime_num_threads"):
    if get_context(_name) not in ("OFF", 0):
        _changed(_name, get_context(_name))
