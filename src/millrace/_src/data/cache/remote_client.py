"""Client of a cache server on another machine: row stores accessed over TCP instead of shared memory.

The requests are the same as on one machine, with rows in the responses.
"""

from __future__ import annotations

import os
import socket
import threading
from typing import Any

import numpy as np

from millrace._src.core.errors import CacheError, DataError
from millrace._src.core.machine.shared_memory import ByteArray
from millrace._src.core.values.chunk import Chunk, Column
from millrace._src.data.engine.transport.chunk_codec import decode_chunk, encode_chunk

from .authenticated_connection import AuthenticatedConnection
from .protocol import Packet, raise_error_response
from .row_gather import Into, writable_column
from .row_group import Numbers, not_cacheable_message
from .slot_table import Slots

__all__ = ["RemoteConnection", "RemoteRowStore", "connect_remote"]


class RemoteConnection:
    """A connection to a server on another machine."""

    def __init__(self, host: str, port: int, key: bytes) -> None:
        self._lock = threading.Lock()
        self._connection = AuthenticatedConnection(
            socket.create_connection((host, port), timeout=10.0), key, serves=False
        )

    def request(self, payload: Any = b"", **packet: Any) -> tuple[Packet, ByteArray]:
        with self._lock:
            try:
                self._connection.send(packet, payload)
                message = self._connection.receive()
            except OSError as error:
                raise CacheError(f"the cache server is gone ({error})", "gone") from error
        if message is None:
            raise CacheError("the cache server is gone: it was stopped, or it died", "gone")
        reply, data = message
        raise_error_response(reply)
        return reply, data

    def close(self) -> None:
        self._connection.close()


class _RemoteTable:
    """The table attributes that the engine uses: capacity, and the length of the sequence once it is known."""

    def __init__(self, store: RemoteRowStore, capacity: int, total: int | None) -> None:
        self._store, self.capacity, self.known = store, capacity, total

    @property
    def total(self) -> int | None:
        return self.known

    @total.setter
    def total(self, rows: int) -> None:
        self.known = rows
        self._store.request(do="total", rows=rows)


class RemoteRowStore:
    """A row store with the methods of `RowStore` that the engine uses."""

    def __init__(
        self, server: RemoteConnection, session: int, key: str, rows: int, limit: int | None, spilling: bool
    ) -> None:
        self.key = key
        self.refused: str | None = None
        self.on_disk = 0  # known only to the other machine
        self._server = server
        reply, _ = server.request(
            do="open", session=session, key=key, rows=rows, limit=limit, spilling=spilling
        )
        self._number = int(reply["shelf"])
        self.cost: float | None = reply.get("cost")
        self.table = _RemoteTable(self, int(reply["rows"]), reply.get("total"))

    def request(self, payload: Any = b"", **packet: Any) -> tuple[Packet, ByteArray]:
        return self._server.request(payload, shelf=self._number, **packet)

    def find(self, numbers: Numbers) -> Slots:
        _, flags = self.request(np.ascontiguousarray(numbers).tobytes(), do="find")
        if len(flags) != len(numbers):
            raise CacheError("a response of the cache server does not match the number of requested rows")
        return flags.astype(np.uint64)

    def has(self, number: int) -> bool:
        """Whether a row is available without waiting; always false, because finding out needs a request."""
        return False

    def read(
        self,
        numbers: Numbers,
        slots: Slots,
        columns: tuple[str, ...] | None = None,
        into: Into | None = None,
    ) -> dict[str, Column] | None:
        reply, data = self.request(np.ascontiguousarray(numbers).tobytes(), do="read", columns=columns)
        if reply.get("missing"):
            return None
        chunk, _ = decode_chunk(data)
        if (chunk.ids != numbers).any():
            raise CacheError("the cache server returned other rows than requested")
        return {name: writable_column(column, name, into) for name, column in chunk.columns.items()}

    def sequence(self, start: int, most: int) -> Chunk | None:
        reply, data = self.request(do="sequence", start=start, most=most)
        if reply.get("total") is not None:
            self.table.known = int(reply["total"])
        if reply.get("missing"):
            return None
        chunk, _ = decode_chunk(data)
        return chunk.with_columns({name: writable_column(column) for name, column in chunk.columns.items()})

    def put(self, chunk: Chunk, numbers: Numbers) -> int:
        try:
            packed = encode_chunk(chunk)
        except DataError as error:
            self.refused = not_cacheable_message(error)
            return 0
        # the encoded chunk is aligned to 64 bytes, as everywhere
        data: ByteArray = np.zeros(8 * len(numbers) + packed.size, np.uint8)
        data[: 8 * len(numbers)] = np.ascontiguousarray(numbers).view(np.uint8)
        packed.write(data[8 * len(numbers) :])
        reply, _ = self.request(data, do="put", rows=len(numbers))
        self.refused = reply.get("refused")
        return int(reply["stored"])

    def note(self, **counts: float) -> None:
        self.request(do="note", **counts)

    def finish(self) -> None:
        """Nothing to do: the length was sent when it was set."""

    def close(self) -> None:
        try:
            self.request(do="close")
        except CacheError:
            pass  # the server is gone and has closed it


_servers: dict[tuple[str, int], tuple[int, RemoteConnection]] = {}
_connecting = threading.Lock()


def connect_remote(host: str, port: int, key: bytes, *, reconnect: bool = False) -> RemoteConnection:
    """This process's connection to a server on another machine."""
    with _connecting:
        owner, connection = _servers.get((host, port), (0, None))
        if connection is None or owner != os.getpid() or reconnect:
            if connection is not None and owner == os.getpid():
                connection.close()
            connection = RemoteConnection(host, port, key)
            _servers[host, port] = os.getpid(), connection
        return connection
