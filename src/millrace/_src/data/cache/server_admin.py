"""Start, stop and query cache servers; the functions behind the `millrace cache` commands."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

from millrace._src.core.errors import CacheError
from millrace._src.core.machine.cgroup import memory_limit
from millrace._src.data.engine.transport.spill import spill_folder

from .authenticated_connection import read_key
from .client import Connection
from .dataset_cache import DEFAULT_HOST, DEFAULT_PORT, local_host, server_address
from .protocol import boot_id, start_time
from .server_paths import ServerLock, ServerPaths, find_stale_files, server_paths

__all__ = [
    "NO_SERVER",
    "CacheInfo",
    "ServerInfo",
    "SessionInfo",
    "destroy",
    "generate",
    "info",
    "sessions",
    "stale",
    "start",
    "stop",
]

# Error types that mean that no server is running. A server that just dies may still have accepted the connection.
NO_SERVER = ("unreachable", "gone")
START_SECONDS = 30.0
STOP_SECONDS = 10.0
# Response timeout in seconds for interactive commands.
PATIENCE = 5.0


@dataclasses.dataclass(frozen=True)
class ServerInfo:
    """A running server. Sizes are bytes; ``started`` is seconds since 1970."""

    pid: int
    hostname: str
    port: int
    version: str
    workers: int
    spill: str | None
    log_level: int
    memory_limit: int
    memory_used: int
    spill_used: int
    started: float
    sessions: int
    clients: int
    log: str


@dataclasses.dataclass(frozen=True)
class CacheInfo:
    """The rows under one key of a session."""

    key: str
    rows_in_memory: int
    memory_bytes: int
    rows_on_disk: int
    disk_bytes: int
    hits: int
    clients: int

    @property
    def average_bytes(self) -> int:
        rows = self.rows_in_memory + self.rows_on_disk
        return (self.memory_bytes + self.disk_bytes) // rows if rows else 0


@dataclasses.dataclass(frozen=True)
class SessionInfo:
    session: int
    caches: tuple[CacheInfo, ...]


def start(
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    workers: int | None = None,
    spill: str | None = None,
    memory_ratio: float = 0.8,
    log_level: int = 1,
    key_file: str | None = None,
) -> ServerInfo:
    """Start a server in the background and wait until it responds. Files of a dead server at this port are removed.

    With ``key_file`` it also serves other machines that have the same key, on this port of the interface ``host``.
    """
    if key_file is not None:
        read_key(key_file)
    elif not local_host(host):
        raise CacheError(
            f"a cache server serves its own machine, and {host} would open it to others: omit -h, or pass a key file",
            "host",
        )
    paths = server_paths(port, make=True)
    folder = spill or spill_folder()
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise CacheError(
            f"the folder {folder} for rows that do not fit into memory cannot be written to", "spill"
        )
    lock = ServerLock(paths)
    try:
        if not lock.take():
            raise _already_running_error(port)
    finally:
        lock.close()
    command = [sys.executable, "-m", "millrace._src.data.cache.server_main", str(paths.folder), str(port)]
    command += [str(int(memory_limit() * memory_ratio)), os.path.abspath(folder)]
    command += [str(workers or 0), str(log_level), host, os.path.abspath(key_file) if key_file else ""]
    log = os.open(paths.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True
        )
    finally:
        os.close(log)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(CacheError, OSError):
            server = info(DEFAULT_HOST, port)
            if server.pid == process.pid:
                process.returncode = 0  # it outlives this process: do not wait for it
                return server
        time.sleep(0.02)
    if process.poll() is None:
        process.kill()
        process.wait()
        raise CacheError(f"the cache server did not respond within {START_SECONDS:.0f} s; see {paths.log}")
    if process.returncode == EXIT_ALREADY_RUNNING:
        raise _already_running_error(port)
    log_lines = paths.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise CacheError(
        f"the cache server exited immediately: {log_lines[-1] if log_lines else f'see {paths.log}'}"
    )


# The exit status of a server that finds another one at its port.
EXIT_ALREADY_RUNNING = 17


def _already_running_error(port: int) -> CacheError:
    return CacheError(f"a cache server is running at port {port} already", "running")


def stop(host: str = DEFAULT_HOST, port: int = DEFAULT_PORT) -> bool:
    """Stop a server and remove its files; False if none was running."""
    if not local_host(host):
        server_address(host, port)  # raises the error
    paths = server_paths(port)
    if not paths.folder.is_dir():
        return False
    lock = ServerLock(paths)
    try:
        running = not lock.take()
        if running:
            _end_server(paths, lock)
        paths.clean()
        with contextlib.suppress(FileNotFoundError):
            paths.log.unlink()
        return running
    finally:
        lock.close(remove=True)
        with contextlib.suppress(OSError):
            paths.folder.rmdir()  # if no other server has files there


def _end_server(paths: ServerPaths, lock: ServerLock) -> None:
    """Request the server to exit; kill it if it does not respond. Its lock shows when it has ended."""
    description = paths.read_description()
    with contextlib.suppress(CacheError, OSError):
        connection = Connection(str(paths.socket), PATIENCE)
        with contextlib.closing(connection):
            connection.request(do="stop")
    deadline = time.monotonic() + STOP_SECONDS
    killed = False
    while not lock.take():
        if time.monotonic() > deadline:
            pid = description.get("pid")
            known = (
                isinstance(pid, int)
                and description.get("boot") == boot_id()
                and start_time(pid) == description.get("started")
            )
            if killed or not known:
                raise CacheError(f"the cache server at port {paths.port} does not end; its process is {pid}")
            os.kill(int(pid or 0), signal.SIGKILL)
            killed, deadline = True, time.monotonic() + STOP_SECONDS
        time.sleep(0.01)


@contextlib.contextmanager
def _connected(host: str, port: int) -> Iterator[Connection]:
    try:
        connection = Connection(server_address(host, port), PATIENCE)
    except OSError as error:
        raise CacheError(
            f"no cache server is running at port {port} ({error.strerror}): start one with 'dataset-cache --start'",
            "unreachable",
        ) from error
    with contextlib.closing(connection):
        yield connection


def info(host: str = DEFAULT_HOST, port: int = DEFAULT_PORT) -> ServerInfo:
    """Information about the server at this port."""
    with _connected(host, port) as server:
        reply = server.request(do="info")
    return ServerInfo(
        pid=reply["pid"],
        hostname=reply.get("hostname", host),
        port=port,
        version=str(reply.get("release", "")),
        workers=int(reply.get("workers", 1)),
        spill=reply.get("spill"),
        log_level=int(reply.get("log_level", 1)),
        memory_limit=reply["memory"],
        memory_used=reply["memory_used"],
        spill_used=reply["disk_used"],
        started=reply["started"],
        sessions=reply["sessions"],
        clients=reply["clients"],
        log=str(server_paths(port).log),
    )


def generate(host: str = DEFAULT_HOST, port: int = DEFAULT_PORT) -> int:
    """Create a session on the server at this port."""
    with _connected(host, port) as server:
        return int(server.request(do="generate")["session"])


def destroy(host: str = DEFAULT_HOST, port: int = DEFAULT_PORT, session: int = 0) -> None:
    """Destroy a session and its rows."""
    with _connected(host, port) as server:
        server.request(do="destroy", session=session)


def sessions(host: str = DEFAULT_HOST, port: int = DEFAULT_PORT) -> list[SessionInfo]:
    """All sessions of the server at this port, with their row stores."""
    result: list[SessionInfo] = []
    with _connected(host, port) as server:
        after, incomplete = -1, True
        while incomplete:
            reply = server.request(do="sessions", after=after)
            for number, stores in reply["sessions"]:
                result.append(SessionInfo(number, tuple(CacheInfo(*store) for store in stores)))
                after = number
            incomplete = bool(reply["more"])
    return result


def stale() -> list[str]:
    """The files that dead servers of this user have left behind."""
    return [str(path) for path in find_stale_files()]
