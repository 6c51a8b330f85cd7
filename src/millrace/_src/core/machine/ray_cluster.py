"""Ray connection: use the cluster of the program, connect to one, or start one; and clean up afterwards.

A process uses one cluster at a time, as Ray requires. Pipelines and servers share it; when the last user releases it,
a connection made here is closed, and a cluster started here is stopped: processes, shared memory and files. A cluster
that the program was connected to before stays connected. A cluster started here is for this user on this machine: its
ports are on loopback, and its sockets and files in a folder with mode 700.
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

# Seconds to wait until every node has checked the files.
_LOOK = 120.0
_CONNECT = 5.0
_LOOPBACK = "127.0.0.1"
_TOKEN_FILE = os.path.expanduser("~/.ray/auth_token")

# Disable usage reports, and keep Ray from starting a cluster implicitly.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


def library(purpose: str, extra: str = "ray") -> Any:
    """Import Ray."""
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
        """The nodes that are alive and can run workers."""
        return [node for node in self.ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) > 0]

    def node_lives(self, node_id: str) -> bool:
        return any(node["NodeID"] == node_id and node["Alive"] for node in self.ray.nodes())

    def cpus(self) -> float:
        """The total number of CPUs of all nodes."""
        return float(sum(node["Resources"]["CPU"] for node in self.nodes()))

    def on_node(self, function: Any, node_id: str, **options: Any) -> Any:
        """A function as a task on one node; it reserves no CPU."""
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
                log.info("node %s was lost before it checked its files: %s", name, type(error).__name__)
                continue
            if missing:
                return missing[0], name
        return None

    def release(self) -> None:
        """Release the cluster; the last user disconnects, or stops a cluster started here."""
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
    """Connect to the cluster at this address if necessary; without an address, start one on this machine."""
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
    """The cluster that the program has connected to already; it is not disconnected here."""
    if not ray.is_initialized():
        return None
    cluster = Cluster(ray, None, connected=False)
    _check_address_matches(cluster, address)
    return cluster


def _connect(ray: Any, address: str | None, object_store_memory: int | None) -> Cluster:
    address = address or os.environ.get("RAY_ADDRESS") or None
    if address is not None and "://" in address:
        raise ArgumentValueError(
            f"address={address!r}: expected the address of a cluster that this machine is a node of, got a Ray client "
            "address. Make this machine a node (`ray start --address=HOST:PORT`) and pass HOST:PORT or 'auto'."
        )
    if address not in (None, "auto", "local"):
        why = connection_error(address)  # Ray would retry for minutes
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
                # a short path, because the length of socket names is limited
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
                        # Ray gives its folder mode 777: the folder above it has mode 700
                        _temp_dir=os.path.join(folder, "r"),
                    )
                _check_address(ray)
        except BaseException as error:
            with contextlib.suppress(Exception):
                ray.shutdown()
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            if not isinstance(error, Exception):  # interrupted
                raise
            what = (
                f"connect to the Ray cluster at {address}" if folder is None else "start Ray on this machine"
            )
            raise ResourceError(f"cannot {what}: {type(error).__name__}: {error}") from error
    return Cluster(ray, folder, connected=True)


def _set_token() -> None:
    """Set a token for a cluster started here: Ray would write one into the home folder, which may be read-only.

    Ray reads the token once per process, so all clusters that this process starts have the same one.
    """
    named = "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ
    if named or os.environ.get("RAY_AUTH_MODE") == "disabled" or os.path.exists(_TOKEN_FILE):
        return
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


@contextlib.contextmanager
def _loopback_only() -> Iterator[None]:
    """Start Ray on 127.0.0.1, so that its servers listen there alone.

    Ray replaces that address by one that other machines reach, unless it assumes a system without clusters, such as
    macOS or Windows.
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
    """Why no server can be reached at HOST:PORT; "" if one can.

    >>> connection_error("nonsense")
    'not of the form HOST:PORT'
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return "not of the form HOST:PORT"
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT).close()
    except (OSError, OverflowError) as error:
        return f"no connection ({error})"
    return ""


@contextlib.contextmanager
def _preserve_sigterm_handler() -> Iterator[None]:
    """Restore the program's handler for SIGTERM, which Ray replaces."""
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
        "allows one at a time: omit the address, or disconnect first (ray.shutdown())"
    )
