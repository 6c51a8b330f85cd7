"""Deploy a server on Ray Serve and stop it without dropping requests."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import queue
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from millrace._src.core.errors import ArgumentValueError, ResourceError, ServeError
from millrace._src.core.log import get_logger
from millrace._src.core.machine import ray_cluster
from millrace._src.core.machine.cores import available_cores
from millrace._src.core.machine.ray_cluster import Cluster
from millrace._src.core.optional import require
from millrace._src.core.public import public
from millrace._src.serve.config import Config
from millrace._src.serve.sockets import bind_socket, url_of

from .config_serialization import config_to_dict, list_paths
from .replica import Replica, failure_reason

__all__ = ["RayServer", "application", "run", "start_on_ray"]

log = get_logger(__name__)

APPLICATION, DEPLOYMENT = "millrace", "models"
PURPOSE, EXTRA = "serving on Ray", "rayserve"
# Bodies over 100 kB pass through the object store of a node.
_STORE, _BODIES = 200 << 20, 4
# Seconds between health checks: a lost replica is noticed within this time; its requests move to another at once.
_HEALTH = 2.0

Replicas = int | tuple[int, int]


def _import_serve() -> Any:
    return require("ray.serve", extra=EXTRA, purpose=PURPOSE)


def _check_counts(replicas: Replicas) -> tuple[int, int]:
    least, most = (replicas, replicas) if isinstance(replicas, int) else replicas
    if not 1 <= least <= most:
        raise ArgumentValueError(
            f"replicas: expected a number above 0, or a pair (minimum, maximum), got {replicas}"
        )
    return least, most


def application(config: Config, replicas: Replicas = 1) -> Any:
    """The server as a Ray Serve application; addresses and TLS are options of Ray Serve."""
    serve = _import_serve()
    least, most = _check_counts(replicas)
    plain = config_to_dict(config)
    options: dict[str, Any] = {"num_replicas": least}
    if most > least:
        scaling = {"min_replicas": least, "max_replicas": most, "target_ongoing_requests": config.max_batch}
        options = {"autoscaling_config": scaling}
    deployment = serve.deployment(
        serve.ingress()(Replica),
        name=DEPLOYMENT,
        ray_actor_options={"num_cpus": _cpus_per_replica(config)},
        # a replica batches its waiting requests, so it needs more than one at a time
        max_ongoing_requests=config.max_queue,
        max_queued_requests=config.max_queue,
        backpressure_config={"status_code": 429},
        graceful_shutdown_timeout_s=config.timeout + 5,
        health_check_period_s=_HEALTH,
        max_constructor_retry_count=1,
        logging_config={"log_level": "WARNING", "enable_access_log": False},
        **options,
    )
    return deployment.bind(plain)


def _cpus_per_replica(config: Config) -> int:
    return (config.threads or 1) * config.workers


class RayServer:
    """A server on Ray Serve; as a context manager it stops at the end. ``start_on_ray(Config(...))`` creates one."""

    def __init__(self, config: Config, replicas: Replicas, address: str | None, quiet: bool = False) -> None:
        if config.grpc_port is not None:
            raise ArgumentValueError(
                "Ray Serve's gRPC has no TLS, listens on every address of its machine and does not limit messages, so "
                "only HTTP is served with Ray. Omit the gRPC port, or serve without Ray"
            )
        self.config = config
        self._least, _ = _check_counts(replicas)
        paths = list_paths(config_to_dict(config), config)
        ray = ray_cluster.library(PURPOSE, EXTRA)
        self._serve = _import_serve()
        self._wants = self._least * _cpus_per_replica(config)
        self._resource_text = (
            f"replicas times their CPUs, {self._least} x {_cpus_per_replica(config)}, make {self._wants}"
        )
        if ray_cluster.starts_here(ray, address) and self._wants > available_cores():
            raise ResourceError(
                f"{self._resource_text}, this machine has {available_cores()}: request fewer replicas, or fewer "
                "threads or workers in each, or use the address of a larger cluster"
            )
        # otherwise Ray logs more than warnings in the user's process
        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        self._lock = threading.Lock()
        self._began = self._over = False
        self._quiet = quiet
        self._cluster = ray_cluster.acquire_cluster(ray, address, max(_STORE, _BODIES * config.max_body))
        try:
            self._check(self._cluster, paths)
            self.port, keeper = self._port()
            with keeper, self._silenced():
                self._began = True
                self._start()
                self._handle = self._deploy(replicas)
        except BaseException:
            self._end()
            raise
        # for programs that exit without `stop`; runs before Ray's exit handler, since Ray was imported first
        atexit.register(self.stop)

    @property
    def url(self) -> str:
        """URL of the server. On a cluster it is the same on each node with a proxy."""
        return url_of(self.config, self.port)

    # --- the start ---------------------------------------------------------------------------------------

    def _check(self, cluster: Cluster, paths: list[str]) -> None:
        """Check what would fail or hang later, before anything is started."""
        there = self._serve.status()
        if there.applications or there.proxies:
            raise ResourceError(
                f"Ray Serve runs already on the cluster at {cluster.address}, with "
                f"{', '.join(there.applications) or 'no application'}, and its address cannot be changed. Stop it "
                f"(`serve shutdown`), or use another cluster"
            )
        unseen = cluster.unseen(paths)
        if unseen is not None:
            path, node = unseen
            raise ResourceError(
                f"node {node} of the Ray cluster cannot open {path}: models and certificates are read on the nodes. "
                f"Put the file into a shared folder that has the same path on every node"
            )
        have = cluster.cpus()
        if have < self._wants:
            log.warning(
                "%s, the Ray cluster has %g: the server starts when nodes have joined",
                self._resource_text,
                have,
            )

    def _port(self) -> tuple[int, socket.socket]:
        """A free port, and the socket that reserves it until Ray Serve listens on it."""
        host, port = self.config.host, self.config.port
        if port:
            # Ray Serve sets SO_REUSEPORT; a server that already uses the port must be detected
            bind_socket(host, port).close()
        keeper = bind_socket(host, port, shared=True)
        return keeper.getsockname()[1], keeper

    def _start(self) -> None:
        config = self.config
        options: dict[str, Any] = {
            "host": config.host,
            "port": self.port,
            "keep_alive_timeout_s": 75,
            # the replica's limits for body and model give better errors; this one is for a lost reply
            "request_timeout_s": 2 * config.timeout + 5,
        }
        if config.certificate is not None and config.key is not None:
            options["ssl_certfile"] = os.path.abspath(config.certificate)
            options["ssl_keyfile"] = os.path.abspath(config.key)
        try:
            self._serve.start(
                proxy_location="EveryNode",
                http_options=options,
                logging_config={"log_level": "WARNING", "enable_access_log": False},
            )
        except Exception as error:
            raise ResourceError(f"Ray Serve does not start: {type(error).__name__}: {error}") from error

    def _deploy(self, replicas: Replicas) -> Any:
        try:
            return self._serve.run(application(self.config, replicas), name=APPLICATION, route_prefix="/")
        except Exception as error:
            why = failure_reason(self._status_message())
            raise ServeError(f"no replica could start: {why or error}", 500) from (None if why else error)

    def _status_message(self) -> str:
        """Status messages of Ray Serve about the replicas; the error of a start has few details."""
        there = self._serve.status().applications.get(APPLICATION)
        return "" if there is None else "\n".join(each.message for each in there.deployments.values())

    # --- while it runs -----------------------------------------------------------------------------------

    def reload(self, name: str) -> list[int]:
        """Reload a model in all replicas; returns its versions. No request waits for the load."""
        reply = self._handle.load_everywhere.remote(name).result()
        if reply["error"] is not None:
            raise ServeError(reply["error"], 500)
        versions: list[int] = reply["versions"]
        return versions

    # --- the end -----------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Complete the pending requests, then stop; Ray too, if this server started it. May be called twice."""
        with self._lock:
            if not self._over and self.config.drain:
                with contextlib.suppress(Exception):  # no replica is running, so none gets requests
                    self._handle.broadcast("leave").results(
                        timeout_s=self.config.timeout, return_exceptions=True
                    )
                time.sleep(self.config.drain)
            self._end()
        atexit.unregister(self.stop)

    def _end(self) -> None:
        if self._over:
            return
        self._over = True
        with self._silenced():
            try:
                if self._began and self._cluster.ray.is_initialized():
                    try:
                        self._serve.delete(APPLICATION)
                    finally:
                        self._serve.shutdown()
            except Exception as error:
                log.warning("Ray Serve did not shut down cleanly: %s: %s", type(error).__name__, error)
            finally:
                self._cluster.release()

    @contextlib.contextmanager
    def _silenced(self) -> Iterator[None]:
        """Silence Ray's output for the command: long messages about a failed load and about its shutdown."""
        if not self._quiet:
            yield
            return
        away, errors = contextlib.redirect_stdout, contextlib.redirect_stderr
        with open(os.devnull, "w") as nowhere, away(nowhere), errors(nowhere):
            yield

    def __enter__(self) -> RayServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@public("serve")
def start_on_ray(config: Config, replicas: Replicas = 1, address: str | None = None) -> RayServer:
    """Start a server on Ray Serve, and return when it is ready: `start` for several processes or machines.

    `replicas` is the number of processes, or a pair (minimum, maximum) within which Ray Serve scales by the waiting
    requests. `address` is the address of a Ray cluster that includes this machine, ``"HOST:PORT"`` or ``"auto"``. The
    default is ``RAY_ADDRESS``, or the cluster that this program is connected to, or a new Ray on this machine that ends
    with the server. The nodes read the model files. Each replica reserves `threads` CPUs of the `config` (0 counts as
    1). gRPC is not available.

    >>> from millrace.serve import Config
    >>> start_on_ray(Config({"pets": "pets.mindir"}, grpc_port=0), replicas=2)
    Traceback (most recent call last):
    ...
    millrace.errors.ArgumentValueError: Ray Serve's gRPC has no TLS, ...
    """
    return RayServer(config, replicas, address)


def run(
    config: Config,
    started: Callable[[RayServer], None],
    replicas: Replicas = 1,
    address: str | None = None,
) -> None:
    """Run a server on Ray Serve until SIGTERM or SIGINT; SIGHUP reloads its models. Call it in the main thread."""
    signals: queue.SimpleQueue[int] = queue.SimpleQueue()

    def interrupted(number: int, _: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        # before the server is ready a signal aborts the start; afterwards signals are handled in order
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, interrupted)
        with RayServer(config, replicas, address, quiet=True) as server:
            for number in before:
                signal.signal(number, lambda number, _: signals.put(number))
            started(server)
            while signals.get() == signal.SIGHUP:
                _reload_all(server)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _reload_all(server: RayServer) -> None:
    for name in server.config.models:
        try:
            server.reload(name)
        except Exception as error:
            log.error("model '%s' could not be reloaded: %s", name, error)
