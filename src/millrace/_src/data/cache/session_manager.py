"""Sessions, row stores and memory blocks of a cache server, with memory limit and LRU eviction.

This module does not use sockets. A block has at most one client that writes to it. When that client is gone, the next
one continues after the complete part. Memory is counted by the size of leased blocks, so that the limit holds whatever
clients do.
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
from .memory_blocks import START, BlockType
from .slot_table import MAX_BLOCK_SIZE, MAX_BLOCKS, create_table

__all__ = ["SessionManager", "CacheSession", "StoreRecord", "BlockRecord"]

MIN_BLOCK_BYTES, MAX_BLOCK_BYTES = 1 << 20, 1 << 30
FIRST_BLOCK_BYTES = 16 << 20
# Free bytes that are left on a disk.
DISK_RESERVE = 1 << 30
PAGE = 4096


@dataclasses.dataclass
class BlockRecord:
    """One block: its descriptor, and the client that writes to it."""

    fd: int
    size: int
    block_type: BlockType
    writer: int | None = None

    @property
    def progress(self) -> tuple[int, int]:
        return slabs.progress_of(self.fd)


@dataclasses.dataclass
class StoreRecord:
    """The row store of one key of one session."""

    session: int
    key: str
    table: int
    capacity: int
    limit: int | None
    spilling: bool
    blocks: list[BlockRecord] = dataclasses.field(default_factory=list)
    clients: set[int] = dataclasses.field(default_factory=set)
    hits: int = 0
    seconds: float = 0.0
    rows_computed: int = 0
    used: float = dataclasses.field(default_factory=time.monotonic)

    def bytes_of(self, block_type: BlockType) -> int:
        return sum(block.size for block in self.blocks if block.block_type == block_type)

    def counts(self) -> dict[str, Any]:
        """Complete rows and bytes, in memory and on disk."""
        counts: dict[str, Any] = {"memory": [0, 0], "disk": [0, 0]}
        for block in self.blocks:
            used, rows = block.progress
            counts[block.block_type][0] += rows
            counts[block.block_type][1] += used - START
        return counts

    def close(self) -> None:
        os.close(self.table)
        for block in self.blocks:
            os.close(block.fd)
        self.blocks.clear()


@dataclasses.dataclass
class CacheSession:
    number: int
    stores: dict[str, StoreRecord] = dataclasses.field(default_factory=dict)


class SessionManager:
    """All sessions of one server, within its memory limit.

    >>> manager = SessionManager(memory=64 << 20, spill=None)
    >>> session = manager.generate()
    >>> store = manager.open(session, "key", 100, None, False, client=1)
    >>> block = manager.lease_block(store, 4096, client=1)
    >>> manager.memory_used == block.size
    True
    >>> manager.destroy(session)
    >>> manager.memory_used
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
        session = self.sessions.get(number)
        if session is None:
            raise CacheError(
                f"there is no session {number}: generate one with 'dataset-cache -g', or list the existing ones with "
                "'dataset-cache --list_sessions'",
                "session",
            )
        return session

    def destroy(self, number: int) -> None:
        for store in self.session(number).stores.values():
            store.close()
        del self.sessions[number]

    def close(self) -> None:
        for number in list(self.sessions):
            self.destroy(number)

    # stores -----------------------------------------------------------------------------------------

    def stores(self) -> Iterator[StoreRecord]:
        return (store for session in self.sessions.values() for store in session.stores.values())

    def open(
        self, session: int, key: str, rows: int, limit: int | None, spilling: bool, client: int
    ) -> StoreRecord:
        stores = self.session(session).stores
        store = stores.get(key)
        if store is None:
            store = StoreRecord(session, key, create_table(rows), rows, limit, spilling)
            stores[key] = store
        elif not store.clients:  # the limit of the current user applies
            store.limit, store.spilling = limit, spilling
        store.clients.add(client)
        store.used = time.monotonic()
        return store

    def leave(self, client: int) -> None:
        """Release the leases of a client that is gone: others may write to its blocks after the complete part."""
        for store in self.stores():
            store.clients.discard(client)
            for block in store.blocks:
                if block.writer == client:
                    block.writer = None

    # blocks -----------------------------------------------------------------------------------------

    @property
    def memory_used(self) -> int:
        return sum(store.bytes_of("memory") for store in self.stores())

    @property
    def disk_used(self) -> int:
        return sum(store.bytes_of("disk") for store in self.stores())

    def lease_block(self, store: StoreRecord, need: int, client: int) -> BlockRecord:
        """A block with space for this many bytes; ResourceError if there is none."""
        for block in store.blocks:
            if block.writer is None and block.size - block.progress[0] >= need:
                block.writer = client
                return block
        if len(store.blocks) >= MAX_BLOCKS or need + START > MAX_BLOCK_SIZE:
            raise ResourceError(
                f"cannot create a block for {need} bytes: there are {len(store.blocks)} already"
            )
        block = self._create_in_memory(store, need + START) or self._create_on_disk(store, need + START)
        block.writer = client
        store.blocks.append(block)
        return block

    def _block_size(self, store: StoreRecord, need: int, available: int, block_type: BlockType) -> int:
        """Size of a new block: it grows with the row store, so that large stores have few blocks and small ones waste
        no memory.
        """
        wanted = min(MAX_BLOCK_BYTES, max(FIRST_BLOCK_BYTES, store.bytes_of(block_type) // 4))
        if store.limit is not None:
            wanted = min(wanted, max(MIN_BLOCK_BYTES, store.limit // 16))
        return (
            min(available // PAGE, -(-max(need, wanted) // PAGE)) * PAGE
        )  # whole pages, at least the needed size

    def _create_in_memory(self, store: StoreRecord, need: int) -> BlockRecord | None:
        size, need = 0, _round_to_pages(need)
        while size < need:
            available = self._available_bytes(store)
            size = self._block_size(store, need, available, "memory")
            if size >= need:
                break
            over_limit = store.limit is not None and store.limit - store.bytes_of("memory") < need
            if over_limit or not self._drop_oldest(store):
                return None
        try:
            return BlockRecord(slabs.create("memory", size), size, "memory")
        except ResourceError:
            return None

    def _available_bytes(self, store: StoreRecord) -> int:
        available = self.memory - self.memory_used
        if store.limit is not None:
            available = min(available, store.limit - store.bytes_of("memory"))
        return min(available, memory_info().get("MemAvailable", 1 << 60))

    def _drop_oldest(self, keep: StoreRecord) -> bool:
        """Evict the least recently used row store that no client uses."""
        idle = [store for store in self.stores() if not store.clients and store is not keep]
        idle = [store for store in idle if store.bytes_of("memory")]
        if not idle:
            return False
        oldest = min(idle, key=lambda store: store.used)
        del self.sessions[oldest.session].stores[oldest.key]
        oldest.close()
        return True

    def _create_on_disk(self, store: StoreRecord, need: int) -> BlockRecord:
        full, need = _limit_message(store, self.memory), _round_to_pages(need)
        if not store.spilling:
            raise ResourceError(f"{full}; spilling=True stores the rest on disk")
        if self.spill is None:
            raise ResourceError(
                f"{full}, and the server has no spill folder (dataset-cache --start -s FOLDER)"
            )
        try:
            free = shutil.disk_usage(self.spill).free
        except OSError as error:
            raise ResourceError(f"{full}, and {self.spill} cannot be used: {error.strerror}") from error
        size = self._block_size(store, need, free - DISK_RESERVE, "disk")
        if size < need:
            raise ResourceError(f"{full}, and {self.spill} has only {free} bytes left")
        return BlockRecord(slabs.create("disk", size, self.spill), size, "disk")


def _round_to_pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


def _limit_message(store: StoreRecord, memory: int) -> str:
    if store.limit is not None:
        return f"its {store.limit >> 20} MB are used"
    return f"the {memory >> 20} MB of the server, or the machine's memory, are used"


def _first_number() -> int:
    """A random first session number, so that sessions of a restarted server differ from those of the previous one."""
    return int.from_bytes(os.urandom(4), "little") | 0x40000000
