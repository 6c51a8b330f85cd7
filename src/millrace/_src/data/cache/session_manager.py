"""What a server keeps: sessions, the shelves in them, and the slabs of each shelf. No socket is known here.

A slab has at most one client that writes to it. When that client is gone, the next one goes on behind what is whole.
Memory is counted by the size of slabs that were given out, so that the limit holds whatever clients do.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import shutil
import time
from collections.abc import Iterator
from typing import Any

from millrace._src.core.errors import CacheError, ResourceError
from millrace._src.core.machine.cgroup import memory_info

from . import memory_blocks as slabs
from .memory_blocks import START, Kind
from .slot_table import MOST_SLAB_BYTES, MOST_SLABS, create_table

__all__ = ["SessionManager", "CacheSession", "StoreRecord", "BlockRecord"]

LEAST_SLAB, MOST_SLAB = 1 << 20, 1 << 30
FIRST_SLAB = 16 << 20
# So much of a disk stays free.
DISK_RESERVE = 1 << 30
PAGE = 4096


@dataclasses.dataclass
class BlockRecord:
    """One slab: its descriptor, and the client that writes to it."""

    fd: int
    size: int
    kind: Kind
    writer: int | None = None

    @property
    def progress(self) -> tuple[int, int]:
        return slabs.progress_of(self.fd)


@dataclasses.dataclass
class StoreRecord:
    """The rows under one key of one session."""

    session: int
    key: str
    table: int
    capacity: int
    limit: int | None
    spilling: bool
    slabs: list[BlockRecord] = dataclasses.field(default_factory=list)
    clients: set[int] = dataclasses.field(default_factory=set)
    hits: int = 0
    seconds: float = 0.0
    made: int = 0
    used: float = dataclasses.field(default_factory=time.monotonic)

    def bytes_of(self, kind: Kind) -> int:
        return sum(slab.size for slab in self.slabs if slab.kind == kind)

    def counts(self) -> dict[str, Any]:
        """Rows and whole bytes, in memory and on disk."""
        made: dict[str, Any] = {"memory": [0, 0], "disk": [0, 0]}
        for slab in self.slabs:
            used, rows = slab.progress
            made[slab.kind][0] += rows
            made[slab.kind][1] += used - START
        return made

    def close(self) -> None:
        os.close(self.table)
        for slab in self.slabs:
            os.close(slab.fd)
        self.slabs.clear()


@dataclasses.dataclass
class CacheSession:
    number: int
    shelves: dict[str, StoreRecord] = dataclasses.field(default_factory=dict)


class SessionManager:
    """All sessions of one server, within its memory.

    >>> rooms = SessionManager(memory=64 << 20, spill=None)
    >>> session = rooms.generate()
    >>> shelf = rooms.open(session, "key", 100, None, False, client=1)
    >>> slab = rooms.lease_block(shelf, 4096, client=1)
    >>> rooms.memory_used == slab.size
    True
    >>> rooms.destroy(session)
    >>> rooms.memory_used
    0
    """

    def __init__(self, memory: int, spill: str | None) -> None:
        self.memory, self.spill = memory, spill
        self.sessions: dict[int, CacheSession] = {}
        self._numbers = itertools.count(_first_number())

    # sessions ---------------------------------------------------------------------------------------

    def generate(self) -> int:
        number = next(self._numbers) & 0xFFFFFFFF
        self.sessions[number] = CacheSession(number)
        return number

    def session(self, number: int) -> CacheSession:
        found = self.sessions.get(number)
        if found is None:
            raise CacheError(
                f"there is no session {number}: generate one with 'dataset-cache -g', or look at those there are with "
                "'dataset-cache --list_sessions'",
                "session",
            )
        return found

    def destroy(self, number: int) -> None:
        for shelf in self.session(number).shelves.values():
            shelf.close()
        del self.sessions[number]

    def close(self) -> None:
        for number in list(self.sessions):
            self.destroy(number)

    # shelves ----------------------------------------------------------------------------------------

    def shelves(self) -> Iterator[StoreRecord]:
        return (shelf for session in self.sessions.values() for shelf in session.shelves.values())

    def open(
        self, session: int, key: str, rows: int, limit: int | None, spilling: bool, client: int
    ) -> StoreRecord:
        shelves = self.session(session).shelves
        shelf = shelves.get(key)
        if shelf is None:
            shelf = StoreRecord(session, key, create_table(rows), rows, limit, spilling)
            shelves[key] = shelf
        elif not shelf.clients:  # the limit of whoever uses it now holds
            shelf.limit, shelf.spilling = limit, spilling
        shelf.clients.add(client)
        shelf.used = time.monotonic()
        return shelf

    def leave(self, client: int) -> None:
        """A client is gone: what it wrote to may be written to by others, behind what is whole."""
        for shelf in self.shelves():
            shelf.clients.discard(client)
            for slab in shelf.slabs:
                if slab.writer == client:
                    slab.writer = None

    # slabs ------------------------------------------------------------------------------------------

    @property
    def memory_used(self) -> int:
        return sum(shelf.bytes_of("memory") for shelf in self.shelves())

    @property
    def disk_used(self) -> int:
        return sum(shelf.bytes_of("disk") for shelf in self.shelves())

    def lease_block(self, shelf: StoreRecord, need: int, client: int) -> BlockRecord:
        """A slab with room for a block of so many bytes; ResourceError where there is none to be had."""
        for slab in shelf.slabs:
            if slab.writer is None and slab.size - slab.progress[0] >= need:
                slab.writer = client
                return slab
        if len(shelf.slabs) >= MOST_SLABS or need + START > MOST_SLAB_BYTES:
            raise ResourceError(
                f"a block of {need} bytes finds no slab: there are {len(shelf.slabs)} already"
            )
        slab = self._in_memory(shelf, need + START) or self._on_disk(shelf, need + START)
        slab.writer = client
        shelf.slabs.append(slab)
        return slab

    def _size(self, shelf: StoreRecord, need: int, room: int, kind: Kind) -> int:
        """Slabs grow with their shelf: few for a large one, no waste for a small one."""
        wanted = min(MOST_SLAB, max(FIRST_SLAB, shelf.bytes_of(kind) // 4))
        if shelf.limit is not None:
            wanted = min(wanted, max(LEAST_SLAB, shelf.limit // 16))
        return (
            min(room // PAGE, -(-max(need, wanted) // PAGE)) * PAGE
        )  # whole pages, and never less than needed

    def _in_memory(self, shelf: StoreRecord, need: int) -> BlockRecord | None:
        size, need = 0, _pages(need)
        while size < need:
            room = self._room(shelf)
            size = self._size(shelf, need, room, "memory")
            if size >= need:
                break
            own = shelf.limit is not None and shelf.limit - shelf.bytes_of("memory") < need
            if own or not self._drop_oldest(shelf):
                return None
        try:
            return BlockRecord(slabs.create("memory", size), size, "memory")
        except ResourceError:
            return None

    def _room(self, shelf: StoreRecord) -> int:
        room = self.memory - self.memory_used
        if shelf.limit is not None:
            room = min(room, shelf.limit - shelf.bytes_of("memory"))
        return min(room, memory_info().get("MemAvailable", 1 << 60))

    def _drop_oldest(self, keep: StoreRecord) -> bool:
        """Make room: rows that nobody uses go, those that were asked for longest ago first."""
        idle = [shelf for shelf in self.shelves() if not shelf.clients and shelf is not keep]
        idle = [shelf for shelf in idle if shelf.bytes_of("memory")]
        if not idle:
            return False
        oldest = min(idle, key=lambda shelf: shelf.used)
        del self.sessions[oldest.session].shelves[oldest.key]
        oldest.close()
        return True

    def _on_disk(self, shelf: StoreRecord, need: int) -> BlockRecord:
        full, need = _full(shelf, self.memory), _pages(need)
        if not shelf.spilling:
            raise ResourceError(f"{full}; spilling=True keeps the rest on disk")
        if self.spill is None:
            raise ResourceError(
                f"{full}, and the server has no folder for more (dataset-cache --start -s FOLDER)"
            )
        try:
            free = shutil.disk_usage(self.spill).free
        except OSError as error:
            raise ResourceError(f"{full}, and {self.spill} cannot be used: {error.strerror}") from error
        size = self._size(shelf, need, free - DISK_RESERVE, "disk")
        if size < need:
            raise ResourceError(f"{full}, and {self.spill} has only {free} bytes left")
        return BlockRecord(slabs.create("disk", size, self.spill), size, "disk")


def _pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


def _full(shelf: StoreRecord, memory: int) -> str:
    if shelf.limit is not None:
        return f"its {shelf.limit >> 20} MB are used"
    return f"the {memory >> 20} MB of the server, or the machine's memory, are used"


def _first_number() -> int:
    """Sessions of one server are not mistaken for those of the one before it."""
    return int.from_bytes(os.urandom(4), "little") | 0x40000000
