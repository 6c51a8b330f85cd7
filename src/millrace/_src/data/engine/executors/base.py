"""Executor interface: `submit(chunk) -> Task`, resizing, stack dumps and shutdown.

An executor has no ordering duty; the segment stage keeps the order in its queue.
"""

from __future__ import annotations

import _thread
import contextlib
from collections.abc import Callable
from typing import Any, Protocol

from millrace._src.core.executor_traits import ExecutorTraits, executor_traits
from millrace._src.core.values.chunk import Chunk

__all__ = ["Executor", "ChunkFunction", "Task"]


class ChunkFunction(Protocol):
    """The work of a segment as one callable: pure, thread-safe, picklable by cloudpickle.

    Readers are reopened in each worker process; ``close()`` closes them. A runner returns the result chunk and a small
    report (seconds per op, failed rows) that the stage adds to its statistics; both cross process boundaries.
    """

    # It never writes into its input chunk: it contains no user function.
    leaves_input_unmodified: bool

    def __call__(self, chunk: Chunk) -> tuple[Chunk, Any]: ...

    def paths(self) -> list[str]:
        """Files and folders of this machine that a worker on another machine must be able to open."""

    def init_worker(self, worker: int) -> None:
        """Called once in a worker process, before the first chunk, with the worker's number in its executor."""

    def describe(self) -> str:
        """A description of the ops, for error messages and stack dumps."""

    def close(self) -> None: ...


class Task:
    """One submitted chunk: a result or an exception, and a latch to wait on.

    The latch is a raw lock, acquired at creation and released once: a tenth of the cost of an Event.
    """

    __slots__ = ("_latch", "cancelled", "chunk", "error", "result")

    def __init__(self, chunk: Chunk | None) -> None:
        self.chunk = chunk
        self.result: tuple[Chunk, Any] | None = None
        self.error: BaseException | None = None
        self.cancelled = False
        self._latch = _thread.allocate_lock()
        self._latch.acquire()

    def run(self, work: Callable[[Chunk], tuple[Chunk, Any]]) -> None:
        """Run the work in this thread and open the latch; never raises."""
        chunk, self.chunk = self.chunk, None
        try:
            if not self.cancelled and chunk is not None:
                self.result = work(chunk)
        except BaseException as error:
            self.error = error
        finally:
            self._open()

    def finish(self, result: tuple[Chunk, Any] | None, error: BaseException | None = None) -> None:
        """Set the outcome from another thread (a worker responded or died) and open the latch."""
        self.chunk = None
        self.result, self.error = result, error
        self._open()

    def abandon(self) -> None:
        """Discard the outcome: open the latch now, whatever the worker does."""
        self.cancelled = True
        self._open()

    def _open(self) -> None:
        with contextlib.suppress(RuntimeError):  # already open
            self._latch.release()

    def done(self) -> bool:
        return not self._latch.locked()

    def wait(self, timeout: float) -> bool:
        """Wait for the outcome; False on timeout. Called by the one thread that owns the stage."""
        if self._latch.acquire(timeout=timeout):
            self._latch.release()
            return True
        return False


class Executor:
    """Base class of executors: ``num_workers`` chunks run at the same time, more may be queued.

    ``name`` is the name of the executor in the registry.
    """

    num_workers: int
    name: str
    # The user requested this number of workers: a shortage is reported at once, even if some would be idle.
    workers_requested = False
    # workers that have received their first chunk and are still starting
    num_starting = 0
    # Upper limit of bytes per chunk; None: the stage decides.
    max_chunk_bytes: int | None = None

    @property
    def traits(self) -> ExecutorTraits:
        return executor_traits(self.name)

    def submit(self, chunk: Chunk) -> Task:
        """Submit a chunk; its task gets an outcome eventually, also after ``close``."""
        raise TypeError(f"{type(self).__name__} does not define submit()")

    def set_active_workers(self, workers: int) -> None:
        """Let only this many workers take tasks, if the executor supports it. Results do not depend on it."""

    def resize(self, workers: int) -> int:
        """Change the number of workers, if the executor supports it. Returns the new number.

        Called by the thread that submits. Chunks submitted before run to their end, and results do not depend on it.
        """
        return self.num_workers

    def stacks(self) -> str:
        """Python stacks of all workers, for the watchdog's report."""
        return ""

    def close(self) -> None:
        """Stop the workers, waiting for running chunks no longer than ``remaining_seconds()``.

        Worker processes are then killed. Worker threads finish the user function they are in; the last of them closes
        the runner. Safe to call twice.
        """
