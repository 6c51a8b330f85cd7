"""Threads, cores and launches: the settings of ``millrace.runtime`` that are not memory and not streams."""

from __future__ import annotations

import os
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.log import get_logger

from .context import get_context, set_context

__all__ = [
    "dispatch_threads_num",
    "launch_blocking",
    "set_cpu_affinity",
    "set_kernel_launch_capture",
    "set_kernel_launch_group",
]

logger = get_logger(__name__)

_initial_affinity: set[int] = set()


def dispatch_threads_num(threads_num: int) -> None:
    """How many threads compute one operation on a CPU.

    The number also decides in which order sums are taken: another one may change the last bits.

    >>> import torch
    >>> threads = torch.get_num_threads()
    >>> dispatch_threads_num(1)
    >>> torch.get_num_threads()
    1
    >>> dispatch_threads_num(threads)
    """
    if not isinstance(threads_num, (int, bool)):
        raise ArgumentTypeError(
            f"The parameter 'threads_num' must be <class 'int'>, but got {type(threads_num)}"
        )
    if isinstance(threads_num, bool) or threads_num < 1:
        error_class = ArgumentTypeError if isinstance(threads_num, bool) else ArgumentValueError
        raise error_class(
            f"The 'threads_num' must be int and must > 0, but got '{threads_num}' with type "
            f"'{type(threads_num).__name__}'."
        )
    set_context(runtime_num_threads=threads_num)
    torch.set_num_threads(threads_num)


def launch_blocking() -> None:
    """Let every operation on a GPU finish before the next begins, so that an error shows at its own line.

    CUDA asks for this when it starts: call it before the first tensor goes to the GPU. On a CPU it is so anyway.

    >>> launch_blocking()
    """
    set_context(pynative_synchronize=True)
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    if torch.cuda.is_initialized():
        logger.warning(
            "launch_blocking: the GPU is in use already; call it before the first tensor goes there"
        )


def set_cpu_affinity(
    enable_affinity: bool,
    affinity_cpu_list: dict[str, list[str]] | list[str] | None = None,
    module_to_cpu_dict: dict[str, list[int]] | None = None,
) -> None:
    """Keep this process on some cores: ``set_cpu_affinity(True, {"device0": ["0-3"]})``.

    A list holds for every device, a dict for the one in use. Without either nothing changes: the system places
    threads. Which of Millrace's threads gets which core (`module_to_cpu_dict`) is kept and changes nothing.

    >>> set_cpu_affinity(False)
    """
    if module_to_cpu_dict:
        logger.info("set_cpu_affinity(module_to_cpu_dict=...) is kept and changes nothing here")
    if not enable_affinity:
        if _initial_affinity:
            os.sched_setaffinity(0, _initial_affinity)
            _initial_affinity.clear()
        return
    if not affinity_cpu_list:
        logger.info("set_cpu_affinity(True) without a list: the system places threads")
        return
    if not isinstance(affinity_cpu_list, (dict, list)):
        raise ArgumentTypeError(
            f"The parameter 'affinity_cpu_list' must be dict or list, but got {type(affinity_cpu_list)}"
        )
    cores = _parse_cores(affinity_cpu_list)
    if cores is None:
        return
    if not hasattr(os, "sched_setaffinity"):
        logger.info("set_cpu_affinity: this system does not let a process choose its cores")
        return
    available = os.sched_getaffinity(0)
    for core in cores:
        if core not in available:
            raise OperationError(
                f"CPU id:{core} set in affinity_cpu_list:{affinity_cpu_list} is not available; this process may use "
                f"{sorted(available)}."
            )
    if not _initial_affinity:
        _initial_affinity.update(available)
    os.sched_setaffinity(0, cores)


def _parse_cores(affinity_cpu_list: dict[str, list[str]] | list[str]) -> list[int] | None:
    spans: Any = (
        affinity_cpu_list.get(f"device{get_context('device_id')}")
        if isinstance(affinity_cpu_list, dict)
        else affinity_cpu_list
    )
    if spans is None:
        return None
    if not isinstance(spans, list):
        raise ArgumentTypeError(f"The parameter '{spans}' must be list, but got {type(spans)}")
    cores: list[int] = []
    for span in spans:
        first, _, last = str(span).partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise ArgumentValueError(f"affinity_cpu_list has spans of cores such as '0-3', but got {span!r}.")
        cores += range(int(first), int(last or first) + 1)
    return cores


def set_kernel_launch_group(thread_num: int = 2, kernel_group_num: int = 8) -> None:
    """How Ascend's kernels are launched in groups. It is checked, kept and changes nothing here.

    >>> set_kernel_launch_group(2, 8)
    """
    for name, value in (("thread_num", thread_num), ("kernel_group_num", kernel_group_num)):
        if not isinstance(value, int):
            raise ArgumentTypeError(f"The parameter '{name}' must be <class 'int'>, but got {type(value)}")
        if value < 1:
            raise ArgumentValueError(f"The value of {name} should be at least 1, but got {value}")
    if kernel_group_num % thread_num:
        raise ArgumentValueError(
            f"Invalid parameter value, kernel_group_num: {kernel_group_num} cannot be evenly divisible by "
            f"thread_num: {thread_num}"
        )
    logger.info("set_kernel_launch_group is kept and changes nothing here")


def set_kernel_launch_capture(enable_capture_graph: bool) -> None:
    """Capturing launches: Graph mode does so on a GPU by itself. It is checked, kept and changes nothing.

    >>> set_kernel_launch_capture(True)
    """
    if not isinstance(enable_capture_graph, bool):
        raise ArgumentTypeError(
            f"The parameter 'enable_capture_graph' must be <class 'bool'>, but got {type(enable_capture_graph)}"
        )
    logger.info("set_kernel_launch_capture: Graph mode captures launches on a GPU by itself")
