"""Ray cluster handle: CPU and object-store accounting of this process."""

from __future__ import annotations

import atexit
import functools
import threading
from typing import Any

from millrace._src.core.errors import ResourceError
from millrace._src.core.log import get_logger
from millrace._src.core.machine import ray_cluster
from millrace._src.core.machine.ray_cluster import Cluster
from millrace._src.data.engine.executors.worker_pool.executor import close_all

from .actor import unreadable_path_error
from .object_store import ResultStore

__all__ = ["RayCluster", "acquire_cluster"]

log = get_logger(__name__)

_STORE_SHARE = 2


@functools.lru_cache(maxsize=1)
def library() -> Any:
    ray = ray_cluster.library("the executor 'ray'")
    atexit.register(close_all)  # registered after Ray's handler, so it runs before it
    return ray


class RayCluster:
    """A cluster in use; ``claimed`` is the number of CPUs requested by workers of this process."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.ray, self.address = cluster, cluster.ray, cluster.address
        self.claimed = 0.0
        self.store = ResultStore(self._store_bytes() // _STORE_SHARE)

    def _store_bytes(self) -> int:
        here = self.ray.get_runtime_context().get_node_id()
        for node in self.ray.nodes():
            if node["NodeID"] == here:
                return int(node["Resources"].get("object_store_memory", 0))
        return 0

    def node_lives(self, node_id: str) -> bool:
        return self.cluster.node_lives(node_id)

    def on_node(self, function: Any, node_id: str, **options: Any) -> Any:
        return self.cluster.on_node(function, node_id, **options)

    def claim(self, workers: int, cpus: float, must: bool = True) -> list[float]:
        """Claim CPUs for workers. Returns the CPUs of each worker, as many workers as the cluster has free CPUs for.

        If one worker is required (``must``) and no CPU is free, it claims none.
        """
        with _lock:
            total = self.cluster.cpus()
            available = workers if cpus <= 0 else int((total - self.claimed) / cpus + 1e-9)
            if available < 1 and not must:
                raise ResourceError(
                    f"the Ray cluster has {total:g} CPUs, and this process has claimed all of them"
                )
            claims = [cpus] * min(workers, available) if available > 0 else [0.0]
            self.claimed += sum(claims)
        if len(claims) < workers:
            log.info("%d Ray workers instead of %d: the cluster has %g CPUs", len(claims), workers, total)
        return claims

    def give_back(self, cpus: float) -> None:
        with _lock:
            self.claimed -= cpus

    def check(self, paths: list[str]) -> None:
        """Check that every node can open these paths; raises an error for the first that cannot."""
        unreadable = self.cluster.unseen(paths)
        if unreadable is not None:
            raise unreadable_path_error(*unreadable)

    def release(self) -> None:
        self.cluster.release()


_lock = threading.RLock()
_current: RayCluster | None = None


def acquire_cluster(address: str | None, object_store_memory: int | None) -> RayCluster:
    """The cluster at this address, held until `release`."""
    global _current
    cluster = ray_cluster.acquire_cluster(library(), address, object_store_memory)
    with _lock:
        if _current is None or _current.cluster is not cluster:
            _current = RayCluster(cluster)
        return _current
