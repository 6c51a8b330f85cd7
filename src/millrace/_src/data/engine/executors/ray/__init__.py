"""Ray executor: runs segments in actors on a Ray cluster or a local Ray instance.

Each worker is an actor that holds one CPU; Ray chooses its node and spreads the actors over the nodes. Each worker has
a thread in this process (``worker_pool/supervisor.py``), as with worker processes: it sends chunks and receives
results. When an actor or its node is lost, it starts another actor and sends the chunk again, so no row is lost or
duplicated.

Between Millrace's own endpoints all data is in Millrace's encoding. Ray itself pickles what passes through it, and
anyone who can connect to a cluster can run code on its nodes: use a cluster only in a network whose members trust each
other.
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
    """Runs a segment in up to ``workers`` actors; a busy actor has ``grace`` seconds to finish at close."""

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
        # a call has a fixed cost, but the store must hold the chunks of all workers
        self.max_chunk_bytes = max(
            MIN_CHUNK_BYTES, min(MAX_CHUNK_BYTES, launcher.instance.store.most // (2 * self.num_workers))
        )


def make(runner: ChunkFunction, workers: int, name: str, settings: Settings) -> Executor:
    options: dict[str, Any] = dict(settings.executor_options)
    executor = RayExecutor(runner, workers, name=name, **options)
    log.info("%d workers on Ray", executor.num_workers)
    return executor
