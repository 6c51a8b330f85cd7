"""The Ray cluster of this process: found, connected to, or started; and left as it was found.

One cluster at a time, as Ray has it. Pipelines and servers hold it; the last one to let go disconnects if we
connected, and stops what we started: processes, shared memory and files. A cluster that the user's program is connected
to already is only used. A cluster that we start is for this user on this machine: its ports are on loopback, and its
sockets and files in a folder with mode 700.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

from millrace._src.core.errors import ArgumentValueError, ResourceError
from millrace._src.core.log import get_logger
from millrace._src.core.optional import require

from .cores import available_cores

__all__ = ["Cluster", "acquire_cluster", "library", "missing_paths", "connection_error", "starts_here"]

log = get_logger(__name__)

# Seconds to wait until every node has looked for the files.
_LOOK = 120.0
_CONNECT = 5.0
_LOOPBACK = "127.0.0.1"
_TOKEN_FILE = os.path.expanduser("~/.ray/auth_token")

# Nothing of a run is reported to anybody, and Ray does not start a cluster of its own because a call came too late.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


def library(purpose: str, extra: str = "ray") -> Any:
    """Ray itself."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    return require("ray", extra=extra, purpose=purpose)


class Cluster:
    """A cluster in use, by `users` of this process."""

    def __init__(self, ray: Any, folder: str | None, connected: bool) -> None:
        self.ray, self.folder, self._connected = ray, folder, connected
        self.users = 0
        self.pid = os.getpid()
        self.address: str = ray.get_runtime_context().gcs_address

    def nodes(self) -> list[dict[str, Any]]:
        """The nodes that live and can run workers."""
        return [node for node in self.ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) > 0]

    def node_lives(self, node_id: str) -> bool:
        return any(node["NodeID"] == node_id and node["Alive"] for node in self.ray.nodes())

    def cpus(self) -> float:
        """The CPUs of all nodes together."""
        return float(sum(node["Resources"]["CPU"] for node in self.nodes()))

    def on_node(self, function: Any, node_id: str, **options: Any) -> Any:
        """A function as a task of one node; it asks for no CPU."""
        strategies = require("ray.util.scheduling_strategies", extra="ray", purpose="work on a Ray cluster")
        pinned = strategies.NodeAffinitySchedulingStrategy(node_id, soft=False)
        return self.ray.remote(function).options(
            num_cpus=0, scheduling_strategy=pinned, max_retries=0, **options
        )

    def unseen(self, paths: list[str]) -> tuple[str, str] | None:
        """The first path that some node cannot open, and that node; None where every node can open all of them."""
        if not paths:
            return None
        folder = os.getcwd() if not all(map(os.path.isabs, paths)) else None
        pending = {
            self.on_node(missing_paths, node["NodeID"], name="millrace: look for files").remote(
                paths, folder
            ): node
            for node in self.nodes()
        }
        for reference, node in pending.items():
            name = f"{node['NodeManagerAddress']} ({node['NodeID'][:8]})"
            try:
                missing = self.ray.get(reference, timeout=_LOOK)
            except self.ray.exceptions.RayError as error:  # lost meanwhile: nothing will run there
                log.info("node %s was not asked for its files: %s", name, type(error).__name__)
                continue
            if missing:
                return missing[0], name
        return None

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


def missing_paths(paths: list[str], folder: str | None) -> list[str]:
    """Those of the paths that cannot be opened here."""
    if folder is not None and os.path.isdir(folder):
        os.chdir(folder)
    return [path for path in paths if not os.access(path, os.R_OK)]


_lock = threading.RLock()
_current: Cluster | None = None


def starts_here(ray: Any, address: str | None) -> bool:
    """Whether `acquire_cluster` would start a cluster on this machine."""
    return not ray.is_initialized() and (address or os.environ.get("RAY_ADDRESS") or "local") == "local"


def acquire_cluster(ray: Any, address: str | None, object_store_memory: int | None) -> Cluster:
    """The cluster at this address, connected to if need be; without one, a cluster of this machine alone."""
    global _current
    with _lock:
        if _current is not None and (_current.pid != os.getpid() or not ray.is_initialized()):
            _current = None  # a forked child, or somebody called ray.shutdown()
        if _current is None:
            _current = _existing_cluster(ray, address) or _connect(ray, address, object_store_memory)
        else:
            _check_address_matches(_current, address)
        _current.users += 1
        return _current


def _existing_cluster(ray: Any, address: str | None) -> Cluster | None:
    """The user's program has connected already: then it also ends it."""
    if not ray.is_initialized():
        return None
    cluster = Cluster(ray, None, connected=False)
    _check_address_matches(cluster, address)
    return cluster


def _connect(ray: Any, address: str | None, object_store_memory: int | None) -> Cluster:
    address = address or os.environ.get("RAY_ADDRESS") or None
    if address is not None and "://" in address:
        raise ArgumentValueError(
            f"address={address!r}: work goes through this machine's own Ray node, which a Ray client has not. Make "
            "this machine a node (`ray start --address=HOST:PORT`) and give HOST:PORT or 'auto'"
        )
    if address not in (None, "auto", "local"):
        why = connection_error(address)  # Ray itself would try for minutes
        if why:
            raise ResourceError(
                f"cannot connect to the Ray cluster at {address}: {why}. `ray start --head` starts one there; the "
                "address is that of its GCS, port 6379 unless another was given"
            )
    folder = None
    with _preserve_sigterm_handler():
        try:
            if not starts_here(ray, address):
                ray.init(address=address, logging_level=logging.ERROR, log_to_driver=True)
            else:
                # sockets lie in it, whose names must be short
                folder = tempfile.mkdtemp(prefix="mray-", dir="/tmp")
                _set_token()
                with _loopback_only():
                    ray.init(
                        address="local",
                        num_cpus=available_cores(),
                        num_gpus=0,
                        include_dashboard=False,
                        object_store_memory=object_store_memory,
                        logging_level=logging.ERROR,
                        _node_ip_address=_LOOPBACK,
                        # Ray opens its folder to everybody (mode 777): the one above stays ours
                        _temp_dir=os.path.join(folder, "r"),
                    )
                _check_address(ray)
        except BaseException as error:
            with contextlib.suppress(Exception):
                ray.shutdown()
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            if not isinstance(error, Exception):  # told to stop meanwhile
                raise
            what = (
                f"connect to the Ray cluster at {address}" if folder is None else "start Ray on this machine"
            )
            raise ResourceError(f"cannot {what}: {type(error).__name__}: {error}") from error
    return Cluster(ray, folder, connected=True)


def _set_token() -> None:
    """Give a cluster of our own a token of its own: Ray would write one into the home folder, which may be read-only.

    Ray reads the token once in a process, so that all clusters that this process starts have the same one.
    """
    named = "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ
    if named or os.environ.get("RAY_AUTH_MODE") == "disabled" or os.path.exists(_TOKEN_FILE):
        return
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


@contextlib.contextmanager
def _loopback_only() -> Iterator[None]:
    """Start Ray on 127.0.0.1, so that its servers listen there alone.

    Ray replaces that address by one that other machines reach, unless it takes this system for one without clusters, as
    it does with macOS and Windows.
    """
    constants: Any = require("ray._private.ray_constants", extra="ray", purpose="work on a Ray cluster")
    before = getattr(constants, "ENABLE_RAY_CLUSTER", None)
    if before is None:
        yield
        return
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


def _check_address(ray: Any) -> None:
    outside = [node["NodeManagerAddress"] for node in ray.nodes() if node["NodeManagerAddress"] != _LOOPBACK]
    if outside:
        log.warning(
            "Ray on this machine: expected it to listen on %s, got %s. Other machines may reach its ports: block them, "
            "or use Ray 2.60.",
            _LOOPBACK,
            outside[0],
        )


def connection_error(address: str) -> str:
    """Why nobody answers at HOST:PORT; "" when somebody does.

    >>> connection_error("nonsense")
    'not of the form HOST:PORT'
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return "not of the form HOST:PORT"
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT).close()
    except (OSError, OverflowError) as error:
        return f"no answer ({error})"
    return ""


@contextlib.contextmanager
def _preserve_sigterm_handler() -> Iterator[None]:
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


def _check_address_matches(cluster: Cluster, address: str | None) -> None:
    if address in (None, "auto", "local", cluster.address):
        return
    raise ArgumentValueError(
        f"address={address!r}, but this process is connected to the Ray cluster at {cluster.address}, and Ray "
        "allows one at a time: leave the address out, or close what runs there (ray.shutdown()) first"
    )
