"""CPU threads, CPU affinity and kernel launches: settings of ``millrace.runtime``."""

from __future__ import annotations

import os
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.log import get_logger
from millrace._src.core.public import public

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


@public("millrace", "runtime")
def dispatch_threads_num(threads_num: int) -> None:
    """Set the number of threads that compute one operation on the CPU.

    The number also determines the order of summation, so that another number may change the last bits.

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


@public("millrace", "runtime")
def launch_blocking() -> None:
    """Run every GPU operation to completion before the next one starts, so that an error is raised at its own
    line.

    CUDA reads this setting when it is initialized: call it before the first tensor is on the GPU. It has no
    effect on a CPU.

    >>> launch_blocking()
    """
    set_context(pynative_synchronize=True)
    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    if torch.cuda.is_initialized():
        logger.warning(
            "launch_blocking: the GPU is already initialized; call it before the first tensor is on the GPU"
        )


@public("millrace", "runtime")
def set_cpu_affinity(
    enable_affinity: bool,
    affinity_cpu_list: dict[str, list[str]] | list[str] | None = None,
    module_to_cpu_dict: dict[str, list[int]] | None = None,
) -> None:
    """Bind this process to CPU cores: ``set_cpu_affinity(True, {"device0": ["0-3"]})``.

    A list applies to every device, a dict to the device in use. Without either the operating system schedules
    the threads. `module_to_cpu_dict` is stored and has no effect.

    >>> set_cpu_affinity(False)
    """
    if module_to_cpu_dict:
        logger.info("set_cpu_affinity(module_to_cpu_dict=...) is stored and has no effect here")
    if not enable_affinity:
        if _initial_affinity:
            os.sched_setaffinity(0, _initial_affinity)
            _initial_affinity.clear()
        return
    if not affinity_cpu_list:
        logger.info("set_cpu_affinity(True) without a list: the operating system schedules the threads")
        return
    if not isinstance(affinity_cpu_list, (dict, list)):
        raise ArgumentTypeError(
            f"The parameter 'affinity_cpu_list' must be dict or list, but got {type(affinity_cpu_list)}"
        )
    cores = _parse_cores(affinity_cpu_list)
    if cores is None:
        return
    if not hasattr(os, "sched_setaffinity"):
        logger.info("set_cpu_affinity: this system does not support CPU affinity")
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
            raise ArgumentValueError(
                f"affinity_cpu_list must hold ranges of cores such as '0-3', but got {span!r}."
            )
        cores += range(int(first), int(last or first) + 1)
    return cores


@public("millrace", "runtime")
def set_kernel_launch_group(thread_num: int = 2, kernel_group_num: int = 8) -> None:
    """Set the group size of kernel launches on Ascend. It is validated, stored and has no effect here.

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
    logger.info("set_kernel_launch_group is stored and has no effect here")


@public("millrace", "runtime")
def set_kernel_launch_capture(enable_capture_graph: bool) -> None:
    """Set whether kernel launches are captured. Validated and stored only: Graph mode captures launches on a
    GPU by default.

    >>> set_kernel_launch_capture(True)
    """
    if not isinstance(enable_capture_graph, bool):
        raise ArgumentTypeError(
            f"The parameter 'enable_capture_graph' must be <class 'bool'>, but got {type(enable_capture_graph)}"
        )
    logger.info("set_kernel_launch_capture: Graph mode captures launches on a GPU by default")
