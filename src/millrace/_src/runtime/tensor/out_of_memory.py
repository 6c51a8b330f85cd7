"""Out-of-memory report: requested and free memory, the largest tensors and where they were allocated, and
advice.

Tensors are searched only after memory has run out. The allocation line is known for tensors that a variable
of user code refers to. ``set_context(debug_level=1)`` or ``MILLRACE_TENSOR_ORIGINS=1`` records the line of
every allocation.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import types
import weakref
from typing import Any

import torch

from millrace._src.core.machine.cgroup import cgroup_memory, memory_info
from millrace._src.core.values.tensor import Tensor

from .backend.context import get_context, setting_listeners
from .backend.gpu_processes import format_processes, gpu_processes
from .backend.torch_private import DispatchMode, out_of_memory
from .source_location import is_internal_file, user_source_line

__all__ = ["out_of_memory_report", "is_out_of_memory", "track_allocations"]

MAX_TENSORS_SHOWN = 5
_UNITS = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_WANTED = re.compile(
    r"[Tt]ried to allocate ([\d.]+) (bytes|[KMGT]iB)|[Uu]nable to allocate ([\d.]+) (bytes|[KMGT]iB)"
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory ran out, on a GPU or on the host."""
    return isinstance(error, (out_of_memory, MemoryError)) or "can't allocate memory" in str(error)


def out_of_memory_report(error: BaseException, capped: int | None = None) -> list[str]:
    """The lines of an out-of-memory error."""
    on_gpu = isinstance(error, out_of_memory) and torch.cuda.is_available()
    wanted = _requested_bytes(str(error))
    free, total = torch.cuda.mem_get_info() if on_gpu else _host_memory()
    where = torch.cuda.get_device_name() if on_gpu else "the host"
    lines = [
        f"  wanted: {_format_bytes(wanted)}; free: {_format_bytes(free)}; total: {_format_bytes(total)} ({where})",
    ]
    if on_gpu and capped is not None:
        lines.append(
            f"  cap: {_format_bytes(capped)} by set_memory(max_size=...), of which tensors hold "
            f"{_format_bytes(torch.cuda.memory_allocated())}; the driver's context is added"
        )
    if on_gpu:
        processes = gpu_processes(f"GPU-{_device_uuid()}")
        if processes:
            lines.append("  processes on the GPU:")
            lines += [f"    {line}" for line in format_processes(processes)]
    largest = largest_tensors(on_gpu)
    if largest:
        lines.append("  the largest tensors:")
        lines += [f"    {line}" for line in largest]
    lines.append(f"  what helps: {_advice(wanted, total)}")
    return lines


def _device_uuid() -> str:
    """The UUID of the GPU; "" if PyTorch cannot query it: an error about memory must not become another
    error.
    """
    try:
        return str(torch.cuda.get_device_properties(torch.cuda.current_device()).uuid)
    except (RuntimeError, AssertionError, AttributeError):
        return ""


def _advice(wanted: int | None, total: int | None) -> str:
    if wanted is not None and total is not None and wanted > total:
        return "this one tensor is larger than all the memory: check the shapes above"
    helps = "a smaller batch_size; float16 or bfloat16; recompute for activations; smaller shapes of the tensors above"
    return (
        helps
        if _origins is not None
        else helps + "; set_context(debug_level=1) shows where each was allocated"
    )


def largest_tensors(on_gpu: bool) -> list[str]:
    """The largest live tensors, one line for each storage."""
    names = _user_variable_names()
    rows: dict[int, tuple[int, str]] = {}
    for thing in gc.get_objects():
        object_type = type(thing)  # `__class__` of some objects runs code
        if issubclass(object_type, Tensor):
            data = _raw_tensor(thing)
        elif issubclass(object_type, torch.Tensor):
            data = thing
        else:
            continue
        if data is None or data.is_cuda != on_gpu or data.device.type == "meta":
            continue
        store = data.untyped_storage()
        key, size = store.data_ptr(), store.nbytes()
        description = _describe_tensor(thing, data, names)
        if size and (key not in rows or len(description) > len(rows[key][1])):
            rows[key] = (size, description)
    most = sorted(rows.values(), key=lambda row: -row[0])[:MAX_TENSORS_SHOWN]
    return [f"{_format_bytes(size):>9}  {description}" for size, description in most]


def _raw_tensor(tensor: Tensor) -> torch.Tensor | None:
    """The PyTorch tensor of a Tensor, without materializing it."""
    try:
        data: torch.Tensor = object.__getattribute__(tensor, "_torch")
    except AttributeError:
        return None
    return data


def _describe_tensor(thing: Any, data: torch.Tensor, names: dict[int, str]) -> str:
    shape = f"shape {list(data.shape)}, {str(data.dtype).removeprefix('torch.')}"
    parameter_name = (
        getattr(thing, "name", "") if isinstance(thing, Tensor) and hasattr(thing, "is_named") else ""
    )
    parts = [f"Parameter {parameter_name}: {shape}" if parameter_name else shape]
    if id(thing) in names:
        parts.append(names[id(thing)])
    allocation_line = _origins.line_of(data) if _origins is not None else ""
    if allocation_line:
        parts.append(f"allocated at {allocation_line}")
    return ", ".join(parts)


def _user_variable_names() -> dict[int, str]:
    """The tensors that variables of running user functions refer to, with the variable names."""
    names: dict[int, str] = {}
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_internal_file(frame.f_code.co_filename):
            location = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
            for name, value in frame.f_locals.items():
                if isinstance(value, (Tensor, torch.Tensor)):
                    names.setdefault(id(value), f"{name!r} in {frame.f_code.co_name} ({location})")
        frame = frame.f_back
    return names


def _requested_bytes(text: str) -> int | None:
    match = _WANTED.search(text)
    if match is None:
        return None
    number, unit = (match[1], match[2]) if match[1] else (match[3], match[4])
    return int(float(number) * _UNITS[unit])


def _host_memory() -> tuple[int | None, int | None]:
    """Free and total bytes of the host, or of the container if its limit is lower."""
    known = memory_info()
    free, total = known.get("MemAvailable"), known.get("MemTotal")
    limit = cgroup_memory()
    if limit is not None and total is not None and limit < total:
        return (None if free is None else min(free, limit)), limit
    return free, total


def _format_bytes(size: float | None) -> str:
    if size is None:
        return "unknown"
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


# --- allocation tracking -------------------------------------------------------------------------------------


class _AllocationTracker(DispatchMode):
    """Records the user's source line for every tensor that PyTorch allocates, as long as it lives."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: dict[int, tuple[weakref.ref[torch.Tensor], str]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        line = user_source_line()
        for tensor in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(tensor, torch.Tensor):
                self._note(tensor, line)
        return result

    def _note(self, tensor: torch.Tensor, line: str) -> None:
        key = tensor.untyped_storage().data_ptr()
        known = self._lines.get(key)
        if known is None or known[0]() is None:  # the first tensor in this storage
            self._lines[key] = weakref.ref(tensor), line

    def line_of(self, tensor: torch.Tensor) -> str:
        known = self._lines.get(tensor.untyped_storage().data_ptr())
        return "" if known is None else known[1]


_origins: _AllocationTracker | None = None


def track_allocations(wanted: bool) -> None:
    """Start or stop recording where tensors are allocated, in this thread."""
    global _origins
    if wanted and _origins is None:
        _origins = _AllocationTracker()
        _origins.__enter__()
    elif not wanted and _origins is not None:
        _origins.__exit__(None, None, None)
        _origins = None


def _on_setting_changed(name: str, value: Any) -> None:
    if name == "debug_level":
        track_allocations(bool(value))


setting_listeners.append(_on_setting_changed)
if get_context("debug_level") or os.environ.get("MILLRACE_TENSOR_ORIGINS", "") not in ("", "0"):
    track_allocations(True)
