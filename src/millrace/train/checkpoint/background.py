"""Saving beside the training: one writer at a time, on a thread that holds no lock of Python's while it writes.

What is to be written is copied first, into memory that is kept for the next save of the same values: then the training
may go on. A failure is logged when it happens and raised by whoever comes next: the next save, or :func:`wait`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch

from millrace.core.log import get_logger

from .entries import Entry

__all__ = ["running", "staged", "start", "wait"]

log = get_logger(__name__)

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
    for entry in entries:
        if isinstance(entry.data, bytes):
            made.append(entry)
            continue
        room = _rooms.get(entry.name)
        if room is None or room.shape != entry.data.shape or room.dtype != entry.data.dtype:
            room = torch.empty(entry.data.shape, dtype=entry.data.dtype, pin_memory=entry.data.is_cuda)
        room.copy_(entry.data, non_blocking=True)
        rooms[entry.name] = room
        made.append(entry._replace(data=room))
    if any(not isinstance(entry.data, bytes) and entry.data.is_cuda for entry in entries):
        torch.cuda.synchronize()
    _rooms.clear()
    _rooms.update(rooms)
    return made


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
