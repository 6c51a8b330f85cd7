"""Saving beside the training: one writer at a time, on a thread that holds no lock of Python's while it writes.

What is to be written is copied first, into memory that is kept for the next save of the same values (``copying.py``). A
failure is logged when it happens and raised by whoever comes next: the next save, or :func:`wait_for_save`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from millrace._src.core.log import get_logger

from .staging import StagingCopy

__all__ = ["is_saving", "start_async_save", "wait_for_save"]

log = get_logger(__name__)

THREAD = "asyn_save_ckpt"  # MindSpore's name for it, by which scripts look for it

_lock = threading.Lock()
_writer: list[threading.Thread] = []
_failure: list[BaseException] = []


def start_async_save(write: Callable[[], None], what: str, copying: StagingCopy) -> None:
    """Copy what is left to copy, and run ``write``, on the thread; the interpreter does not end before it has."""

    def run() -> None:
        try:
            copying.run()
            write()
        except BaseException as error:
            _failure[:] = [error]
            log.error("saving %s beside the training failed: %s", what, error)

    with _lock:
        thread = threading.Thread(target=run, name=THREAD)
        _writer[:] = [thread]
        try:
            thread.start()
        except BaseException:  # no more threads: nobody will copy
            copying.end()
            raise


def wait_for_save() -> None:
    """Wait for a save that is under way; what went wrong in it is raised here, once."""
    for thread in list(_writer):
        thread.join()
    _writer.clear()
    if _failure:
        raise _failure.pop()


def is_saving() -> bool:
    """Whether a save is under way."""
    return any(thread.is_alive() for thread in _writer)
