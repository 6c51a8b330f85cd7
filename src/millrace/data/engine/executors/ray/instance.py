"""The Ray cluster of this process: found, connected to, or started; and left as it was found.

One cluster at a time, as Ray has it. Who needs it holds it; the last one to let go disconnects if we connected, and
stops what we started: processes, shared memory and files. A cluster that the user's program is connected to already is
only used.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

from millrace.core.cores import available_cores
from millrace.core.errors import ArgumentValueError, ResourceError
from millrace.core.log import get_logger
from millrace.core.optional import require
from millrace.data.engine.executors.crewed import close_all

from .actor import cannot_see, look_for
from .store import Store

__all__ = ["Instance", "hold"]

log = get_logger(__name__)

# Seconds to wait until every node has looked for the files.
_LOOK = 120.0
_STORE_SHARE = 2

# Nothing of a run is reported to anybody, and Ray does not start a cluster of its own because a call came too late.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


@functools.lru_cache(maxsize=1)
def library() -> Any:
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    ray = require("ray", extra="ray", purpose="the executor 'ray'")
    atexit.register(close_all)  # after Ray's own, so it runs before it
    return ray


class Instance:
    """A cluster in use. ``users`` hold it; ``claimed`` CPUs are asked for by workers of this process."""

    def __init__(self, ray: Any, folder: str | None, connected: bool) -> None:
        self.ray, self.folder, self._connected = ray, folder, connected
        self.users = 0
        self.claimed = 0.0
        self.pid = os.getpid()
        self.store = Store(self._store_bytes() // _STORE_SHARE)
        self.address: str = ray.get_runtime_context().gcs_address

    def _store_bytes(self) -> int:
        here = self.ray.get_runtime_context().get_node_id()
        for node in self.ray.nodes():
            if node["NodeID"] == here:
                return int(node["Resources"].get("object_store_memory", 0))
        return 0

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that live and can run workers."""
        return [node for node in self.ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) > 0]

    def node_lives(self, node_id: str) -> bool:
        return any(node["NodeID"] == node_id and node["Alive"] for node in self.ray.nodes())

    def claim(self, workers: int, cpus: float, must: bool = True) -> list[float]:
        """The CPUs that each worker asks for: as many workers as there is room for on the cluster, beside those that
        this process has there already. If one ``must`` work, it may have to ask for none.
        """
        with _lock:
            total = sum(node["Resources"]["CPU"] for node in self.nodes())
            room = workers if cpus <= 0 else int((total - self.claimed) / cpus + 1e-9)
            if room < 1 and not must:
                raise ResourceError(
                    f"the Ray cluster has {total:g} CPUs, and this process has asked for all of them"
                )
            asked = [cpus] * min(workers, room) if room > 0 else [0.0]
            self.claimed += sum(asked)
        if len(asked) < workers:
            log.info("%d Ray workers instead of %d: the cluster has %g CPUs", len(asked), workers, total)
        return asked

    def give_back(self, cpus: float) -> None:
        with _lock:
            self.claimed -= cpus

    def on_node(self, function: Any, node_id: str, **options: Any) -> Any:
        """A function as a task of one node; it asks for no CPU."""
        strategies = require("ray.util.scheduling_strategies", extra="ray", purpose="the executor 'ray'")
        pinned = strategies.NodeAffinitySchedulingStrategy(node_id, soft=False)
        return self.ray.remote(function).options(
            num_cpus=0, scheduling_strategy=pinned, max_retries=0, **options
        )

    def check(self, paths: list[str]) -> None:
        """Every node can open these; the first that cannot is named."""
        if not paths:
            return
        folder = os.getcwd() if not all(map(os.path.isabs, paths)) else None
        asked = {
            self.on_node(look_for, node["NodeID"], name="millrace: look for files").remote(
                paths, folder
            ): node
            for node in self.nodes()
        }
        for answer, node in asked.items():
            try:
                missing = self.ray.get(answer, timeout=_LOOK)
            except self.ray.exceptions.RayError as error:  # lost meanwhile: nothing will run there
                log.info("node %s was not asked for its files: %s", _name(node), type(error).__name__)
                continue
            if missing:
                raise cannot_see(missing[0], _name(node))

    def release(self) -> None:
        """One user less; the last one ends what we began."""
        global _current
        if os.getpid() != self.pid:
            return
        with _lock:
            self.users -= 1
            if self.users or _current is not self:
                return
            _current = None
            if self._connected and self.ray.is_initialized():
                self.ray.shutdown(wait_for_processes=True)
            if self.folder is not None:
                shutil.rmtree(self.folder, ignore_errors=True)


def _name(node: dict[str, Any]) -> str:
    return f"{node['NodeManagerAddress']} ({node['NodeID'][:8]})"


_lock = threading.RLock()
_current: Instance | None = None


def hold(address: str | None, object_store_memory: int | None) -> Instance:
    """The cluster at this address, connected to if need be; without one, a cluster of this machine alone."""
    global _current
    ray = library()
    with _lock:
        if _current is not None and (_current.pid != os.getpid() or not ray.is_initialized()):
            _current = None  # a forked child, or somebody called ray.shutdown()
        if _current is None:
            _current = _found(ray, address) or _connected(ray, address, object_store_memory)
        else:
            _same(_current, address)
        _current.users += 1
        return _current


def _found(ray: Any, address: str | None) -> Instance | None:
    """The user's program has connected already: then it also ends it."""
    if not ray.is_initialized():
        return None
    found = Instance(ray, None, connected=False)
    _same(found, address)
    return found


def _connected(ray: Any, address: str | None, object_store_memory: int | None) -> Instance:
    address = address or os.environ.get("RAY_ADDRESS") or None
    if address is not None and "://" in address:
        raise ArgumentValueError(
            f"address={address!r}: chunks go through the object store of this machine's own Ray node, which a Ray "
            "client has not. Make this machine a node (`ray start --address=HOST:PORT`) and give HOST:PORT or 'auto'"
        )
    folder = None
    with _own_signals():
        try:
            if address is not None and address != "local":
                ray.init(address=address, logging_level=logging.ERROR, log_to_driver=True)
            else:
                # sockets lie in it, whose names must be short
                folder = tempfile.mkdtemp(prefix="mray-", dir="/tmp")
                ray.init(
                    address="local",
                    num_cpus=available_cores(),
                    num_gpus=0,
                    include_dashboard=False,
                    object_store_memory=object_store_memory,
                    logging_level=logging.ERROR,
                    _temp_dir=folder,
                )
        except Exception as error:
            with contextlib.suppress(Exception):
                ray.shutdown()
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            what = (
                f"connect to the Ray cluster at {address}" if folder is None else "start Ray on this machine"
            )
            raise ResourceError(f"cannot {what}: {type(error).__name__}: {error}") from error
    return Instance(ray, folder, connected=True)


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Ray puts a handler of its own in the place of the program's for SIGTERM: put it back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def _same(instance: Instance, address: str | None) -> None:
    if address in (None, "auto", "local", instance.address):
        return
    raise ArgumentValueError(
        f"address={address!r}, but this process is connected to the Ray cluster at {instance.address}, and Ray "
        "allows one at a time: leave the address out, or close what runs there (ray.shutdown()) first"
    )
