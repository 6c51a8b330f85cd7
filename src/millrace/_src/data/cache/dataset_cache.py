"""`DatasetCache`: user-facing description of a cache (server session, in-process server or directory).

It holds no handles and can be sent to worker processes.
"""

from __future__ import annotations

import dataclasses
import os
import socket
from collections.abc import Callable
from typing import Annotated, Any

from millrace._src.core.args import INT32_MAX, UINT32_MAX, Range, checked
from millrace._src.core.errors import ArgumentValueError, CacheError
from millrace._src.core.public import public

from .authenticated_connection import KEY_VARIABLE, read_key
from .client import connect, disconnect
from .disk_store import check_folder, folder_bytes, open_disk_store
from .in_process_server import in_process_address, in_process_session
from .remote_client import RemoteRowStore, connect_remote
from .row_store import RowStore
from .server_paths import server_paths

__all__ = ["DEFAULT_HOST", "DEFAULT_PORT", "CacheStat", "DatasetCache", "local_host", "server_address"]

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 50052
MIN_PORT, MAX_PORT = 1025, 65535
# Maximum number of rows of a sequence of unknown length; no larger table is created.
MAX_UNKNOWN_ROWS = 1 << 24


@dataclasses.dataclass(frozen=True)
class CacheStat:
    """The contents of a cache: average bytes per row, rows in memory, rows on disk.

    >>> CacheStat(1024, 10, 0).num_mem_cached
    10
    """

    avg_cache_sz: int
    num_mem_cached: int
    num_disk_cached: int


def local_host(name: str) -> bool:
    """Whether a host name refers to this machine."""
    return name in ("localhost", "127.0.0.1", "::1", "0.0.0.0", socket.gethostname())


def host_and_port(host: str | None, port: int | None) -> tuple[str, int]:
    """The given host and port, or MS_CACHE_HOST and MS_CACHE_PORT, or MindSpore's defaults."""
    host = host or os.environ.get("MS_CACHE_HOST") or DEFAULT_HOST
    return host, _parse_port(os.environ.get("MS_CACHE_PORT")) if port is None else port


def server_address(host: str | None = None, port: int | None = None) -> str:
    """The socket path of the server at a port of this machine; defaults are MS_CACHE_HOST and MS_CACHE_PORT."""
    host, port = host_and_port(host, port)
    if not local_host(host):
        raise CacheError(
            f"the cache server at {host} is on another machine: clients read its memory, so it serves one machine. "
            f"Start one here (dataset-cache --start -p {port}) and omit hostname and MS_CACHE_HOST; or open it to "
            f"other machines with a key: 'millrace cache start --key FILE' there, {KEY_VARIABLE}=FILE here",
            "host",
        )
    return str(server_paths(port).socket)


def _parse_port(text: str | None) -> int:
    if text is None or not text.strip():
        return DEFAULT_PORT
    try:
        port = int(text)
    except ValueError:
        port = 0
    if not MIN_PORT <= port <= MAX_PORT:
        raise ArgumentValueError(
            f"MS_CACHE_PORT is {text!r}: it must be a number from {MIN_PORT} to {MAX_PORT}"
        )
    return port


@public("dataset")
class DatasetCache:
    """Stores the processed rows of a pipeline: in a server that several processes share, in this process, or in a
    folder.

    ``session_id`` names a session of a running server (``dataset-cache --start``, then ``dataset-cache -g``). Without
    it the cache belongs to this process and is shared with its workers; with ``path`` it is a folder on disk that
    outlives the process. ``size`` is the maximum number of megabytes of memory (of disk, for a folder) for rows under
    one key, 0 for the server's limit; ``spilling`` stores on disk what does not fit. ``num_connections`` and
    ``prefetch_size`` are checked but not needed: rows are read from shared memory without requests to the server.

    >>> import millrace.dataset as ds
    >>> data = ds.NumpySlicesDataset([1, 2, 3], shuffle=False)
    >>> data = data.map(lambda x: x * 2, cache=ds.DatasetCache())
    >>> [row[0].item() for row in data]
    [2, 4, 6]
    """

    @checked
    def __init__(
        self,
        session_id: Annotated[int | None, Range(1, UINT32_MAX)] = None,
        size: Annotated[int, Range(0, 1 << 43)] = 0,
        spilling: bool = False,
        hostname: str | None = None,
        port: Annotated[int | None, Range(MIN_PORT, MAX_PORT)] = None,
        num_connections: Annotated[int | None, Range(1, INT32_MAX)] = None,
        prefetch_size: Annotated[int | None, Range(1, INT32_MAX)] = None,
        *,
        path: str | None = None,
    ) -> None:
        if path is not None and session_id is not None:
            raise ArgumentValueError(
                "a cache is either a session of a server (session_id) or a folder (path), not both"
            )
        self.session_id, self.size, self.spilling = session_id, size, spilling
        self.hostname, self.port = hostname, port
        self.num_connections, self.prefetch_size = num_connections, prefetch_size
        self.path = None if path is None else os.fspath(path)
        # address and session of the in-process server, set at first use so that worker processes find it
        self._in_process: tuple[str, int] | None = None
        self.used = False
        # the keys opened through this object, which get_stat counts
        self._keys: set[str] = set()

    def __repr__(self) -> str:
        if self.path is not None:
            where = f"path={self.path!r}"
        else:
            where = "" if self.session_id is None else f"session_id={self.session_id}"
        arguments = [
            where,
            f"size={self.size}" if self.size else "",
            "spilling=True" if self.spilling else "",
        ]
        return f"DatasetCache({', '.join(part for part in arguments if part)})"

    def __deepcopy__(self, memo: dict[int, Any]) -> DatasetCache:
        return self  # it only names a cache

    def to_dict(self) -> dict[str, Any]:
        """The dict that a saved pipeline stores, with MindSpore's names; :meth:`from_dict` reads it.

        >>> DatasetCache.from_dict(DatasetCache(7, size=64).to_dict())
        DatasetCache(session_id=7, size=64)
        """
        values = {
            "session_id": self.session_id,
            "cache_memory_size": self.size,
            "spill": self.spilling,
            "hostname": host_and_port(self.hostname, self.port)[0],
            "port": host_and_port(self.hostname, self.port)[1],
            "num_connections": self.num_connections,
            "cache_prefetch_size": self.prefetch_size,
        }
        return values if self.path is None else values | {"path": self.path}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> DatasetCache:
        """Create a cache from the dict of :meth:`to_dict`.

        >>> DatasetCache.from_dict({"session_id": 7, "cache_memory_size": 0, "spill": True})
        DatasetCache(session_id=7, spilling=True)
        """
        names = {
            "session_id": "session_id",
            "cache_memory_size": "size",
            "spill": "spilling",
            "hostname": "hostname",
            "port": "port",
            "num_connections": "num_connections",
            "cache_prefetch_size": "prefetch_size",
            "path": "path",
        }
        return cls(**{mine: saved[theirs] for theirs, mine in names.items() if saved.get(theirs) is not None})

    # used by the engine ---------------------------------------------------------------------------------

    def resolve(self) -> None:
        """Start the in-process server if needed; called in the user's process before workers start."""
        if self.session_id is None and self.path is None:
            self._in_process = in_process_address(), in_process_session()

    def open(self, key: str, rows: int | None) -> RowStore | RemoteRowStore:
        """Open the row store under a key with this many rows; CacheError or OSError if the cache cannot be used."""
        store = self._open_store(key, rows)
        self._keys.add(key)
        self.used = True
        return store

    def _open_store(self, key: str, rows: int | None) -> RowStore | RemoteRowStore:
        limit = self.size << 20 or None
        capacity = MAX_UNKNOWN_ROWS if rows is None else rows
        if self.path is not None:
            return open_disk_store(check_folder(self.path), key, capacity, limit)
        remote = self._remote_server()
        if remote is not None and self.session_id is not None:
            session = self.session_id
            return self._retry(
                lambda anew: RemoteRowStore(
                    connect_remote(*remote, reconnect=anew), session, key, capacity, limit, self.spilling
                )
            )
        address, session = self._locate()
        return self._retry_connected(
            address, lambda: connect(address).open_store(session, key, capacity, limit, self.spilling)
        )

    def _remote_server(self) -> tuple[str, int, bytes] | None:
        """Host, port and key of a server on another machine, if the user named one and has its key."""
        host, port = host_and_port(self.hostname, self.port)
        path = os.environ.get(KEY_VARIABLE)
        if self.session_id is None or local_host(host) or not path:
            return None
        return host, port, read_key(path)

    def _locate(self) -> tuple[str, int]:
        if self.session_id is not None:
            return server_address(self.hostname, self.port), self.session_id
        if self._in_process is None:
            self.resolve()
        assert self._in_process is not None
        return self._in_process

    def _retry_connected(self, address: str, request: Any) -> Any:
        """Send a request, and retry once over a new connection: the server may have been restarted."""

        def once(anew: bool) -> Any:
            if anew:
                disconnect(address)
            return request()

        return self._retry(once)

    def _retry(self, request: Callable[[bool], Any]) -> Any:
        try:
            return request(False)
        except CacheError as error:
            if error.kind != "gone":
                raise
        except OSError:
            pass
        try:
            return request(True)
        except OSError as error:
            raise CacheError(self._no_server_message(error), "unreachable") from error

    def _no_server_message(self, error: OSError) -> str:
        port = host_and_port(self.hostname, self.port)[1]
        return (
            f"no cache server is running at port {port} ({error.strerror}): start one ('dataset-cache --start "
            f"-p {port}') and generate a session with 'dataset-cache -g', or omit session_id for an in-process cache"
        )

    # used by users --------------------------------------------------------------------------------------

    def get_stat(self) -> CacheStat:
        """Average bytes per row, rows in memory and rows on disk, of the keys used through this object.

        >>> import millrace.dataset as ds
        >>> cache = ds.DatasetCache()
        >>> cache.get_stat().num_mem_cached
        0
        """
        keys = sorted(self._keys)
        if self.path is not None:
            from pathlib import Path

            folder = Path(self.path)
            rows = 0
            for key in keys:
                store = open_disk_store(folder, key, MAX_UNKNOWN_ROWS, None)
                try:
                    rows += store.rows
                finally:
                    store.close()
            size = folder_bytes(folder, keys)
            return CacheStat(size // rows if rows else 0, 0, rows)
        remote = self._remote_server()
        if remote is not None:
            session = self.session_id or 0
            reply, _ = self._retry(
                lambda anew: connect_remote(*remote, reconnect=anew).request(
                    do="stat", session=session, keys=keys
                )
            )
            return _parse_stat(reply)
        address, session = self._locate()
        reply = self._retry_connected(
            address, lambda: connect(address).request(do="stat", session=session, keys=keys)
        )
        return _parse_stat(reply)


def _parse_stat(reply: dict[str, Any]) -> CacheStat:
    (rows, size), (disk_rows, disk_size) = reply["memory"], reply["disk"]
    total = rows + disk_rows
    return CacheStat((size + disk_size) // total if total else 0, rows, disk_rows)
