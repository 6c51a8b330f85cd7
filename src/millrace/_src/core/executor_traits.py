"""The executors there are, and what may be relied on with each: the one registry.

A row names an executor; its module is ``data/engine/executors/<name>.py``, imported when it is first used. Whoever
decides something about an executor asks for a trait, never for a name.
"""

from __future__ import annotations

import dataclasses

__all__ = ["PROCESSES", "THREADS", "INLINE", "EXECUTORS", "ExecutorTraits", "executor_traits"]


@dataclasses.dataclass(frozen=True)
class ExecutorTraits:
    """What an executor promises.

    >>> executor_traits("threads").shares_memory, executor_traits("processes").shares_memory
    (True, False)
    """

    # one of its workers, in words
    worker: str
    # workers see this process's memory: what they make arrives without a copy, and they may write into one array
    shares_memory: bool
    # workers run inside the user's process: they share its GIL, its modules and its objects
    same_process: bool
    # work goes on beside the caller; False: `submit` returns when it is done
    background: bool = True
    # a worker that dies is replaced and its chunk runs again
    restarts: bool = False
    # about how long it takes until the first chunk is worked on
    start_seconds: float = 0.0
    # how long a chunk should take: far above the cost of a hand-over
    target_seconds: float = 0.01
    # the most rows in a chunk where a row takes a millisecond or more
    heavy_rows: int = 8
    # what `dataset.run_on` may be told beside its name
    options: tuple[str, ...] = ()

    @property
    def shares_gil(self) -> bool:
        """Several workers that take turns at one interpreter."""
        return self.same_process and self.background


# A hand-over costs 50 us to a thread, 200 us to a process and back; Ray spends 4 ms of processor time on one.
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

# What placement chooses among when nobody has said where to run: at once in the caller, in workers of this process, in
# workers of their own.
INLINE, THREADS, PROCESSES = "inline", "threads", "processes"


def executor_traits(name: str) -> ExecutorTraits:
    """The traits of a registered executor."""
    return EXECUTORS[name]
