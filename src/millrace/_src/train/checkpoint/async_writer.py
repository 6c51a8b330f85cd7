"""Asynchronous saving: one writer thread at a time, which releases the GIL while it writes.

Values are first copied to host buffers that are reused by the next save (``staging.py``). An error is logged when it
happens and raised by the next save, or by :func:`wait_for_save`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from millrace._src.core.log import get_logger

from .staging import StagingCopy

__all__ = ["is_saving", "start_async_save", "wait_for_save"]

log = get_logger(__name__)

THREAD = "asyn_save_ckpt"  # MindSpore's thread name, which scripts search for

_lock = threading.Lock()
_writer: list[threading.Thread] = []
_failure: list[BaseException] = []


def start_async_save(write: Callable[[], None], what: str, copying: StagingCopy) -> None:
    """Run the pending copies and ``write`` on a thread; the interpreter waits for it at exit."""

    def run() -> None:
        try:
            copying.run()
            write()
        except BaseException as error:
            _failure[:] = [error]
            log.error("saving %s asynchronously failed: %s", what, error)

    with _lock:
        thread = threading.Thread(target=run, name=THREAD)
        _writer[:] = [thread]
        try:
            thread.start()
        except BaseException:  # no thread could be started: the copies will not run
            copying.end()
            raise


def wait_for_save() -> None:
    """Wait for the running save; its error is raised here, once."""
    for thread in list(_writer):
        thread.join()
    _writer.clear()
    if _failure:
        raise _failure.pop()


def is_saving() -> bool:
    """Whether a save is running."""
    return any(thread.is_alive() for thread in _writer)
