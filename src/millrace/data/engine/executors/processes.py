"""Worker processes for Python-bound user code: started once, kept for the executor's life.

Per worker there is a thread in this process (``lane.py``) that takes chunks from one shared queue, sends them
through shared memory (``engine/transport``) and delivers the answers. The workers come from a fork server, a
fresh interpreter each, or a plain fork (``launch.py``) and never import the user's ``__main__``.

Contract. *Close*: the workers are asked, then terminated, then killed, each within a bounded time; afterwards
no process, thread, descriptor or memory is left, and every task has an outcome; arrays already delivered stay
valid. *A worker dies*: another takes its place and the chunk runs again; a chunk that ends two workers fails
with WorkerDied, and so does everything when workers keep dying. *This process dies*, however: so do they.
*It is dropped without close*: as if closed. *This process forks*: the copy in the child is inert.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Literal

from millrace.core.chunk import Chunk
from millrace.core.errors import ResourceError
from millrace.core.log import get_logger
from millrace.core.settings import Settings
from millrace.data.engine.ending import left

from .base import Executor, Runner, Task
from .crew import Crew, warn_fewer
from .lane import Lane
from .launch import Launcher, limits

__all__ = ["ProcessExecutor", "make"]

log = get_logger(__name__)


class ProcessExecutor(Executor):
    """Runs a segment in ``workers`` processes; ``grace`` seconds are given to a busy worker at close."""

    kind = "processes"

    def __init__(
        self,
        runner: Runner,
        workers: int,
        *,
        start_method: Literal["forkserver", "spawn", "fork"] | str = "forkserver",
        name: str = "millrace",
        grace: float = 1.0,
        adopt: Callable[[Any], None] | None = None,
    ) -> None:
        self._grace = grace
        try:
            launcher = Launcher(runner, start_method, adopt)
        except OSError as error:
            raise limits(workers, 0, error) from error
        self._crew = crew = Crew(runner, launcher, name, workers)
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
        self.slots = len(crew.lanes)
        if refused is not None:
            if not self.slots:
                self.close()
                if isinstance(refused, ResourceError):
                    raise refused
                raise limits(workers, 0, refused) from refused
            crew.wanted = self.slots
            warn_fewer(workers, self.slots, refused)

    @property
    def fresh(self) -> int:  # type: ignore[override]
        return sum(lane.fresh for lane in list(self._crew.lanes))

    def submit(self, chunk: Chunk) -> Task:
        if os.getpid() != self._crew.pid:
            raise RuntimeError("this executor's workers belong to the process that forked this one")
        task = Task(chunk)
        self._crew.submit(task)
        return task

    def resize(self, workers: int) -> int:
        """More are started at once; those that are too many end when they have done what they have in hand."""
        crew = self._crew
        have = crew.staying
        try:
            for _ in range(workers - have):
                _add_lane(crew)
        except (OSError, RuntimeError) as error:  # as many as there can be
            log.warning("%s goes on with %d worker processes: %s", crew.name, crew.staying, error)
        crew.dismiss(have - workers)
        self.slots = crew.wanted = max(1, crew.staying)
        return self.slots

    def pids(self) -> list[int]:
        """The worker processes that run now."""
        pids = (lane.pid() for lane in list(self._crew.lanes))
        return [pid for pid in pids if pid is not None]

    def stacks(self) -> str:
        """The Python stack of every thread of every worker, also of one that is stuck."""
        return "\n".join(filter(None, (lane.stack() for lane in list(self._crew.lanes))))

    def close(self) -> None:
        self._end.detach()
        self._crew.close(min(self._grace, left()))


def _add_lane(crew: Crew) -> None:
    """One more worker; raises what the system says when it gives none."""
    number = crew.next_number()
    lane = Lane(crew, f"{crew.name}-{number}", number)
    with crew.lock:
        crew.lanes.append(lane)
    try:
        lane.start()
    except BaseException:
        with crew.lock:
            crew.lanes.remove(lane)
        raise


def make(runner: Runner, workers: int, name: str, settings: Settings) -> Executor:
    made = ProcessExecutor(
        runner,
        workers,
        start_method=settings.multiprocessing_start_method,
        name=name,
        adopt=None if settings.lender is None else settings.lender.adopt,
    )
    log.info("%d worker processes; OpenCV, BLAS, OpenMP and numba -> 1 thread in each", made.slots)
    return made


def _abandon(crew: Crew, grace: float) -> None:
    """The executor was dropped: a thread closes it, for a garbage collection must not wait."""
    if os.getpid() != crew.pid or crew.closed:
        return
    try:
        threading.Thread(target=crew.close, args=(grace,), name=f"{crew.name}-closing", daemon=True).start()
    except RuntimeError:  # no more threads, or the interpreter is ending
        crew.close(grace)


_live: weakref.WeakSet[Crew] = weakref.WeakSet()


def _close_all() -> None:
    """At interpreter exit, while threads still run; what is missed ends with the sockets."""
    for crew in list(_live):
        crew.close(grace=0.5)


atexit.register(_close_all)  # after the fork server's own, so it runs before it
