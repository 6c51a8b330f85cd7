"""Executor over a pool of out-of-process workers, one supervisor thread per worker, with one shared queue."""

from __future__ import annotations

import os
import threading
import weakref

from millrace._src.core.errors import ResourceError
from millrace._src.core.log import get_logger
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.executors.base import ChunkFunction, Executor, Task
from millrace._src.data.engine.shutdown import remaining_seconds

from .pool import WorkerLauncher, WorkerPool, warn_fewer_workers
from .supervisor import WorkerSupervisor

__all__ = ["WorkerPoolExecutor", "close_all"]

log = get_logger(__name__)


class WorkerPoolExecutor(Executor):
    """Owns the launcher: it is closed with the executor, and also when no worker can be started."""

    def __init__(
        self, runner: ChunkFunction, launcher: WorkerLauncher, workers: int, name: str, grace: float
    ) -> None:
        self._grace = grace
        self._pool = pool = WorkerPool(runner, launcher, name, workers)
        self._finalizer = weakref.finalize(self, _close_in_background, pool, grace)
        self._finalizer.atexit = False
        _live.add(pool)
        refused: BaseException | None = None
        try:
            for _ in range(workers):
                _add_worker(pool)
        except (OSError, RuntimeError) as error:  # "can't start new thread" is a RuntimeError
            refused = error
        except BaseException:  # Ctrl-C while starting
            self.close()
            raise
        self.num_workers = len(pool.supervisors)
        if refused is not None:
            resource_error = refused if isinstance(refused, ResourceError) else None
            if not self.num_workers:
                self.close()
                raise resource_error or launcher.refused(workers, 0, refused) from refused
            pool.wanted = self.num_workers
            warn_fewer_workers(launcher.refused(workers, self.num_workers, refused), self.num_workers)

    @property
    def num_starting(self) -> int:  # type: ignore[override]
        return sum(supervisor.is_starting for supervisor in list(self._pool.supervisors))

    def submit(self, chunk: Chunk) -> Task:
        if os.getpid() != self._pool.pid:
            raise RuntimeError("this executor's workers belong to the process that forked this one")
        task = Task(chunk)
        self._pool.submit(task)
        return task

    def resize(self, workers: int) -> int:
        """Change the number of workers. New workers start at once; surplus workers end after their current chunks."""
        pool = self._pool
        count = pool.active_count
        try:
            for _ in range(workers - count):
                _add_worker(pool)
        except (OSError, RuntimeError) as error:  # continue with fewer
            log.warning(
                "%s continues with %d %s: %s", pool.name, pool.active_count, pool.launcher.workers, error
            )
        pool.shrink(count - workers)
        self.num_workers = pool.wanted = max(1, pool.active_count)
        return self.num_workers

    def stacks(self) -> str:
        """The Python stacks of all threads of all workers, including blocked ones."""
        return "\n".join(filter(None, (supervisor.stack() for supervisor in list(self._pool.supervisors))))

    def close(self) -> None:
        self._finalizer.detach()
        self._pool.close(min(self._grace, remaining_seconds()))


def _add_worker(pool: WorkerPool) -> None:
    """Add a worker; raises the system's error if none can be started."""
    number = pool.next_number()
    supervisor = WorkerSupervisor(pool, f"{pool.name}-{number}", number)
    with pool.lock:
        pool.supervisors.append(supervisor)
    try:
        supervisor.start()
    except BaseException:
        with pool.lock:
            pool.supervisors.remove(supervisor)
        raise


def _close_in_background(pool: WorkerPool, grace: float) -> None:
    """Close a dropped executor in a thread: garbage collection must not block."""
    if os.getpid() != pool.pid or pool.closed:
        return
    try:
        threading.Thread(target=pool.close, args=(grace,), name=f"{pool.name}-closing", daemon=True).start()
    except RuntimeError:  # no more threads, or the interpreter is ending
        pool.close(grace)


_live: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


def close_all() -> None:
    """Close all pools at interpreter exit, while threads still run. A worker that is missed exits when its channel
    closes.
    """
    for pool in list(_live):
        pool.close(grace=0.5)
