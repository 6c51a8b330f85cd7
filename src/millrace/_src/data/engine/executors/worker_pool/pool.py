"""Worker pool state shared by supervisors: task queue, failure count and shutdown.

It is separate from the executor so that the supervisors' threads do not keep a dropped executor alive. The launcher
defines what a worker is: a process of this machine or an actor of a cluster.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from millrace._src.core.errors import ResourceError, WorkerDiedError
from millrace._src.core.log import get_logger
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.executors.base import ChunkFunction, Task

if TYPE_CHECKING:
    from .supervisor import WorkerSupervisor

__all__ = [
    "WorkerResult",
    "WorkerPool",
    "PendingTask",
    "WorkerLauncher",
    "WorkerHandle",
    "describe_rows",
    "warn_fewer_workers",
]

log = get_logger(__name__)

# Worker deaths without a success in between, per worker, after which the pool fails.
MAX_DEATHS_PER_WORKER = 3


class WorkerResult(NamedTuple):
    """The result of a chunk. ``unloadable``: no worker can load the runner."""

    result: tuple[Chunk, Any] | None
    error: BaseException | None = None
    unloadable: bool = False


class WorkerHandle(Protocol):
    """The parent's handle on one worker. Results arrive in the order in which chunks were sent."""

    # where it runs, as text
    location: str

    def ready(self, timeout: float) -> bool:
        """Whether it can receive chunks; False if it cannot within the timeout, or has ended."""

    def encode(self, chunk: Chunk) -> Any:
        """Encode a chunk for :meth:`send`. Raises errors caused by the chunk itself."""

    def send(self, copied: Any) -> None:
        """Send an encoded chunk. OSError when the worker is gone."""

    def receive(self, timeout: float) -> WorkerResult | None:
        """The next result; None when there will be none.

        TimeoutError when it did not arrive in time; ResourceError or ValueError when it arrived and cannot be read.
        """

    def ended(self) -> bool: ...

    def close_input(self) -> None:
        """No more chunks are sent: the worker ends after its pending chunks."""

    def terminate(self) -> None: ...

    def kill(self) -> None: ...

    def interrupt(self) -> None:
        """Wake a thread that waits in ``receive``, regardless of the worker's state."""

    def reap(self) -> tuple[bool, str]:
        """End the worker if needed. Returns whether the cause is known, and a description of it (a verb phrase)."""

    def stack(self) -> str: ...


class WorkerLauncher(Protocol):
    """Starts workers for one runner."""

    # plural name for messages; and how many workers may die with the same chunk before the chunk fails
    workers: str
    max_worker_deaths: int

    def start(self, name: str, number: int) -> WorkerHandle:
        """Start a worker. OSError or ResourceError if none can be started."""

    def retired(self, number: int) -> None:
        """Release the resources of a worker that has ended and is not replaced."""

    def refused(self, wanted: int, started: int, error: BaseException) -> ResourceError:
        """The error for fewer workers than requested."""

    def close(self) -> None: ...


class PendingTask:
    """A task in flight, and the deaths of the workers that were processing it."""

    __slots__ = ("deaths", "task")

    def __init__(self, task: Task) -> None:
        self.task = task
        self.deaths: list[str] = []


class WorkerPool:
    """Shared state of the supervisors of one executor. All methods are thread-safe."""

    def __init__(self, runner: ChunkFunction, launcher: WorkerLauncher, name: str, wanted: int) -> None:
        self.runner, self.launcher, self.name, self.wanted = runner, launcher, name, wanted
        self.lock = threading.RLock()
        self.queue: SimpleQueue[PendingTask | None] = SimpleQueue()
        self.supervisors: list[WorkerSupervisor] = []
        self.closed = False
        self.failure: BaseException | None = None
        self.pid = os.getpid()
        self._deaths = 0
        # number of supervisors ever started
        self._started = 0
        # surplus supervisors: the number that have not received the exit signal yet, and those that are about to end
        self._surplus = 0
        self._leaving: set[WorkerSupervisor] = set()

    @property
    def active_count(self) -> int:
        """Number of supervisors that keep taking tasks."""
        with self.lock:
            return len(self.supervisors) - len(self._leaving) - self._surplus

    def next_number(self) -> int:
        with self.lock:
            self._started += 1
            return self._started - 1

    def shrink(self, count: int) -> None:
        """Let this many supervisors end when they take their next task."""
        with self.lock:
            if count <= 0 or self.closed:
                return
            self._surplus += count
            for _ in range(count):
                self.queue.put(None)

    def confirm_exit(self, supervisor: WorkerSupervisor) -> bool:
        """Whether a supervisor that received the exit signal may end. The last one stays, because it takes the
        remaining tasks.
        """
        with self.lock:
            if self.closed or self.failure is not None:
                return True
            self._surplus = max(0, self._surplus - 1)
            if len(self.supervisors) - len(self._leaving) <= 1:
                return False
            self._leaving.add(supervisor)
            return True

    def submit(self, task: Task) -> None:
        self.put(PendingTask(task))

    def put(self, job: PendingTask) -> None:
        """Queue a task, new or from a dead worker; fail it if the pool is closed."""
        with self.lock:
            if not self.closed and self.failure is None:
                self.queue.put(job)
                return
        self.refuse(job)

    def refuse(self, job: PendingTask) -> None:
        error = self.failure or WorkerDiedError(f"{self.name} was closed before this chunk was done")
        job.task.finish(None, error)

    def has_idle_worker(self) -> bool:
        return any(supervisor.waiting for supervisor in self.supervisors)

    def reset_deaths(self) -> None:
        self._deaths = 0

    def record_worker_death(self, death: str) -> None:
        """Record a worker death. After too many in a row the whole executor fails instead of retrying forever."""
        with self.lock:
            self._deaths += 1
            if self._deaths > MAX_DEATHS_PER_WORKER * self.wanted:
                who = f"{self.name} ({self.runner.describe()})"
                what = f"{self._deaths} {self.launcher.workers} of {who} died in a row; the last one {death}"
                self.fail(WorkerDiedError(what))

    def fail(self, error: BaseException) -> None:
        """Fail the pool: every task, queued or new, gets this error."""
        with self.lock:
            if self.failure is None:
                self.failure = error
        self.drain()

    def drain(self) -> None:
        sentinels = 0
        while True:
            try:
                job = self.queue.get_nowait()
            except Empty:
                break
            if job is None:
                sentinels += 1
            else:
                self.refuse(job)
        for _ in range(sentinels):
            self.queue.put(None)

    def remove_supervisor(self, supervisor: WorkerSupervisor, error: BaseException | None) -> None:
        """Remove a supervisor whose worker cannot be replaced. The others continue; without others the pool fails."""
        with self.lock:
            if supervisor in self.supervisors:
                self.supervisors.remove(supervisor)
                self.launcher.retired(supervisor.number)
            self._leaving.discard(supervisor)
            left = len(self.supervisors)
            if error is None or self.closed:
                return
        if not left:
            self.fail(self.launcher.refused(self.wanted, 0, error))
        else:
            log.warning("%s continues with %d %s: %s", self.name, left, self.launcher.workers, error)

    def close(self, grace: float) -> None:
        """Request exit, then terminate, then kill; each step and the whole are bounded."""
        if os.getpid() != self.pid:
            return  # a forked copy: threads and workers belong to the parent
        with self.lock:
            first, self.closed = not self.closed, True
            supervisors = list(self.supervisors)
        if first:
            self.drain()
            for _ in supervisors:
                self.queue.put(None)
        for step, seconds in (("request_exit", grace), ("terminate", 0.5), ("kill", 3.0), ("interrupt", 3.0)):
            for supervisor in supervisors:
                getattr(supervisor, step)()
            if _join_all(supervisors, seconds):
                break
        self.drain()
        if first:
            self.launcher.close()
            self.runner.close()


def _join_all(supervisors: Sequence[WorkerSupervisor], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    for supervisor in supervisors:
        if supervisor.thread is not threading.current_thread():
            supervisor.thread.join(max(0.0, deadline - time.monotonic()))
    return not any(supervisor.thread.is_alive() for supervisor in supervisors)


def describe_rows(chunk: Chunk | None) -> str:
    """The rows of a chunk by their index in the source: ``rows 0-63``, or the first few."""
    if chunk is None or not len(chunk):
        return "no rows"
    origin = [int(i) for i in chunk.origin]
    if len(origin) == 1:
        return f"row {origin[0]}"
    if origin == list(range(origin[0], origin[0] + len(origin))):
        return f"rows {origin[0]}-{origin[-1]}"
    shown = ", ".join(map(str, origin[:8]))
    return f"rows {shown}" + (f" and {len(origin) - 8} more" if len(origin) > 8 else "")


def warn_fewer_workers(error: ResourceError, started: int) -> None:
    warnings.warn(f"{error} Continuing with {started}; the rows are the same.", UserWarning, stacklevel=5)
