"""An executor whose workers live outside this process: each has a thread here (``lane.py``), all share a queue."""

from __future__ import annotations

import os
import threading
import weakref

from millrace._src.core.errors import ResourceError
from millrace._src.core.log import get_logger
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.executors.base import ChunkFunction, Executor, Task
from millrace._src.data.engine.shutdown import remaining_seconds

from .pool import WorkerLauncher, WorkerPool, warn_fewer
from .supervisor import WorkerSupervisor

__all__ = ["WorkerPoolExecutor", "close_all"]

log = get_logger(__name__)


class WorkerPoolExecutor(Executor):
    """Takes the launcher over: it is closed with the executor, and also when no worker can be started."""

    def __init__(
        self, runner: ChunkFunction, launcher: WorkerLauncher, workers: int, name: str, grace: float
    ) -> None:
        self._grace = grace
        self._crew = crew = WorkerPool(runner, launcher, name, workers)
        self._end = weakref.finalize(self, _abandon, crew, grace)
        self._end.atexit = False
        _live.add(crew)
        refused: BaseException | None = None
        try:
            for _ in range(workers):
                _add_lane(crew)
        except (OSError, RuntimeError) as error:  # "can't start new thread" is a RuntimeError
            refused = error
        except BaseException:  # Ctrl-C while starting
            self.close()
            raise
        self.num_workers = len(crew.supervisors)
        if refused is not None:
            said = refused if isinstance(refused, ResourceError) else None
            if not self.num_workers:
                self.close()
                raise said or launcher.refused(workers, 0, refused) from refused
            crew.wanted = self.num_workers
            warn_fewer(launcher.refused(workers, self.num_workers, refused), self.num_workers)

    @property
    def num_starting(self) -> int:  # type: ignore[override]
        return sum(lane.is_starting for lane in list(self._crew.supervisors))

    def submit(self, chunk: Chunk) -> Task:
        if os.getpid() != self._crew.pid:
            raise RuntimeError("this executor's workers belong to the process that forked this one")
        task = Task(chunk)
        self._crew.submit(task)
        return task

    def resize(self, workers: int) -> int:
        """More are started at once; those that are too many end when they have done what they have in hand."""
        crew = self._crew
        have = crew.active_count
        try:
            for _ in range(workers - have):
                _add_lane(crew)
        except (OSError, RuntimeError) as error:  # as many as there can be
            log.warning(
                "%s goes on with %d %s: %s", crew.name, crew.active_count, crew.launcher.workers, error
            )
        crew.shrink(have - workers)
        self.num_workers = crew.wanted = max(1, crew.active_count)
        return self.num_workers

    def stacks(self) -> str:
        """The Python stack of every thread of every worker, also of one that is stuck."""
        return "\n".join(filter(None, (lane.stack() for lane in list(self._crew.supervisors))))

    def close(self) -> None:
        self._end.detach()
        self._crew.close(min(self._grace, remaining_seconds()))


def _add_lane(crew: WorkerPool) -> None:
    """One more worker; raises what the system says when it gives none."""
    number = crew.next_number()
    lane = WorkerSupervisor(crew, f"{crew.name}-{number}", number)
    with crew.lock:
        crew.supervisors.append(lane)
    try:
        lane.start()
    except BaseException:
        with crew.lock:
            crew.supervisors.remove(lane)
        raise


def _abandon(crew: WorkerPool, grace: float) -> None:
    """The executor was dropped: a thread closes it, for a garbage collection must not wait."""
    if os.getpid() != crew.pid or crew.closed:
        return
    try:
        threading.Thread(target=crew.close, args=(grace,), name=f"{crew.name}-closing", daemon=True).start()
    except RuntimeError:  # no more threads, or the interpreter is ending
        crew.close(grace)


_live: weakref.WeakSet[WorkerPool] = weakref.WeakSet()


def close_all() -> None:
    """At interpreter exit, while threads still run; what is missed ends with its line to this process."""
    for crew in list(_live):
        crew.close(grace=0.5)
