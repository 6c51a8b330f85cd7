"""Single-threaded cache server: hands out shared-memory descriptors and leases to clients; rows never pass through it.

Clients map the tables and blocks and read and write them directly. Requests take microseconds: which row store, which
block, and which client may write to it. A client's connection is its lease: when the connection ends, whatever the
reason, everything it held is released.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import selectors
import socket
import time
from collections.abc import Callable
from typing import Any

from millrace._src.core.errors import CacheError, MillraceError
from millrace._src.core.log import get_logger

from .protocol import (
    VERSION,
    Packet,
    boot_id,
    error_response,
    peer_credentials,
    receive,
    send,
    start_time,
    version_mismatch_message,
)
from .session_manager import SessionManager, StoreRecord

__all__ = ["CacheServer"]

log = get_logger(__name__)

MAX_CLIENTS = 4096
MAX_KEY_CHARS = 200
MAX_ROWS = 1 << 36
# Interval at which the server checks for clients that have died while a child process keeps their connection open.
SWEEP_SECONDS = 5.0

# a response, and a descriptor that is sent with it
Reply = tuple[Packet, int | None]


@dataclasses.dataclass
class ClientConnection:
    """One connection: the client process, and its open row stores."""

    number: int
    sock: socket.socket
    pid: int
    started: int | None
    greeted: bool = False
    stores: dict[int, StoreRecord] = dataclasses.field(default_factory=dict)

    @property
    def alive(self) -> bool:
        return start_time(self.pid) == self.started


class CacheServer:
    """Serves requests on a listening socket until it is stopped."""

    def __init__(
        self, listener: socket.socket, sessions: SessionManager, about: dict[str, Any] | None = None
    ) -> None:
        self.session_manager, self.about = sessions, dict(about or {})
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._spare = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._clients: dict[int, ClientConnection] = {}
        self._numbers = iter(range(1, 1 << 62))
        self._stopping = False
        self._swept = time.monotonic()
        self._began = time.time()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)

    def stop(self) -> None:
        """End :meth:`serve`, from any thread or a signal handler."""
        self._stopping = True
        with contextlib.suppress(OSError):
            self._wake.send(b"x")

    def serve(self) -> None:
        try:
            while not self._stopping:
                for key, _ in self._selector.select(SWEEP_SECONDS):
                    if key.fileobj is self._listener:
                        self._accept()
                    elif isinstance(key.data, ClientConnection):
                        self._handle_request(key.data)
                if time.monotonic() - self._swept > SWEEP_SECONDS:
                    self._sweep()
        finally:
            self.close()

    def close(self) -> None:
        for client in list(self._clients.values()):
            self._hang_up(client)
        for sock in (self._listener, self._wake, self._woken, self._spare):
            sock.close()
        self._selector.close()
        self.session_manager.close()

    def abandon(self) -> None:
        """In a forked child: close the inherited descriptors."""
        for sock in (self._listener, self._wake, self._woken, self._spare):
            sock.close()
        for client in self._clients.values():
            client.sock.close()
        os.close(self._selector.fileno())  # not close(): the parent still uses the registrations
        self.session_manager.close()

    # connections ------------------------------------------------------------------------------------

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._reject_connection()
            return
        pid, uid = peer_credentials(sock)
        if uid != os.getuid() or len(self._clients) >= MAX_CLIENTS:
            with contextlib.suppress(OSError):
                why = "this server belongs to another user" if uid != os.getuid() else "too many connections"
                send(sock, {"error": why})
            sock.close()
            return
        sock.setblocking(False)
        client = ClientConnection(next(self._numbers), sock, pid, start_time(pid))
        self._clients[client.number] = client
        self._selector.register(sock, selectors.EVENT_READ, client)

    def _reject_connection(self) -> None:
        """Reject a connection when the process is out of descriptors: the spare one is used to accept and close it."""
        self._spare.close()
        with contextlib.suppress(OSError):
            self._listener.accept()[0].close()
        with contextlib.suppress(OSError):
            self._spare = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def _hang_up(self, client: ClientConnection) -> None:
        self._clients.pop(client.number, None)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(client.sock)
        client.sock.close()
        self.session_manager.leave(client.number)

    def _sweep(self) -> None:
        """End the leases of processes that died, even if a child process keeps their connection open."""
        self._swept = time.monotonic()
        for client in list(self._clients.values()):
            if not client.alive:
                self._hang_up(client)

    def _handle_request(self, client: ClientConnection) -> None:
        fd = None
        try:
            try:
                packet, fd = receive(client.sock)
            except BlockingIOError:
                return
            except OSError:  # a request may be lost: a response could be mistaken for that to another request
                self._hang_up(client)
                return
            if packet is None:
                self._hang_up(client)
                return
            reply, out = self._reply(client, packet)
        except MillraceError as error:
            reply, out = error_response(error), None
        except OSError as error:
            reply, out = {"error": f"the server cannot do that: {error.strerror}", "full": True}, None
        except Exception as error:  # an invalid request must not affect other clients
            reply, out = {"error": f"invalid request ({type(error).__name__}: {error})"}, None
        finally:
            if fd is not None:
                os.close(fd)
        if reply.get("silent"):
            return
        try:
            send(client.sock, reply, out)
        except (
            OSError,
            MillraceError,
        ):  # it is gone, does not read responses, or requested more than fits into a packet
            self._hang_up(client)
            return
        if reply.get("bye"):
            self._hang_up(client)

    # requests ---------------------------------------------------------------------------------------

    def _reply(self, client: ClientConnection, packet: Packet) -> Reply:
        verb = packet.get("do")
        if not client.greeted:
            return self._hello(client, packet)
        handler = _HANDLERS.get(verb) if isinstance(verb, str) else None
        if handler is None:
            raise CacheError(f"a server of version {VERSION} does not know the request {verb!r}")
        return handler(self, client, packet)

    def _hello(self, client: ClientConnection, packet: Packet) -> Reply:
        theirs = packet.get("version")
        if packet.get("do") != "hello" or theirs != VERSION:
            return {
                "error": version_mismatch_message(theirs),
                "kind": "version",
                "version": VERSION,
                "bye": True,
            }, None
        if packet.get("boot") not in ("", boot_id()):
            return {
                "error": "the client runs on another machine; a cache serves one machine",
                "bye": True,
            }, None
        client.greeted = True
        return {"version": VERSION, "client": client.number}, None

    def _open(self, client: ClientConnection, packet: Packet) -> Reply:
        key, rows, limit = packet["key"], packet["rows"], packet["limit"]
        if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY_CHARS:
            raise CacheError("a key must be a short string")
        if not isinstance(rows, int) or not 0 <= rows <= MAX_ROWS:
            raise CacheError(f"a row store of {rows} rows is too large")
        if limit is not None and (not isinstance(limit, int) or limit < 0):
            raise CacheError(f"{limit} is not a valid limit in bytes")
        store = self.session_manager.open(
            packet["session"], key, rows, limit, bool(packet["spilling"]), client.number
        )
        number = next((n for n, held in client.stores.items() if held is store), len(client.stores))
        client.stores[number] = store
        cost = store.seconds / store.rows_computed if store.rows_computed else None
        return {"shelf": number, "rows": store.capacity, "cost": cost}, store.table

    def _get_store(self, client: ClientConnection, packet: Packet) -> StoreRecord:
        store = client.stores.get(packet["shelf"])
        session = None if store is None else self.session_manager.sessions.get(store.session)
        if store is None or session is None or session.stores.get(store.key) is not store:
            raise CacheError("the session was destroyed")
        return store

    def _lease(self, client: ClientConnection, packet: Packet) -> Reply:
        store, need = self._get_store(client, packet), packet["need"]
        if not isinstance(need, int) or need <= 0:
            raise CacheError(f"{need} is not a valid number of bytes")
        done = packet.get("done")
        if (
            isinstance(done, int)
            and 0 <= done < len(store.blocks)
            and store.blocks[done].writer == client.number
        ):
            store.blocks[done].writer = None
            if store.blocks[done].size - store.blocks[done].progress[0] >= need:
                raise CacheError(f"block {done} still has space for {need} bytes")
        block = self.session_manager.lease_block(store, need, client.number)
        return {"slab": store.blocks.index(block), "size": block.size, "kind": block.block_type}, block.fd

    def _block(self, client: ClientConnection, packet: Packet) -> Reply:
        store, number = self._get_store(client, packet), packet["slab"]
        if not isinstance(number, int) or not 0 <= number < len(store.blocks):
            raise CacheError(f"there is no block {number}", "slab")
        block = store.blocks[number]
        return {"size": block.size, "kind": block.block_type}, block.fd

    def _note(self, client: ClientConnection, packet: Packet) -> Reply:
        store = client.stores.get(packet["shelf"])
        if store is not None:
            store.hits += int(packet.get("hits", 0))
            store.rows_computed += int(packet.get("made", 0))
            store.seconds += float(packet.get("seconds", 0.0))
            store.used = time.monotonic()
        return {"silent": True}, None

    def _close(self, client: ClientConnection, packet: Packet) -> Reply:
        """Close a row store of a client, and release its write leases."""
        store = client.stores.get(packet["shelf"])
        if store is not None:
            store.clients.discard(client.number)
            for block in store.blocks:
                if block.writer == client.number:
                    block.writer = None
        return {"silent": True}, None

    def _stat(self, client: ClientConnection, packet: Packet) -> Reply:
        """Rows and bytes of the row stores of a session under these keys."""
        session_stores = self.session_manager.session(packet["session"]).stores
        stores = [session_stores[key] for key in packet["keys"] if key in session_stores]
        sums = {"memory": [0, 0], "disk": [0, 0]}
        for store in stores:
            for block_type, (rows, size) in store.counts().items():
                sums[block_type][0] += rows
                sums[block_type][1] += size
        return {**sums, "hits": sum(store.hits for store in stores)}, None

    # administration ---------------------------------------------------------------------------------

    def _generate(self, client: ClientConnection, packet: Packet) -> Reply:
        return {"session": self.session_manager.generate()}, None

    def _destroy(self, client: ClientConnection, packet: Packet) -> Reply:
        self.session_manager.destroy(packet["session"])
        return {}, None

    def _sessions(self, client: ClientConnection, packet: Packet) -> Reply:
        """Sessions with their row stores, as many as fit into one packet; ``after`` continues the listing."""
        numbers = [n for n in self.session_manager.sessions if n > packet.get("after", -1)]
        listed: list[Any] = []
        capacity = 100  # row stores that always fit into one packet
        for number in sorted(numbers):
            stores = list(self.session_manager.sessions[number].stores.values())
            if listed and capacity < len(stores) + 1:
                break
            capacity -= len(stores) + 1
            listed.append([number, [_store_summary(store) for store in stores[:100]]])
        return {"sessions": listed, "more": len(listed) < len(numbers)}, None

    def _info(self, client: ClientConnection, packet: Packet) -> Reply:
        sessions = self.session_manager
        info = {
            **self.about,
            "pid": os.getpid(),
            "version": VERSION,
            "memory": sessions.memory,
            "memory_used": sessions.memory_used,
            "disk_used": sessions.disk_used,
            "spill": sessions.spill,
            "started": self._began,
            "sessions": len(sessions.sessions),
            "clients": len(self._clients) - 1,
        }
        return info, None

    def _stop(self, client: ClientConnection, packet: Packet) -> Reply:
        self._stopping = True
        return {"bye": True}, None


def _store_summary(store: StoreRecord) -> list[Any]:
    counts = store.counts()
    return [store.key[:32], *counts["memory"], *counts["disk"], store.hits, len(store.clients)]


_HANDLERS: dict[str, Callable[[CacheServer, ClientConnection, Packet], Reply]] = {
    "open": CacheServer._open,
    "lease": CacheServer._lease,
    "slab": CacheServer._block,
    "note": CacheServer._note,
    "close": CacheServer._close,
    "stat": CacheServer._stat,
    "generate": CacheServer._generate,
    "destroy": CacheServer._destroy,
    "sessions": CacheServer._sessions,
    "info": CacheServer._info,
    "stop": CacheServer._stop,
}
