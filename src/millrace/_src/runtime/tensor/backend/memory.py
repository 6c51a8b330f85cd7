"""Memory of the device: allocator statistics and limits. On a CPU the statistics are 0."""

from __future__ import annotations

import re
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.log import get_logger
from millrace._src.core.public import public

from .context import get_context, get_device, set_context, setting_listeners

__all__ = [
    "parse_size",
    "empty_cache",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_replay",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_max_memory_allocated",
    "reset_max_memory_reserved",
    "reset_peak_memory_stats",
    "set_memory",
]

logger = get_logger(__name__)

_SIZE = r"[1-9][0-9]*(\.)?[0-9]*GB|0\.[0-9]*GB"
_RESERVE = r"[0-9][0-9]*(\.)?[0-9]*GB|0\.[0-9]*GB"
_memory_settings: dict[str, str] = {}


@public("millrace", "runtime")
def set_memory(
    init_size: str = "2GB",
    increase_size: str = "2GB",
    max_size: str = "1024GB",
    optimize_level: str = "O0",
    huge_page_reserve_size: str = "0GB",
) -> None:
    """Limit the GPU memory of tensors: ``set_memory(max_size="2GB")``.

    The limit applies to the allocator; the driver's context, some hundred MB, is added. A later call replaces
    an earlier one, whereas MindSpore raises an error. The other sizes are stored and have no effect, and on a
    CPU the limit has none.

    >>> set_memory(max_size="8GB")
    >>> set_memory()
    """
    sizes = {"init_size": init_size, "increase_size": increase_size, "max_size": max_size}
    settings = {**sizes, "optimize_level": optimize_level, "huge_page_reserve_size": huge_page_reserve_size}
    for name, value in settings.items():
        if not isinstance(value, str):
            raise ArgumentTypeError(f"The parameter '{name}' must be <class 'str'>, but got {type(value)}")
    if optimize_level not in ("O0", "O1"):
        raise ArgumentValueError(f"The optimize_level must be one of ['O0', 'O1'], but got {optimize_level}.")
    for name, pattern in [*((name, _SIZE) for name in sizes), ("huge_page_reserve_size", _RESERVE)]:
        if not re.fullmatch(pattern, settings[name], re.ASCII) or (
            pattern is _SIZE and parse_size(settings[name]) == 0
        ):
            raise ArgumentValueError(
                f"The '{settings[name]}' is illegal, it must be match regular'{pattern}' by flags're.ASCII.'"
            )
    _memory_settings.update(settings)
    set_context(max_device_memory=max_size, memory_optimize_level=optimize_level)
    if get_device() == "cpu" and max_size != "1024GB":
        logger.info("set_memory(max_size=%s): stored and without effect on a CPU", max_size)


def parse_size(size: str) -> int:
    """Parse a size in MindSpore's notation into bytes.

    >>> parse_size("1.5GB")
    1610612736
    """
    return int(float(size.removesuffix("GB")) * 2**30)


def memory_limit() -> int | None:
    """The limit of :func:`set_memory` in bytes, or None without one."""
    size = get_context("max_device_memory")
    return None if size == "1024GB" else parse_size(size)


def _apply_memory_limit(name: str, value: Any) -> None:
    if name not in ("max_device_memory", "device_target", "device_id") or get_device() == "cpu":
        return
    if name != "max_device_memory" and memory_limit() is None:
        return
    total = torch.cuda.get_device_properties(get_device()).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, (memory_limit() or total) / total), get_device())


setting_listeners.append(_apply_memory_limit)
_apply_memory_limit("max_device_memory", None)


def _allocator_stat(name: str, device_target: str | None) -> int:
    if _on_cpu(device_target):
        return 0
    return int(getattr(torch.cuda, name)(get_device()))


def _on_cpu(device_target: str | None) -> bool:
    from .device_properties import resolve_device_target

    target = resolve_device_target(device_target)
    return target == "CPU" or get_device() == "cpu"


@public("millrace", "runtime", "hal")
def memory_allocated(device_target: str | None = None) -> int:
    """Bytes of GPU memory in use by tensors; 0 on a CPU.

    >>> memory_allocated("CPU")
    0
    """
    return _allocator_stat("memory_allocated", device_target)


@public("millrace", "runtime", "hal")
def max_memory_allocated(device_target: str | None = None) -> int:
    """The peak of GPU memory in use by tensors; 0 on a CPU.

    >>> max_memory_allocated("CPU")
    0
    """
    return _allocator_stat("max_memory_allocated", device_target)


@public("millrace", "runtime", "hal")
def memory_reserved(device_target: str | None = None) -> int:
    """Bytes of GPU memory reserved by the allocator; 0 on a CPU.

    >>> memory_reserved("CPU")
    0
    """
    return _allocator_stat("memory_reserved", device_target)


@public("millrace", "runtime", "hal")
def max_memory_reserved(device_target: str | None = None) -> int:
    """The peak of GPU memory reserved by the allocator; 0 on a CPU.

    >>> max_memory_reserved("CPU")
    0
    """
    return _allocator_stat("max_memory_reserved", device_target)


@public("millrace", "runtime", "hal")
def memory_stats(device_target: str | None = None) -> dict[str, Any]:
    """Statistics of the allocator, under MindSpore's names.

    >>> memory_stats("CPU")["total_allocated_memory"]
    0
    """
    reserved, allocated = memory_reserved(device_target), memory_allocated(device_target)
    pool = {"block_unit_size": 0, "block_counts": 0, "blocks_info": {}}
    return {
        "total_reserved_memory": reserved,
        "total_allocated_memory": allocated,
        "total_idle_memory": reserved - allocated,
        "total_eager_free_memory": 0,
        "max_reserved_memory": max_memory_reserved(device_target),
        "max_allocated_memory": max_memory_allocated(device_target),
        "commom_mem_pool_stats": dict(pool),  # MindSpore's spelling
        "persistent_mem_pool_stats": dict(pool),
    }


@public("millrace", "runtime", "hal")
def memory_summary(device_target: str | None = None) -> str:
    """Statistics of the allocator as a table.

    >>> print(memory_summary("CPU").splitlines()[5])
    | Reserved memory      |      0 B             |
    """
    stats = memory_stats(device_target)
    rows = {
        "Reserved memory": stats["total_reserved_memory"],
        "Allocated memory": stats["total_allocated_memory"],
        "Idle memory": stats["total_idle_memory"],
        "Eager free memory": stats["total_eager_free_memory"],
        "Max reserved memory": stats["max_reserved_memory"],
        "Max allocated memory": stats["max_allocated_memory"],
    }
    rule, line = f"|{'=' * 45}|", f"|{'-' * 45}|"
    shown = f"\n{line}\n".join(
        f"| {name:<20} | {_format_bytes(value):<20} |" for name, value in {"Metric": "Data", **rows}.items()
    )
    return f"{rule}\n|{'Memory summary':^45}|\n{rule}\n{shown}\n{rule}\n"


def _format_bytes(value: int | str) -> str:
    if isinstance(value, str):
        return value
    for unit in ("B", "KB", "MB"):
        if value < 10240:
            return f"{value:>6} {unit}"
        value //= 1024
    return f"{value:>6} GB"


def _reset(device_target: str | None) -> None:
    if not _on_cpu(device_target):
        torch.cuda.reset_peak_memory_stats(get_device())


@public("millrace", "runtime", "hal")
def reset_peak_memory_stats(device_target: str | None = None) -> None:
    """Reset the peak statistics.

    >>> reset_peak_memory_stats()
    """
    _reset(device_target)


@public("millrace", "runtime", "hal")
def reset_max_memory_allocated(device_target: str | None = None) -> None:
    """Reset the peak statistics.

    >>> reset_max_memory_allocated()
    """
    _reset(device_target)


@public("millrace", "runtime", "hal")
def reset_max_memory_reserved(device_target: str | None = None) -> None:
    """Reset the peak statistics.

    >>> reset_max_memory_reserved()
    """
    _reset(device_target)


@public("millrace", "runtime", "hal")
def empty_cache() -> None:
    """Release unused cached memory of the allocator to the GPU; no effect on a CPU.

    >>> empty_cache()
    """
    if get_device() != "cpu":
        torch.cuda.empty_cache()


@public("millrace", "runtime")
def memory_replay(file_path: str) -> None:
    """Replay a trace of Ascend's memory pool: not supported, raises an error."""
    if not isinstance(file_path, str):
        raise ArgumentTypeError(f"For 'memory_replay', 'file_path' must be str, but got {type(file_path)}.")
    raise OperationError(
        "memory_replay reads traces of Ascend's memory pool, which is not supported. runtime.memory_summary() shows "
        "the memory in use, and set_context(debug_level=1) makes an out-of-memory error name the lines that "
        "allocated it."
    )
