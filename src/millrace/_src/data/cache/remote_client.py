"""A shelf on another machine: the same questions, asked over the network, with rows in the answers."""

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
from .slot_table import Places

__all__ = ["RemoteConnection", "RemoteRowStore", "connect_remote"]


class RemoteConnection:
    """A connection to a server on another machine."""

    def __init__(self, host: str, port: int, key: bytes) -> None:
        self._turn = threading.Lock()
        self._wire = AuthenticatedConnection(
            socket.create_connection((host, port), timeout=10.0), key, serves=False
        )

    def ask(self, payload: Any = b"", **packet: Any) -> tuple[Packet, ByteArray]:
        with self._turn:
            try:
                self._wire.send(packet, payload)
                got = self._wire.receive()
            except OSError as error:
                raise CacheError(f"the cache server is gone ({error})", "gone") from error
        if got is None:
            raise CacheError("the cache server is gone: it was stopped, or it died", "gone")
        said, data = got
        raise_error_response(said)
        return said, data

    def close(self) -> None:
        self._wire.close()


class _Length:
    """What the engine asks of a table: how many rows, and how long the sequence is once that is known."""

    def __init__(self, shelf: RemoteRowStore, capacity: int, total: int | None) -> None:
        self._shelf, self.capacity, self.known = shelf, capacity, total

    @property
    def total(self) -> int | None:
        return self.known

    @total.setter
    def total(self, rows: int) -> None:
        self.known = rows
        self._shelf.ask(do="total", rows=rows)


class RemoteRowStore:
    """Like a shelf in shared memory, as far as the engine asks."""

    def __init__(
        self, server: RemoteConnection, session: int, key: str, rows: int, limit: int | None, spilling: bool
    ) -> None:
        self.key = key
        self.refused: str | None = None
        self.on_disk = 0  # the other machine knows
        self._server = server
        said, _ = server.ask(do="open", session=session, key=key, rows=rows, limit=limit, spilling=spilling)
        self._number = int(said["shelf"])
        self.cost: float | None = said.get("cost")
        self.table = _Length(self, int(said["rows"]), said.get("total"))

    def ask(self, payload: Any = b"", **packet: Any) -> tuple[Packet, ByteArray]:
        return self._server.ask(payload, shelf=self._number, **packet)

    def find(self, numbers: Numbers) -> Places:
        _, found = self.ask(np.ascontiguousarray(numbers).tobytes(), do="find")
        if len(found) != len(numbers):
            raise CacheError("an answer of the cache server has another length than the question")
        return found.astype(np.uint64)

    def has(self, number: int) -> bool:
        """Whether a row can be had at once: nobody knows without asking."""
        return False

    def read(
        self,
        numbers: Numbers,
        places: Places,
        columns: tuple[str, ...] | None = None,
        into: Into | None = None,
    ) -> dict[str, Column] | None:
        said, data = self.ask(np.ascontiguousarray(numbers).tobytes(), do="read", columns=columns)
        if said.get("missing"):
            return None
        chunk, _ = decode_chunk(data)
        if (chunk.ids != numbers).any():
            raise CacheError("the cache server gave other rows than were asked for")
        return {name: writable_column(column, name, into) for name, column in chunk.columns.items()}

    def sequence(self, start: int, most: int) -> Chunk | None:
        said, data = self.ask(do="sequence", start=start, most=most)
        if said.get("total") is not None:
            self.table.known = int(said["total"])
        if said.get("missing"):
            return None
        chunk, _ = decode_chunk(data)
        return chunk.with_columns({name: writable_column(column) for name, column in chunk.columns.items()})

    def put(self, chunk: Chunk, numbers: Numbers) -> int:
        try:
            packed = encode_chunk(chunk)
        except DataError as error:
            self.refused = not_cacheable_message(error)
            return 0
        # rows begin on a border of 64 bytes, as everywhere
        data: ByteArray = np.zeros(8 * len(numbers) + packed.size, np.uint8)
        data[: 8 * len(numbers)] = np.ascontiguousarray(numbers).view(np.uint8)
        packed.write(data[8 * len(numbers) :])
        said, _ = self.ask(data, do="put", rows=len(numbers))
        self.refused = said.get("refused")
        return int(said["stored"])

    def note(self, **counts: float) -> None:
        self.ask(do="note", **counts)

    def finish(self) -> None:
        """The length was told when it was set."""

    def close(self) -> None:
        try:
            self.ask(do="close")
        except CacheError:
            pass  # whoever is gone has closed it


_servers: dict[tuple[str, int], tuple[int, RemoteConnection]] = {}
_connecting = threading.Lock()


def connect_remote(host: str, port: int, key: bytes, *, anew: bool = False) -> RemoteConnection:
    """This process's connection to a server on another machine."""
    with _connecting:
        owner, found = _servers.get((host, port), (0, None))
        if found is None or owner != os.getpid() or anew:
            if found is not None and owner == os.getpid():
                found.close()
            found = RemoteConnection(host, port, key)
            _servers[host, port] = os.getpid(), found
        return found
