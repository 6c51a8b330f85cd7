"""The door of a server for other machines: each of their connections is served by a thread that is a local client."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from millrace.core.chunk import Chunk
from millrace.core.errors import MillraceError
from millrace.core.log import get_logger
from millrace.data.engine.transport.pack import pack, unpack
from millrace.data.engine.transport.slab import Bytes8

from .blocks import Numbers
from .client import Connection, SharedShelf
from .protocol import Packet, said_of
from .wire import Wire

__all__ = ["Gateway"]

log = get_logger(__name__)

MOST_CONNECTIONS = 256
Answer = tuple[Packet, Any]


class Gateway:
    """Listens on a port of the network and answers who knows the key."""

    def __init__(self, host: str, port: int, key: bytes, address: str) -> None:
        self._key, self._address = key, address
        self._listener = socket.create_server((host, port), reuse_port=False)
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        threading.Thread(target=self._accept, name="millrace-cache-gateway", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return  # closed
            if not self._room.acquire(blocking=False):
                sock.close()
                continue
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            with sock:
                wire = Wire(sock, self._key, serves=True)
                sock.settimeout(None)  # a client may compute for hours between two questions
                with contextlib.closing(Connection(self._address)) as server:
                    Visitor(wire, server).serve()
        except (MillraceError, OSError) as error:
            log.info("a connection from another machine ended: %s", error)
        finally:
            self._room.release()

    def close(self) -> None:
        self._listener.close()


class Visitor:
    """One connection from another machine."""

    def __init__(self, wire: Wire, server: Connection) -> None:
        self.wire, self.server = wire, server
        self.shelves: list[SharedShelf] = []

    def serve(self) -> None:
        while (got := self.wire.receive()) is not None:
            packet, payload = got
            try:
                verb = _VERBS.get(str(packet.get("do")))
                answer: Answer = ({"error": "there is no such request"}, b"")
                if verb is not None:
                    answer = verb(self, packet, payload)
            except MillraceError as error:
                answer = said_of(error), b""
            except (KeyError, IndexError, TypeError, ValueError) as error:
                answer = {"error": f"a request cannot be understood ({type(error).__name__}: {error})"}, b""
            self.wire.send(*answer)

    def _shelf(self, packet: Packet) -> SharedShelf:
        return self.shelves[int(packet["shelf"])]

    def _open(self, packet: Packet, payload: Bytes8) -> Answer:
        shelf = self.server.shelf(
            int(packet["session"]),
            str(packet["key"]),
            int(packet["rows"]),
            packet["limit"],
            bool(packet["spilling"]),
        )
        self.shelves.append(shelf)
        said = {"shelf": len(self.shelves) - 1, "rows": shelf.table.capacity, "cost": shelf.cost}
        return said | {"total": shelf.table.total}, b""

    def _find(self, packet: Packet, payload: Bytes8) -> Answer:
        found = self._shelf(packet).find(payload.view(np.uint64)) != 0
        return {}, found.astype(np.uint8)

    def _read(self, packet: Packet, payload: Bytes8) -> Answer:
        shelf, numbers = self._shelf(packet), payload.view(np.uint64)
        places = shelf.find(numbers)
        names = packet.get("columns")
        columns = (
            None if not places.all() else shelf.read(numbers, places, None if names is None else tuple(names))
        )
        if columns is None:
            return {"missing": True}, b""
        return {}, pack(Chunk(columns, numbers)).whole()

    def _sequence(self, packet: Packet, payload: Bytes8) -> Answer:
        shelf = self._shelf(packet)
        chunk = shelf.sequence(int(packet["start"]), int(packet["most"]))
        said = {"total": shelf.table.total}
        return (said | {"missing": True}, b"") if chunk is None else (said, pack(chunk).whole())

    def _put(self, packet: Packet, payload: Bytes8) -> Answer:
        shelf, rows = self._shelf(packet), int(packet["rows"])
        numbers: Numbers = payload[: 8 * rows].view(np.uint64)
        chunk, _ = unpack(payload[8 * rows :])
        stored = shelf.put(chunk, numbers) if len(chunk) == rows else 0
        return {"stored": stored, "refused": shelf.refused}, b""

    def _total(self, packet: Packet, payload: Bytes8) -> Answer:
        shelf = self._shelf(packet)
        shelf.table.total = int(packet["rows"])
        return {}, b""

    def _note(self, packet: Packet, payload: Bytes8) -> Answer:
        self._shelf(packet).note(**{name: float(packet.get(name, 0)) for name in ("hits", "made", "seconds")})
        return {}, b""

    def _close(self, packet: Packet, payload: Bytes8) -> Answer:
        self._shelf(packet).close()
        return {}, b""

    def _stat(self, packet: Packet, payload: Bytes8) -> Answer:
        keys = [str(key) for key in packet["keys"]]
        return self.server.ask(do="stat", session=int(packet["session"]), keys=keys), b""


_VERBS: dict[str, Callable[[Visitor, Packet, Bytes8], Answer]] = {
    "open": Visitor._open,
    "find": Visitor._find,
    "read": Visitor._read,
    "sequence": Visitor._sequence,
    "put": Visitor._put,
    "total": Visitor._total,
    "note": Visitor._note,
    "close": Visitor._close,
    "stat": Visitor._stat,
}
