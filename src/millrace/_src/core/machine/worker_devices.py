"""Device support in worker threads and processes, by start method: one table for errors, docs and tests.

User functions of ``GeneratorDataset`` and ``map`` run in threads, or in worker processes with one of three start
methods. Operations that cannot work there raise an error with the reason and an alternative before the driver is
called: a driver would hang or end the process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from millrace._src.core.errors import PlanError
from millrace._src.core.log import warn_once

__all__ = [
    "DEVICES",
    "RULES",
    "START_METHODS",
    "DeviceSupport",
    "check_independent",
    "set_start_method",
    "unsupported_error",
    "worker_start_method",
    "on_worker_start",
]

DEVICES = ("CPU", "GPU")
START_METHODS = ("threads", "forkserver", "spawn", "fork", "independent process")


class DeviceSupport(NamedTuple):
    """Whether a combination works, a note or the reason, and the alternative."""

    works: bool
    note: str
    instead: str = ""


_CONTEXT = (
    "a separate process: call set_device in the function; each process needs some hundred MB of GPU memory, and "
    "runtime.set_memory(max_size=...) limits the rest"
)
RULES: dict[tuple[str, str], DeviceSupport] = {
    ("threads", "CPU"): DeviceSupport(True, "in this process, concurrent with the training step"),
    ("threads", "GPU"): DeviceSupport(
        True, "in this process and its GPU memory, concurrent with the training step"
    ),
    ("forkserver", "CPU"): DeviceSupport(True, "a separate process, with one thread of PyTorch"),
    ("forkserver", "GPU"): DeviceSupport(True, _CONTEXT),
    ("spawn", "CPU"): DeviceSupport(True, "a separate process, with one thread of PyTorch"),
    ("spawn", "GPU"): DeviceSupport(True, _CONTEXT),
    ("fork", "CPU"): DeviceSupport(True, "a copy of this process, with one thread of PyTorch"),
    ("fork", "GPU"): DeviceSupport(
        False,
        "a forked process has a copy of the driver's state that does not work: the driver belongs to the parent",
        'start workers anew, config.set_multiprocessing_start_method("spawn") or "forkserver", or use threads, '
        "python_multiprocessing=False",
    ),
    ("independent process", "CPU"): DeviceSupport(
        True, "MS_INDEPENDENT_DATASET is not used: the pipeline runs in threads of this process"
    ),
    ("independent process", "GPU"): DeviceSupport(
        True, "MS_INDEPENDENT_DATASET is not used: the pipeline runs in threads of this process"
    ),
}

_start_method = "threads"
_listeners: list[Callable[[str], None]] = []


def worker_start_method() -> str:
    """The start method of this worker process; "threads" in the main process.

    >>> worker_start_method()
    'threads'
    """
    return _start_method


def set_start_method(start_method: str) -> None:
    """Set the start method of this worker process, and call the listeners."""
    global _start_method
    _start_method = start_method
    for listener in _listeners:
        listener(start_method)


def on_worker_start(listener: Callable[[str], None]) -> None:
    """Register a function to call with the start method in a worker; it is called at once if that is known already."""
    _listeners.append(listener)
    if _start_method != "threads":
        listener(_start_method)


def unsupported_error(start_method: str, device: str, operation: str) -> PlanError:
    """The error for an unsupported combination.

    >>> print(unsupported_error("fork", "GPU", "zeros"))
    zeros: the GPU cannot be used in a worker process that was started by fork: a forked process has a copy of the \
driver's state that does not work: the driver belongs to the parent. Instead, start workers anew, \
config.set_multiprocessing_start_method("spawn") or "forkserver", or use threads, python_multiprocessing=False.
    """
    rule = RULES[start_method, device]
    return PlanError(
        f"{operation}: the {device} cannot be used in a worker process that was started by {start_method}: "
        f"{rule.note}. Instead, {rule.instead}."
    )


def check_independent() -> None:
    """Warn once that the variable MS_INDEPENDENT_DATASET has no effect."""
    if os.environ.get("MS_INDEPENDENT_DATASET", "").lower() in ("true", "1"):
        warn_once(
            "independent-dataset",
            "MS_INDEPENDENT_DATASET is not used: the pipeline runs in threads of this process, concurrent with the "
            "training step; python_multiprocessing=True runs user functions in separate processes (logged once)",
        )
