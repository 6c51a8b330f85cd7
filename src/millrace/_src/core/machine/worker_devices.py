"""Where operations on a device may run beside the thread that trains: one table, which errors, pages and tests read.

User functions of ``GeneratorDataset`` and ``map`` run in threads, or in worker processes that are started in one of
three ways. What cannot work there is refused where it is tried, with the reason and the way out, before the driver sees
it: a driver would hang, or take the process with it.
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
    """Whether it works; what is to be known, or why not; and what to do instead."""

    works: bool
    note: str
    instead: str = ""


_CONTEXT = (
    "a process of its own: call set_device in the function; each takes some hundred MB of the card for itself, and "
    "runtime.set_memory(max_size=...) there caps the rest"
)
RULES: dict[tuple[str, str], DeviceSupport] = {
    ("threads", "CPU"): DeviceSupport(True, "in this process, beside the step"),
    ("threads", "GPU"): DeviceSupport(True, "in this process and its memory of the card, beside the step"),
    ("forkserver", "CPU"): DeviceSupport(True, "a process of its own, with one thread of PyTorch"),
    ("forkserver", "GPU"): DeviceSupport(True, _CONTEXT),
    ("spawn", "CPU"): DeviceSupport(True, "a process of its own, with one thread of PyTorch"),
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
    """How this process came to run a pipeline's functions; in the user's own it is "threads".

    >>> worker_start_method()
    'threads'
    """
    return _start_method


def set_start_method(start_method: str) -> None:
    """This process is a worker that was started so; whoever watches over devices is told."""
    global _start_method
    _start_method = start_method
    for listener in _listeners:
        listener(start_method)


def on_worker_start(listener: Callable[[str], None]) -> None:
    """Call this in a worker with the way it was started; at once where that is known already."""
    _listeners.append(listener)
    if _start_method != "threads":
        listener(_start_method)


def unsupported_error(start_method: str, device: str, operation: str) -> PlanError:
    """The error for a combination that the table refuses.

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
    """Say once that the variable which asks for a data process of its own changes nothing."""
    if os.environ.get("MS_INDEPENDENT_DATASET", "").lower() in ("true", "1"):
        warn_once(
            "independent-dataset",
            "MS_INDEPENDENT_DATASET is not used: the pipeline runs in threads of this process, beside the step, and "
            "python_multiprocessing=True gives user functions processes of their own (said once)",
        )
