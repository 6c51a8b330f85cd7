"""Registry of executors and their traits.

A row names an executor; its module in ``data/engine/executors`` is imported when it is first used. Code that
decides something about an executor reads a trait and never compares names.
"""

from __future__ import annotations

import dataclasses

__all__ = ["PROCESSES", "THREADS", "INLINE", "EXECUTORS", "ExecutorTraits", "executor_traits"]


@dataclasses.dataclass(frozen=True)
class ExecutorTraits:
    """The traits of an executor.

    >>> executor_traits("threads").shares_memory, executor_traits("processes").shares_memory
    (True, False)
    """

    # the display name of a worker
    worker: str
    # workers share the memory of this process: results need no copy, and several workers may write into one array
    shares_memory: bool
    # workers run inside the user's process: they share its GIL, its modules and its objects
    same_process: bool
    # work runs concurrently with the caller; False: `submit` returns when it is done
    background: bool = True
    # a worker that dies is replaced and its chunk runs again
    restarts: bool = False
    # approximate time until the first chunk is processed
    start_seconds: float = 0.0
    # how long a chunk should take: far above the dispatch cost
    target_seconds: float = 0.01
    # the maximum rows of a chunk where a row takes a millisecond or more
    heavy_rows: int = 8
    # the options of `dataset.run_on` for this executor
    options: tuple[str, ...] = ()

    @property
    def shares_gil(self) -> bool:
        """Whether several workers share one interpreter lock."""
        return self.same_process and self.background


# Dispatching a chunk costs 50 us for a thread and 200 us for a process; Ray needs 4 ms of processor time.
EXECUTORS: dict[str, ExecutorTraits] = {
    "inline": ExecutorTraits("thread", shares_memory=True, same_process=True, background=False),
    "threads": ExecutorTraits("thread", shares_memory=True, same_process=True),
    "processes": ExecutorTraits(
        "process",
        shares_memory=False,
        same_process=False,
        restarts=True,
        start_seconds=1.0,
        target_seconds=0.04,
    ),
    "ray": ExecutorTraits(
        "Ray worker",
        shares_memory=False,
        same_process=False,
        restarts=True,
        start_seconds=5.0,
        target_seconds=0.25,
        heavy_rows=128,
        options=("address", "num_cpus", "object_store_memory"),
    ),
}

# The executors that placement chooses among by default: the calling thread, threads, and worker processes.
INLINE, THREADS, PROCESSES = "inline", "threads", "processes"


def executor_traits(name: str) -> ExecutorTraits:
    """The traits of a registered executor."""
    return EXECUTORS[name]
