"""TCP gateway of a cache server for authenticated clients on other machines.

Each connection is served by a thread that is a local client of the server.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import socket
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from millrace._src.core.errors import MillraceError
from millrace._src.core.log import get_logger
from millrace._src.core.machine.shared_memory import ByteArray
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.transport.chunk_codec import decode_chunk, encode_chunk

from .authenticated_connection import GREETING_SECONDS, AuthenticatedConnection
from .client import Connection, SharedRowStore
from .protocol import Packet, error_response
from .row_group import Numbers

__all__ = ["Gateway", "Limits"]

log = get_logger(__name__)

ACCEPT_RETRY = 0.1  # seconds
Response = tuple[Packet, Any]


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits of a gateway: concurrent connections, and the time in which a client must prove that it knows the key.

    Connections that have not proved it are counted separately: they cannot exhaust the slots of clients.
    """

    greeting_seconds: float = GREETING_SECONDS
    greeting: int = 64
    greeting_per_address: int = 16
    clients: int = 256
    backlog: int = 1024


class Greetings:
    """The connections that have not yet proved that they know the key.

    A new connection is always accepted. If there are too many, the oldest one is closed: of the same address, or of the
    address with the most connections. A client needs milliseconds for its handshake, so it is not the oldest.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._open: dict[socket.socket, str] = {}  # oldest first

    def __len__(self) -> int:
        return len(self._open)

    def add(self, sock: socket.socket, address: str) -> None:
        with self._lock:
            self._open[sock] = address
            counts = collections.Counter(self._open.values())
            if counts[address] > self._limits.greeting_per_address:
                self._close_oldest(address)
            elif len(self._open) > self._limits.greeting:
                self._close_oldest(counts.most_common(1)[0][0])

    def remove(self, sock: socket.socket) -> bool:
        """Remove a connection; whether it was still present."""
        with self._lock:
            return self._open.pop(sock, None) is not None

    def _close_oldest(self, address: str) -> None:
        oldest = next(sock for sock, owner in self._open.items() if owner == address)
        del self._open[oldest]
        with contextlib.suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)  # its thread wakes up, and closes it


class Gateway:
    """Listens on a network port and serves clients that know the key."""

    def __init__(self, host: str, port: int, key: bytes, address: str, limits: Limits | None = None) -> None:
        self._key, self._address = key, address
        self._limits = limits or Limits()
        self._listener = socket.create_server((host, port), reuse_port=False, backlog=self._limits.backlog)
        self.port = int(self._listener.getsockname()[1])
        self.greetings = Greetings(self._limits)
        self._clients = threading.BoundedSemaphore(self._limits.clients)
        self._closed = threading.Event()
        threading.Thread(target=self._accept, name="millrace-cache-gateway", daemon=True).start()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                sock, peer = self._listener.accept()
            except OSError as error:
                # for example too many open files: retry after other connections have ended
                if not self._closed.wait(ACCEPT_RETRY):
                    log.info("a connection from another machine was not accepted: %s", error)
                continue
            self.greetings.add(sock, str(peer[0]))
            try:
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()
            except RuntimeError:  # no more threads
                self.greetings.remove(sock)
                sock.close()

    def _serve(self, sock: socket.socket) -> None:
        try:
            with sock:
                connection = AuthenticatedConnection(
                    sock, self._key, serves=True, greeting_seconds=self._limits.greeting_seconds
                )
                if self.greetings.remove(sock):
                    self._serve_client(connection)
        except (MillraceError, OSError) as error:
            log.info("a connection from another machine ended: %s", error)
        finally:
            self.greetings.remove(sock)

    def _serve_client(self, connection: AuthenticatedConnection) -> None:
        if not self._clients.acquire(blocking=False):
            connection.send({"error": f"the cache server has {self._limits.clients} connections already"})
            return
        try:
            # a client may compute for hours between two requests; keepalive detects machines that are gone
            connection.sock.settimeout(None)
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            with contextlib.closing(Connection(self._address)) as server:
                RemoteClientHandler(connection, server).serve()
        finally:
            self._clients.release()

    def close(self) -> None:
        self._closed.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes up the thread that accepts
        self._listener.close()


class RemoteClientHandler:
    """Serves one connection from another machine."""

    def __init__(self, connection: AuthenticatedConnection, server: Connection) -> None:
        self.connection, self.server = connection, server
        self.stores: list[SharedRowStore] = []

    def serve(self) -> None:
        while (message := self.connection.receive()) is not None:
            packet, payload = message
            try:
                handler = _HANDLERS.get(str(packet.get("do")))
                response: Response = ({"error": "unknown request"}, b"")
                if handler is not None:
                    response = handler(self, packet, payload)
            except MillraceError as error:
                response = error_response(error), b""
            except (KeyError, IndexError, TypeError, ValueError) as error:
                response = {"error": f"invalid request ({type(error).__name__}: {error})"}, b""
            self.connection.send(*response)

    def _store(self, packet: Packet) -> SharedRowStore:
        return self.stores[int(packet["shelf"])]

    def _open(self, packet: Packet, payload: ByteArray) -> Response:
        store = self.server.open_store(
            int(packet["session"]),
            str(packet["key"]),
            int(packet["rows"]),
            packet["limit"],
            bool(packet["spilling"]),
        )
        self.stores.append(store)
        reply = {"shelf": len(self.stores) - 1, "rows": store.table.capacity, "cost": store.cost}
        return reply | {"total": store.table.total}, b""

    def _find(self, packet: Packet, payload: ByteArray) -> Response:
        flags = self._store(packet).find(payload.view(np.uint64)) != 0
        return {}, flags.astype(np.uint8)

    def _read(self, packet: Packet, payload: ByteArray) -> Response:
        store, numbers = self._store(packet), payload.view(np.uint64)
        slots = store.find(numbers)
        names = packet.get("columns")
        columns = (
            None if not slots.all() else store.read(numbers, slots, None if names is None else tuple(names))
        )
        if columns is None:
            return {"missing": True}, b""
        return {}, encode_chunk(Chunk(columns, numbers)).to_bytes()

    def _sequence(self, packet: Packet, payload: ByteArray) -> Response:
        store = self._store(packet)
        chunk = store.sequence(int(packet["start"]), int(packet["most"]))
        reply = {"total": store.table.total}
        return (reply | {"missing": True}, b"") if chunk is None else (reply, encode_chunk(chunk).to_bytes())

    def _put(self, packet: Packet, payload: ByteArray) -> Response:
        store, rows = self._store(packet), int(packet["rows"])
        numbers: Numbers = payload[: 8 * rows].view(np.uint64)
        chunk, _ = decode_chunk(payload[8 * rows :])
        stored = store.put(chunk, numbers) if len(chunk) == rows else 0
        return {"stored": stored, "refused": store.refused}, b""

    def _total(self, packet: Packet, payload: ByteArray) -> Response:
        store = self._store(packet)
        store.table.total = int(packet["rows"])
        return {}, b""

    def _note(self, packet: Packet, payload: ByteArray) -> Response:
        self._store(packet).note(**{name: float(packet.get(name, 0)) for name in ("hits", "made", "seconds")})
        return {}, b""

    def _close(self, packet: Packet, payload: ByteArray) -> Response:
        self._store(packet).close()
        return {}, b""

    def _stat(self, packet: Packet, payload: ByteArray) -> Response:
        keys = [str(key) for key in packet["keys"]]
        return self.server.request(do="stat", session=int(packet["session"]), keys=keys), b""


_HANDLERS: dict[str, Callable[[RemoteClientHandler, Packet, ByteArray], Response]] = {
    "open": RemoteClientHandler._open,
    "find": RemoteClientHandler._find,
    "read": RemoteClientHandler._read,
    "sequence": RemoteClientHandler._sequence,
    "put": RemoteClientHandler._put,
    "total": RemoteClientHandler._total,
    "note": RemoteClientHandler._note,
    "close": RemoteClientHandler._close,
    "stat": RemoteClientHandler._stat,
}
