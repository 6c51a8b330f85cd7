"""A process's side of the cache: one connection to each server, and the shelves that were opened over it.

A connection belongs to the process that made it. A forked child finds that out by the process number and makes its own.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from typing import Any

from millrace.core.errors import CacheError, ResourceError
from millrace.data.engine.transport.slab import Bytes8

from . import slabs
from .protocol import VERSION, Packet, boot_id, peer_of, receive, refusal, send
from .shelf import Shelf
from .slabs import Writer
from .table import Table

__all__ = ["Connection", "SharedShelf", "connect", "disconnect"]

# So long a server may take to answer: it only ever does small things.
ANSWER_SECONDS = 60.0


class Connection:
    """Questions to one server, one at a time."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._turn = threading.RLock()
        self._shelves: dict[tuple[int, str], SharedShelf] = {}
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._sock.settimeout(ANSWER_SECONDS)
            self._sock.connect(_path(address))
            _, user = peer_of(self._sock)
            if user != os.getuid():
                raise CacheError(
                    f"the cache server belongs to another user (number {user}); start one of your own", "user"
                )
            said = self.ask(do="hello", version=VERSION, boot=boot_id(), pid=os.getpid())
        except BaseException:
            self._sock.close()
            raise
        if said.get("version") != VERSION:
            self._sock.close()
            raise CacheError(refusal(said.get("version")), "version")

    def ask(self, **packet: Any) -> Packet:
        """The answer, whose descriptor if any is under ``fd``; CacheError where the server refuses or is gone."""
        with self._turn:
            try:
                send(self._sock, packet)
                reply, fd = receive(self._sock)
            except TimeoutError:
                raise CacheError(
                    f"the cache server did not answer within {ANSWER_SECONDS:.0f} s", "gone"
                ) from None
            except OSError as error:
                raise CacheError(f"the cache server is gone ({error.strerror})", "gone") from error
        if reply is None:
            raise CacheError("the cache server is gone: it was stopped, or it died", "gone")
        if "error" in reply:
            if fd is not None:
                os.close(fd)
            if reply.get("full"):
                raise ResourceError(str(reply["error"]))
            raise CacheError(str(reply["error"]), str(reply.get("kind", "")))
        if fd is not None:
            reply["fd"] = fd
        return reply

    def tell(self, **packet: Any) -> None:
        """Say something that has no answer; a server that is gone does not mind."""
        with self._turn, contextlib.suppress(OSError):
            send(self._sock, packet)

    def shelf(self, session: int, key: str, rows: int, limit: int | None, spilling: bool) -> SharedShelf:
        """The shelf under a key; whoever opened it closes it once."""
        with self._turn:
            found = self._shelves.get((session, key))
            if found is None:
                said = self.ask(
                    do="open", session=session, key=key, rows=rows, limit=limit, spilling=spilling
                )
                found = SharedShelf(
                    self, (session, key), int(said["shelf"]), Table(said["fd"]), said.get("cost")
                )
                self._shelves[session, key] = found
            found.users += 1
            return found

    def give_back(self, shelf: SharedShelf) -> bool:
        """True where nobody in this process uses the shelf any more."""
        with self._turn:
            shelf.users -= 1
            if shelf.users > 0:
                return False
            self._shelves.pop(shelf.name, None)
            self.tell(do="close", shelf=shelf.number)
            return True

    def close(self) -> None:
        self._sock.close()


class SharedShelf(Shelf):
    """A shelf in the memory of a server, read and written without it."""

    def __init__(
        self, server: Connection, name: tuple[int, str], number: int, table: Table, cost: float | None
    ) -> None:
        super().__init__(name[1], table)
        self.name, self.number, self.cost, self.users = name, number, cost, 0
        self._server = server
        self._slabs: dict[int, Bytes8] = {}
        self._current: tuple[int, Writer] | None = None
        self._kept: dict[str, float] = {}

    def _slab(self, number: int) -> Bytes8:
        found = self._slabs.get(number)
        if found is None:
            said = self._server.ask(do="slab", shelf=self.number, slab=number)
            try:
                found = slabs.view(said["fd"], int(said["size"]))
            finally:
                os.close(said["fd"])
            self._slabs[number] = found
        return found

    def _writer(self, need: int) -> tuple[int, Writer] | None:
        current = self._current
        if current is not None and current[1].room >= need:
            return current
        done = None if current is None else current[0]
        self._drop_writer()
        try:
            said = self._server.ask(do="lease", shelf=self.number, need=need, done=done)
        except (CacheError, ResourceError) as error:
            self.refused = str(error)
            return None
        self.checked = said["kind"] == "disk"
        self._current = int(said["slab"]), Writer(said["fd"], int(said["size"]))
        return self._current

    def _drop_writer(self) -> None:
        if self._current is not None:
            self._current[1].close()
            self._current = None

    def note(self, **counts: float) -> None:
        """Counts are gathered and told now and then, and when the shelf is closed."""
        for name, count in counts.items():
            self._kept[name] = self._kept.get(name, 0) + count
        if self._kept.get("hits", 0) + self._kept.get("made", 0) >= 4096:
            self._tell()

    def _tell(self) -> None:
        kept, self._kept = self._kept, {}
        if kept:
            self._server.tell(do="note", shelf=self.number, **kept)

    def close(self) -> None:
        self._tell()
        if not self._server.give_back(self):
            return
        super().close()
        with self._writing:
            self._drop_writer()
        self._slabs.clear()


def _path(address: str) -> str:
    """``@name`` is a name of the kernel's that stands in no folder."""
    return "\0" + address[1:] if address.startswith("@") else address


_connections: dict[str, tuple[int, Connection]] = {}
_connecting = threading.Lock()


def connect(address: str) -> Connection:
    """This process's connection to the server at an address; OSError where nobody listens."""
    with _connecting:
        owner, found = _connections.get(address, (0, None))
        if found is None or owner != os.getpid():
            found = Connection(address)
            _connections[address] = os.getpid(), found
        return found


def disconnect(address: str) -> None:
    """Forget a connection, so that the next use makes a new one."""
    with _connecting:
        owner, found = _connections.pop(address, (0, None))
    if found is not None and owner == os.getpid():
        found.close()
