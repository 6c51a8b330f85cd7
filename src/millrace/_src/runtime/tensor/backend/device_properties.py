"""Available devices and their properties: ``millrace.hal``."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.public import export_names, public

from .context import get_context

__all__ = [
    "resolve_device_target",
    "device_count",
    "get_arch_list",
    "get_current_device",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "is_available",
    "is_initialized",
    "visible_devices",
]

_TARGETS = ["CPU", "GPU", "Ascend"]
T = TypeVar("T")


def resolve_device_target(device_target: str | None) -> str:
    """An available device target; the context's by default."""
    if device_target is None:
        return str(get_context("device_target"))
    if not isinstance(device_target, str):
        raise ArgumentTypeError(
            f"The argument 'device_target' must be str, but got {device_target}, type is {type(device_target)}."
        )
    if device_target not in _TARGETS:
        raise ArgumentValueError(
            f"The argument 'device_target' must be one of {_TARGETS}, but got {device_target}."
        )
    if not is_available(device_target):
        raise ArgumentValueError(
            f"{device_target} backend is not available here. You can call hal.is_available to check."
        )
    return device_target


@public("hal")
def is_available(device_target: str) -> bool:
    """Whether a device type is available.

    >>> is_available("CPU"), is_available("Ascend")
    (True, False)
    """
    _query_backend("is_available", device_target)
    return device_target == "CPU" or (device_target == "GPU" and torch.cuda.is_available())


@public("hal")
def is_initialized(device_target: str) -> bool:
    """Whether this process has initialized a device type.

    >>> is_initialized("CPU")
    True
    """
    _query_backend("is_initialized", device_target)
    return device_target == "CPU" or (device_target == "GPU" and torch.cuda.is_initialized())


def _query_backend(call: str, device_target: Any) -> None:
    if device_target not in _TARGETS:
        raise ArgumentValueError(
            f"For 'hal.{call}', the argument 'device_target' must be one of {_TARGETS}, but got {device_target}."
        )


@public("hal")
def device_count(device_target: str | None = None) -> int:
    """The number of visible devices of a type.

    >>> device_count("CPU")
    1
    """
    return torch.cuda.device_count() if resolve_device_target(device_target) == "GPU" else 1


@public("hal")
def get_arch_list(device_target: str | None = None) -> list[str] | None:
    """The GPU architectures that PyTorch was built for; None on a CPU.

    >>> get_arch_list("CPU")
    """
    return list(torch.cuda.get_arch_list()) if resolve_device_target(device_target) == "GPU" else None


def _make_device_query(query_gpu: Callable[[int], T], on_cpu: Any) -> Callable[[int, str | None], T]:
    def query(device_id: int, device_target: str | None = None) -> T:
        if not isinstance(device_id, int) or isinstance(device_id, bool):
            raise ArgumentTypeError(
                f"The argument 'device_id' must be int, but got {device_id}, type is {type(device_id)}."
            )
        target, count = resolve_device_target(device_target), device_count(device_target)
        if not 0 <= device_id < count:
            raise ArgumentValueError(
                f"The argument 'device_id' must be less than device count: {count}, but got {device_id}."
            )
        value: T = on_cpu if target == "CPU" else query_gpu(device_id)
        return value

    return functools.wraps(query_gpu)(query)


def _capability(device_id: int) -> tuple[int, int]:
    """The compute capability of a GPU; None on a CPU."""
    return torch.cuda.get_device_capability(device_id)


def _name(device_id: int) -> str:
    """The name of a device."""
    return torch.cuda.get_device_name(device_id)


def _properties(device_id: int) -> Any:
    """The properties of a GPU: name, memory, multiprocessors; None on a CPU."""
    return torch.cuda.get_device_properties(device_id)


get_device_capability = _make_device_query(_capability, None)
get_device_name = _make_device_query(_name, "CPU")
get_device_properties = _make_device_query(_properties, None)


@public("millrace")
def get_current_device() -> tuple[str, int]:
    """Target and index of the device in use.

    >>> get_current_device()
    ('CPU', 0)
    """
    return str(get_context("device_target")), int(get_context("device_id"))


def visible_devices() -> list[str]:
    """The devices of ``CUDA_VISIBLE_DEVICES``, or all device indices if it is not set."""
    variable = os.environ.get("CUDA_VISIBLE_DEVICES")
    if variable is None:
        return [str(index) for index in range(torch.cuda.device_count())]
    return [part.strip() for part in variable.split(",") if part.strip()][: torch.cuda.device_count()]


def check_device_id(number: int, count: int | None = None) -> None:
    """Check a device index against the visible devices. The error lists them."""
    visible = visible_devices()
    num_devices = torch.cuda.device_count() if count is None else count
    if number < num_devices:
        return
    listed = ", ".join(f"{index}: device {name}" for index, name in enumerate(visible)) or "none"
    raise OperationError(
        f"device_id {number} is out of range: this process sees {num_devices} "
        f"GPU{'' if num_devices == 1 else 's'} ({listed}). DEVICE_ID and device_id count the visible "
        "devices from 0, not those of the machine: with CUDA_VISIBLE_DEVICES=1,3,5 they are 0, 1 or 2."
    )


export_names(__name__, "hal", "get_device_capability", "get_device_name", "get_device_properties")
