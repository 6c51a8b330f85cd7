"""Copy values for an asynchronous save: immediately, or while the next step computes.

A step reads parameters most of the time and writes them at its end. Large parameters are therefore copied in parallel
with the step, and the first operation that writes to one of them waits for its copy: no file mixes two steps. Writes
are detected inside of :func:`guard_writes`, which a Model's training uses after a save; only there copies are deferred.
A save anywhere else copies everything before it returns.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

from millrace._src.core.machine.cores import available_cores
from millrace._src.runtime.tensor import storage
from millrace._src.runtime.tensor.backend.torch_private import DispatchMode, describe_operator

from .state_entries import StateEntry, raw

__all__ = ["StagingCopy", "wait_for_staging", "stage_entries", "_pending_copies", "guard_writes"]

# minimum bytes for using threads
_MANY = 64 << 20
# minimum bytes for deferred copies; smaller values, such as statistics, are written early in a step
_LARGE = 1 << 20

# Host buffers of the last save by name: reuse avoids page faults, which halves the copy time.
_rooms: dict[str, torch.Tensor] = {}
# Pending copies: at most one, since a save waits for the previous one.
_pending_copies: list[StagingCopy] = []
_here = threading.local()

Pairs = list[tuple[memoryview, memoryview]]


class StagingCopy:
    """Pending copies of values, which must not be written to before."""

    def __init__(self, pairs: Pairs, sources: list[torch.Tensor]) -> None:
        self._pairs = pairs
        self.storage_pointers = {source.untyped_storage().data_ptr() for source in sources}
        self._done = threading.Event()

    def run(self) -> None:
        """Run the copies; called once, on the writer thread."""
        try:
            _copy_pairs(self._pairs)
        finally:
            self.end()

    def end(self) -> None:
        """Mark the copies as finished, also after an error."""
        with contextlib.suppress(ValueError):
            _pending_copies.remove(self)
        self._pairs = []
        self._done.set()

    def wait(self) -> None:
        """Wait until everything is copied."""
        self._done.wait()


def wait_for_staging() -> None:
    """Wait for pending copies; afterwards all values may be written to."""
    for each in list(_pending_copies):
        each.wait()


@contextlib.contextmanager
def guard_writes() -> Iterator[None]:
    """Inside this context, writes to values with pending copies wait for them, so that saves may defer copies."""
    before = getattr(_here, "watched", False)
    _here.watched = True
    storage.shared_memory_listeners.append(_wait_before_writing)
    storage.opaque_call_listeners.append(wait_for_staging)
    try:
        with _Guard():
            yield
    finally:
        storage.opaque_call_listeners.remove(wait_for_staging)
        storage.shared_memory_listeners.remove(_wait_before_writing)
        _here.watched = before


def _wait_before_writing(tensor: torch.Tensor) -> None:
    for copying in tuple(_pending_copies):  # the writer thread removes it when done
        if tensor.untyped_storage().data_ptr() in copying.storage_pointers:
            copying.wait()


class _Guard(DispatchMode):
    """Dispatch mode that checks the written tensors of every operation while copies are pending."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _pending_copies:
            for tensor in _written_tensors(func, args, kwargs):
                _wait_before_writing(tensor)
        return func(*args, **kwargs)


def _written_tensors(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[torch.Tensor]:
    """The tensors that an operation writes to; for non-PyTorch operations, all its arguments."""
    operator = describe_operator(func)
    known = operator.name.startswith("aten::")
    if known and not operator.is_mutable:
        return
    if operator.arguments is None or not known:
        values = [*args, *kwargs.values()]
    else:
        written = [(index, name) for index, (name, writes) in enumerate(operator.arguments) if writes]
        values = [args[index] if index < len(args) else kwargs.get(name) for index, name in written]
    for value in values:
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(each, torch.Tensor):
                yield each


def stage_entries(entries: list[StateEntry]) -> tuple[list[StateEntry], StagingCopy]:
    """Copy entries to host buffers; returns the staged entries and the pending copies.

    Wait for the previous writer first: it reads these buffers.
    """
    rooms: dict[str, torch.Tensor] = {}
    staged, now, later, sources = [], Pairs(), Pairs(), []
    puts_off = getattr(_here, "watched", False)
    for entry in entries:
        if isinstance(entry.data, bytes):
            staged.append(entry)
            continue
        buffer = _rooms.get(entry.name)
        if buffer is None or buffer.shape != entry.data.shape or buffer.dtype != entry.data.dtype:
            buffer = torch.empty(entry.data.shape, dtype=entry.data.dtype, pin_memory=entry.data.is_cuda)
        if entry.data.device.type != "cpu" or not entry.data.is_contiguous() or entry.data.is_conj():
            buffer.copy_(entry.data, non_blocking=True)
        elif puts_off and entry.nbytes >= _LARGE:
            later.append((raw(buffer), raw(entry.data)))
            sources.append(entry.data)
        else:
            now.append((raw(buffer), raw(entry.data)))
        rooms[entry.name] = buffer
        staged.append(entry._replace(data=buffer))
    _copy_pairs(now)
    if any(not isinstance(entry.data, bytes) and entry.data.is_cuda for entry in entries):
        torch.cuda.synchronize()
    _rooms.clear()
    _rooms.update(rooms)
    copying = StagingCopy(later, sources)
    if later:
        _pending_copies.append(copying)
    return staged, copying


def _copy_pairs(pairs: Pairs) -> None:
    """Copy bytes, on a few threads if they are many.

    PyTorch's copy splits each tensor among its threads and joins them, which costs ten times as much on shared cores;
    these threads are joined once.
    """
    total = sum(len(source) for _, source in pairs)
    threads = min(4, available_cores()) if total >= _MANY else 1
    cuts = [total * (n + 1) // threads for n in range(threads)]
    jobs: list[Pairs] = [[] for _ in cuts]
    at = part = 0
    for target, source in pairs:
        done = 0
        while done < len(source):
            end = min(len(source), done + cuts[part] - at)
            jobs[part].append((target[done:end], source[done:end]))
            at, done = at + end - done, end
            part += at >= cuts[part] and part + 1 < threads

    def copy(job: Pairs) -> None:
        for target, source in job:
            # numpy releases the GIL while it copies
            np.copyto(np.frombuffer(target, np.uint8), np.frombuffer(source, np.uint8))

    if threads == 1:
        copy(jobs[0])
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(copy, jobs))
