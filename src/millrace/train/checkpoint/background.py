"""Saving beside the training: one writer at a time, on a thread that holds no lock of Python's while it writes.

What is to be written is copied first, into memory that is kept for the next save of the same values: then the training
may go on. A failure is logged when it happens and raised by whoever comes next: the next save, or :func:`wait`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from millrace.core.cores import available_cores
from millrace.core.log import get_logger

from .entries import Entry, raw

__all__ = ["running", "staged", "start", "wait"]

log = get_logger(__name__)

_MANY = 64 << 20  # bytes from which on threads are worth their start
THREAD = "asyn_save_ckpt"  # MindSpore's name for it, by which scripts look for it

_lock = threading.Lock()
_writer: list[threading.Thread] = []
_failure: list[BaseException] = []
# Copies of the last save, by name: their memory has been touched before, which makes the next copy twice as fast.
_rooms: dict[str, torch.Tensor] = {}


def staged(entries: list[Entry]) -> list[Entry]:
    """The entries with copies of their values in host memory; wait for the last writer before, since it reads them."""
    rooms: dict[str, torch.Tensor] = {}
    made = []
    plain: list[tuple[memoryview, memoryview]] = []
    for entry in entries:
        if isinstance(entry.data, bytes):
            made.append(entry)
            continue
        room = _rooms.get(entry.name)
        if room is None or room.shape != entry.data.shape or room.dtype != entry.data.dtype:
            room = torch.empty(entry.data.shape, dtype=entry.data.dtype, pin_memory=entry.data.is_cuda)
        if entry.data.device.type == "cpu" and entry.data.is_contiguous() and not entry.data.is_conj():
            plain.append((raw(room), raw(entry.data)))
        else:
            room.copy_(entry.data, non_blocking=True)
        rooms[entry.name] = room
        made.append(entry._replace(data=room))
    _copied(plain)
    if any(not isinstance(entry.data, bytes) and entry.data.is_cuda for entry in entries):
        torch.cuda.synchronize()
    _rooms.clear()
    _rooms.update(rooms)
    return made


def _copied(pairs: list[tuple[memoryview, memoryview]]) -> None:
    """Copy bytes, on a few threads where there are many.

    PyTorch's own copy splits each tensor among its threads and waits for them at its end, which costs ten times as much
    where cores are shared; these threads meet once.
    """
    total = sum(len(source) for _, source in pairs)
    threads = min(4, available_cores()) if total >= _MANY else 1
    cuts = [total * (n + 1) // threads for n in range(threads)]
    jobs: list[list[tuple[memoryview, memoryview]]] = [[] for _ in cuts]
    at = part = 0
    for target, source in pairs:
        done = 0
        while done < len(source):
            end = min(len(source), done + cuts[part] - at)
            jobs[part].append((target[done:end], source[done:end]))
            at, done = at + end - done, end
            part += at >= cuts[part] and part + 1 < threads

    def copy(job: list[tuple[memoryview, memoryview]]) -> None:
        for target, source in job:
            # numpy lets other threads run while it copies
            np.copyto(np.frombuffer(target, np.uint8), np.frombuffer(source, np.uint8))

    if threads == 1:
        copy(jobs[0])
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(copy, jobs))


def start(write: Callable[[], None], what: str) -> None:
    """Run ``write`` on the thread; the interpreter does not end before it has."""

    def run() -> None:
        try:
            write()
        except BaseException as error:
            _failure[:] = [error]
            log.error("saving %s beside the training failed: %s", what, error)

    with _lock:
        thread = threading.Thread(target=run, name=THREAD)
        _writer[:] = [thread]
        thread.start()


def wait() -> None:
    """Wait for a save that is under way; what went wrong in it is raised here, once."""
    for thread in list(_writer):
        thread.join()
    _writer.clear()
    if _failure:
        raise _failure.pop()


def running() -> bool:
    """Whether a save is under way."""
    return any(thread.is_alive() for thread in _writer)
