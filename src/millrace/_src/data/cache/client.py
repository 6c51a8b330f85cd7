"""Client side of the cache protocol: one connection per process and server, and shared-memory row stores opened over
it.

A connection belongs to the process that created it. A forked child detects this by the process id and creates its own.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from typing import Any

from millrace._src.core.errors import CacheError, FormatError, ResourceError
from millrace._src.core.machine.shared_memory import ByteArray

from . import memory_blocks as slabs
from .memory_blocks import BlockWriter
from .protocol import (
    VERSION,
    Packet,
    boot_id,
    peer_credentials,
    raise_error_response,
    receive,
    send,
    version_mismatch_message,
)
from .row_store import RowStore
from .slot_table import SlotTable

__all__ = ["Connection", "SharedRowStore", "connect", "disconnect"]

# Response timeout in seconds; requests are small.
RESPONSE_SECONDS = 60.0


class Connection:
    """A connection to one server; one request at a time."""

    def __init__(self, address: str, patience: float = RESPONSE_SECONDS) -> None:
        self.address, self.owner, self._patience = address, os.getpid(), patience
        # why the connection cannot be used any more; set after the first failure
        self.broken = ""
        self._lock = threading.RLock()
        self._stores: dict[tuple[int, str], SharedRowStore] = {}
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._sock.settimeout(patience)
            self._connect(_socket_path(address))
            _, user = peer_credentials(self._sock)
            if user != os.getuid():
                raise CacheError(
                    f"the cache server belongs to another user (uid {user}); start your own server", "user"
                )
            hello = self.request(do="hello", version=VERSION, boot=boot_id(), pid=os.getpid())
        except BaseException:
            self._sock.close()
            raise
        if hello.get("version") != VERSION:
            self._sock.close()
            raise CacheError(version_mismatch_message(hello.get("version")), "version")

    def _connect(self, path: str) -> None:
        """Connect; retry while the server's backlog is full."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                self._sock.connect(path)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def request(self, **packet: Any) -> Packet:
        """Send a request and return the response, with a descriptor under ``fd`` if any.

        CacheError where the server rejects the request or is gone.
        """
        if self.owner != os.getpid():
            raise CacheError("a forked process cannot use the connection of its parent", "gone")
        with self._lock:
            if self.broken:
                raise CacheError(self.broken, "gone")
            try:
                send(self._sock, packet)
                reply, fd = receive(self._sock)
            except TimeoutError:
                raise self._break(f"the cache server did not respond within {self._patience:.0f} s") from None
            except OSError as error:
                raise self._break(f"the cache server is gone ({error.strerror})") from error
            if reply is None:
                raise self._break("the cache server is gone: it was stopped, or it died")
        if "error" in reply and fd is not None:
            os.close(fd)
        raise_error_response(reply)
        if fd is not None:
            reply["fd"] = fd
        return reply

    def _break(self, why: str) -> CacheError:
        """Close the connection: a late response must not be mistaken for that to the next request."""
        self.broken = why
        self._sock.close()
        return CacheError(why, "gone")

    def notify(self, **packet: Any) -> None:
        """Send a message without a response; ignored if the server is gone."""
        with self._lock, contextlib.suppress(OSError):
            if not self.broken and self.owner == os.getpid():
                send(self._sock, packet)

    def open_store(
        self, session: int, key: str, rows: int, limit: int | None, spilling: bool
    ) -> SharedRowStore:
        """Open the row store under a key. Each caller closes it once."""
        with self._lock:
            store = self._stores.get((session, key))
            if store is None:
                reply = self.request(
                    do="open", session=session, key=key, rows=rows, limit=limit, spilling=spilling
                )
                store = SharedRowStore(
                    self, (session, key), int(reply["shelf"]), _open_table(reply), reply.get("cost")
                )
                self._stores[session, key] = store
            store.users += 1
            return store

    def release_store(self, store: SharedRowStore) -> bool:
        """Release a row store. True if no caller in this process uses it any more."""
        with self._lock:
            store.users -= 1
            if store.users > 0:
                return False
            self._stores.pop(store.name, None)
            self.notify(do="close", shelf=store.number)
            return True

    def abandon(self) -> None:
        """In a forked child: close the copy of the parent's connection."""
        self._lock = threading.RLock()
        self._sock.close()

    def close(self) -> None:
        with self._lock:
            self.broken = self.broken or "the connection to the cache server was closed"
            self._sock.close()


def _open_table(reply: Packet) -> SlotTable:
    try:
        return SlotTable(reply["fd"])
    except (KeyError, FormatError) as error:
        raise CacheError("the cache server sent no slot table") from error


class SharedRowStore(RowStore):
    """A row store in the memory of a server, read and written without requests to the server."""

    def __init__(
        self, server: Connection, name: tuple[int, str], number: int, table: SlotTable, cost: float | None
    ) -> None:
        super().__init__(name[1], table)
        self.name, self.number, self.cost, self.users = name, number, cost, 0
        self._server = server
        self._blocks: dict[int, ByteArray] = {}
        self._current: tuple[int, BlockWriter] | None = None
        self._counts: dict[str, float] = {}

    def _map_block(self, number: int) -> ByteArray:
        block = self._blocks.get(number)
        if block is None:
            try:
                reply = self._server.request(do="slab", shelf=self.number, slab=number)
            except CacheError as error:
                if error.kind == "slab":
                    raise FormatError(str(error)) from error  # the slot was wrong, the cache itself works
                raise
            try:
                block = slabs.view(reply["fd"], int(reply["size"]))
            finally:
                os.close(reply["fd"])
            self._blocks[number] = block
        return block

    def _writer(self, need: int) -> tuple[int, BlockWriter] | None:
        current = self._current
        if self._server.broken:  # the server may have leased the block to another client
            self._drop_writer()
            self.refused = self._server.broken
            return None
        if current is not None and current[1].free_bytes >= need:
            return current
        done = None if current is None else current[0]
        self._drop_writer()
        try:
            reply = self._server.request(do="lease", shelf=self.number, need=need, done=done)
        except (CacheError, ResourceError) as error:
            self.refused = str(error)
            return None
        self._current = (
            int(reply["slab"]),
            BlockWriter(reply["fd"], int(reply["size"]), checked=reply["kind"] == "disk"),
        )
        return self._current

    def _drop_writer(self) -> None:
        if self._current is not None:
            self._current[1].close()
            self._current = None

    def note(self, **counts: float) -> None:
        """Count hits and computed rows; sent to the server now and then, and at close."""
        for name, count in counts.items():
            self._counts[name] = self._counts.get(name, 0) + count
        if self._counts.get("hits", 0) + self._counts.get("made", 0) >= 4096:
            self._send_counts()

    def _send_counts(self) -> None:
        kept, self._counts = self._counts, {}
        if kept:
            self._server.notify(do="note", shelf=self.number, **kept)

    def close(self) -> None:
        self._send_counts()
        if not self._server.release_store(self):
            return
        super().close()
        with self._writing:
            self._drop_writer()
        self._blocks.clear()


def _socket_path(address: str) -> str:
    """The socket path of an address; ``@name`` is an abstract socket name."""
    return "\0" + address[1:] if address.startswith("@") else address


_connections: dict[str, Connection] = {}
_connecting = threading.RLock()


def connect(address: str) -> Connection:
    """This process's connection to the server at an address; OSError if no server listens there."""
    with _connecting:
        connection = _connections.get(address)
        if connection is None:
            connection = _connections[address] = Connection(address)
        return connection


def disconnect(address: str) -> None:
    """Close a connection; the next use creates a new one."""
    with _connecting:
        connection = _connections.pop(address, None)
    if connection is not None:
        connection.close()


def _after_fork() -> None:
    """A forked child creates its own connections, and a new lock because another thread of the parent may hold the old
    one.
    """
    global _connecting
    _connecting = threading.RLock()
    for connection in _connections.values():
        connection.abandon()
    _connections.clear()


os.register_at_fork(after_in_child=_after_fork)
