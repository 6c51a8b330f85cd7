"""Workers on the nodes of a Ray cluster, or of one that lives on this machine as long as the run.

Each worker is an actor that holds one CPU and lies where Ray finds room, spread over the nodes. Per worker there is a
thread in this process (``lane.py``), as with worker processes: it gives chunks and takes results, and when an actor or
its node is lost it starts another and gives the chunk again, so that no row is lost and none comes twice.

Between our own ends everything is in our own encoding. Ray itself pickles what goes through it, and whoever may connect
to a cluster may run code on its nodes: a cluster is for a network whose members trust each other.
"""

from __future__ import annotations

from typing import Any

from millrace._src.core.log import get_logger
from millrace._src.core.settings import Settings
from millrace._src.data.engine.executors.base import ChunkFunction, Executor
from millrace._src.data.engine.executors.worker_pool.executor import WorkerPoolExecutor

from .cluster import acquire_cluster
from .launcher import RayLauncher

__all__ = ["RayExecutor", "make"]

log = get_logger(__name__)

MIN_CHUNK_BYTES, MAX_CHUNK_BYTES = 12 << 20, 80 << 20


class RayExecutor(WorkerPoolExecutor):
    """Runs a segment in up to ``workers`` actors; ``grace`` seconds are given to a busy one at close."""

    name = "ray"

    def __init__(
        self,
        runner: ChunkFunction,
        workers: int,
        *,
        name: str = "millrace",
        grace: float = 1.0,
        address: str | None = None,
        num_cpus: float = 1.0,
        object_store_memory: int | None = None,
    ) -> None:
        launcher = RayLauncher(runner, acquire_cluster(address, object_store_memory), workers, num_cpus)
        super().__init__(runner, launcher, launcher.slots, name, grace)
        # a call costs the same for much as for little, but the store must hold what all workers have in hand
        self.max_chunk_bytes = max(
            MIN_CHUNK_BYTES, min(MAX_CHUNK_BYTES, launcher.instance.store.most // (2 * self.num_workers))
        )


def make(runner: ChunkFunction, workers: int, name: str, settings: Settings) -> Executor:
    options: dict[str, Any] = dict(settings.executor_options)
    executor = RayExecutor(runner, workers, name=name, **options)
    log.info("%d workers on Ray", executor.num_workers)
    return executor
