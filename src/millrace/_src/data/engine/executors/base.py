"""What an executor is: somewhere to run a segment. It has no ordering duty; order is the stage's deque."""

from __future__ import annotations

import _thread
import contextlib
from collections.abc import Callable
from typing import Any, Protocol

from millrace._src.core.executor_traits import ExecutorTraits, executor_traits
from millrace._src.core.values.chunk import Chunk

__all__ = ["Executor", "ChunkFunction", "Task"]


class ChunkFunction(Protocol):
    """A segment's work as one callable: pure, thread-safe, picklable by cloudpickle.

    Readers are re-opened in each worker process; ``close()`` closes them. A runner returns the result chunk and a
    small report (seconds per op, ledger entries) that the stage adds to its stats; both cross process borders.
    """

    # it never writes into a chunk that it is given: no user's function is in it
    leaves_input_unmodified: bool

    def __call__(self, chunk: Chunk) -> tuple[Chunk, Any]: ...

    def paths(self) -> list[str]:
        """Files and folders of this machine that a worker elsewhere must be able to open."""

    def init_worker(self, worker: int) -> None:
        """Called once in a worker process, before the first chunk, with the worker's number in its executor."""

    def describe(self) -> str:
        """The ops in words, for error messages and stack dumps."""

    def close(self) -> None: ...


class Task:
    """One submitted chunk: a result or an exception, and a latch to wait on.

    The latch is a raw lock, taken at birth and released once: a tenth of the cost of an Event.
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
        """Do the work in this thread and open the latch; never raises."""
        chunk, self.chunk = self.chunk, None
        try:
            if not self.cancelled and chunk is not None:
                self.result = work(chunk)
        except BaseException as error:
            self.error = error
        finally:
            self._open()

    def finish(self, result: tuple[Chunk, Any] | None, error: BaseException | None = None) -> None:
        """Set the outcome from elsewhere (a process answered, or died) and open the latch."""
        self.chunk = None
        self.result, self.error = result, error
        self._open()

    def abandon(self) -> None:
        """Nobody wants the outcome any more: open the latch now, whatever the worker does."""
        self.cancelled = True
        self._open()

    def _open(self) -> None:
        with contextlib.suppress(RuntimeError):  # it is open already
            self._latch.release()

    def done(self) -> bool:
        return not self._latch.locked()

    def wait(self, timeout: float) -> bool:
        """Wait for the outcome; False when the time is up. Called by the one thread that owns the stage."""
        if self._latch.acquire(timeout=timeout):
            self._latch.release()
            return True
        return False


class Executor:
    """``slots`` chunks run at the same time; more may be queued. ``kind`` is its name in the registry."""

    num_workers: int
    name: str
    # somebody asked for this number of workers: how many can be had is said at once, though some may rest
    workers_requested = False
    # workers that were given their first chunk and are still starting
    num_starting = 0
    # the most bytes that a chunk should hold while it is worked on; None: as the stage thinks best
    max_chunk_bytes: int | None = None

    @property
    def traits(self) -> ExecutorTraits:
        return executor_traits(self.name)

    def submit(self, chunk: Chunk) -> Task:
        """Take a chunk on; its task has an outcome sooner or later, also after ``close``."""
        raise TypeError(f"{type(self).__name__} does not define submit()")

    def set_active_workers(self, workers: int) -> None:
        """Let only so many workers take tasks, where that can be changed. Results do not depend on it."""

    def resize(self, workers: int) -> int:
        """Have so many workers from here on, where that can be changed; how many there are then.

        Called by the thread that submits. What was submitted before runs to its end, and results do not depend on it.
        """
        return self.num_workers

    def stacks(self) -> str:
        """Where each worker is now, for the watchdog's report."""
        return ""

    def close(self) -> None:
        """Stop, and wait for what runs as long as ``ending.left()`` says: processes are then killed, threads left to
        finish what a user's function does, and the last of them closes the runner. Safe to call twice."""
