"""Process executor: runs segments in a pool of worker processes over shared memory.

Each worker has a thread in this process (``worker_pool/supervisor.py``) that takes chunks from one shared queue, sends
them through shared memory (``data/engine/transport``) and delivers the results. Workers are started by a fork server,
as a fresh interpreter each, or by a plain fork (``launcher.py``). They never import the user's ``__main__``.

Contract. *Close*: the workers are requested to exit, then terminated, then killed, each within a bounded time;
afterwards no process, thread, descriptor or memory is left, and every task has an outcome; arrays already delivered
stay valid. *A worker dies*: another one replaces it and the chunk runs again; a chunk that ends two workers fails with
WorkerDiedError, and so does everything when workers keep dying. *This process dies*, however: so do its workers. *The
executor is dropped without close*: as if closed. *This process forks*: the copy in the child is inert.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
from typing import Any, Literal

from millrace._src.core.log import get_logger
from millrace._src.core.settings import Settings
from millrace._src.data.engine.executors.base import ChunkFunction, Executor
from millrace._src.data.engine.executors.worker_pool.executor import WorkerPoolExecutor, close_all

from .launcher import ProcessLauncher, WorkerProcess, process_limit_error

__all__ = ["ProcessExecutor", "make"]

log = get_logger(__name__)


class ProcessExecutor(WorkerPoolExecutor):
    """Runs a segment in ``workers`` processes; a busy worker has ``grace`` seconds to finish at close."""

    name = "processes"

    def __init__(
        self,
        runner: ChunkFunction,
        workers: int,
        *,
        start_method: Literal["forkserver", "spawn", "fork"] | str = "forkserver",
        name: str = "millrace",
        grace: float = 1.0,
        adopt: Callable[[Any], None] | None = None,
    ) -> None:
        try:
            launcher = ProcessLauncher(runner, start_method, adopt)
        except OSError as error:
            raise process_limit_error(workers, 0, error) from error
        super().__init__(runner, launcher, workers, name, grace)

    def pids(self) -> list[int]:
        """The process ids of the running workers."""
        workers = (supervisor.worker for supervisor in list(self._pool.supervisors))
        return [worker.pid for worker in workers if isinstance(worker, WorkerProcess)]


def make(runner: ChunkFunction, workers: int, name: str, settings: Settings) -> Executor:
    executor = ProcessExecutor(
        runner,
        workers,
        start_method=settings.multiprocessing_start_method,
        name=name,
        adopt=None if settings.allocator is None else settings.allocator.pin_external,
    )
    log.info("%d worker processes; OpenCV, BLAS, OpenMP and numba -> 1 thread in each", executor.num_workers)
    return executor


atexit.register(close_all)  # registered after the fork server's handler, so it runs before it
