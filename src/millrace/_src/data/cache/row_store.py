"""A shelf: the rows that leave one node of one pipeline, found by their numbers.

What a number is, the node says: the row's number in its source, or its place in the sequence. Here it is only a number.
Where slabs come from (a server, a folder) is the business of the classes below this one.
"""

from __future__ import annotations

import itertools
import os
import threading

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import DataError, FormatError
from millrace._src.core.machine.shared_memory import ByteArray
from millrace._src.core.values.chunk import Chunk, Column

from . import slot_table as places_of
from .memory_blocks import BlockWriter
from .row_gather import Into, RowSelection, gather_columns, writable_column
from .row_group import (
    CachedRowGroup,
    Numbers,
    encode_row_group,
    head_of,
    not_cacheable_message,
    open_row_group,
    tag_of,
)
from .slot_table import MAX_ROWS_PER_GROUP, ROW_BITS, Slots, SlotTable, pack_slot, slot_block

__all__ = ["RowStore"]

# Blocks that stay open: their heads were read and their checksums compared.
MAX_OPEN_GROUPS = 4096


class RowStore:
    """One process's view of the rows under a key. Its methods may be called from several threads.

    It belongs to the process that made it: a forked copy reads what it has mapped and keeps nothing.
    """

    def __init__(self, key: str, table: SlotTable) -> None:
        self.key, self.table = key, table
        self._owner = os.getpid()
        # why rows are not kept any more: no room, or values that are no arrays
        self.refused: str | None = None
        # bytes that this process has put on a disk
        self.on_disk = 0
        # seconds that a row took to make, as far as those who kept rows have said
        self.cost: float | None = None
        self._tag = tag_of(key)
        self._open: dict[int, CachedRowGroup] = {}
        self._open_lock = threading.Lock()
        self._writing = threading.Lock()

    # for the classes below --------------------------------------------------------------------------

    def _map_block(self, number: int) -> ByteArray:
        """The bytes of a slab; FormatError or ResourceError where there is none of this number."""
        raise NotImplementedError

    def _writer(self, need: int) -> tuple[int, BlockWriter] | None:
        """A slab with room for so many bytes, that this process alone writes to; None where there is none to be had,
        and ``refused`` says why.
        """
        raise NotImplementedError

    def _finish_write(self) -> None:
        """What was asked of :meth:`_writer` has been written, or could not be."""

    def _out_of_space(self, writer: BlockWriter) -> None:
        """The system refused the bytes of a block."""
        self.refused = "there is no room left on the disk or in memory"

    def note(self, **counts: float) -> None:
        """Tell whoever counts what was done: hits, stored, seconds."""

    def finish(self) -> None:
        """The length of the sequence is known now."""

    def close(self) -> None:
        with self._open_lock:
            self._open.clear()

    # reading ----------------------------------------------------------------------------------------

    def find(self, numbers: Numbers) -> Slots:
        return self.table.find(numbers)

    def has(self, number: int) -> bool:
        """Whether a row can be had at once."""
        return bool(len(self.table.run(number, 1)))

    def read(
        self,
        numbers: Numbers,
        slots: Slots,
        columns: tuple[str, ...] | None = None,
        into: Into | None = None,
    ) -> dict[str, Column] | None:
        """The columns of these rows, in memory of their own; None where a row turned out not to be there."""
        try:
            parts = self._parts(numbers, slots)
        except FormatError:
            self.table.forget(numbers)  # whatever lies there is not these rows: they are made again
            return None
        names = list(parts[0].chunk.columns) if columns is None else list(columns)
        if any(name not in part.chunk.columns for part in parts for name in names):
            return None
        return gather_columns(parts, names, len(numbers), into)

    def sequence(self, start: int, most: int) -> Chunk | None:
        """Rows from number ``start`` on that lie in one block, as they were kept; None where that one is not."""
        slots = self.table.run(start, most)
        if not len(slots):
            return None
        step = np.flatnonzero(slots != slots[0] + np.arange(len(slots), dtype=np.uint64))
        count = int(step[0]) if len(step) else len(slots)
        numbers = np.arange(start, start + count, dtype=np.uint64)
        try:
            chunk, rows = self._rows(numbers, slots[:count])
        except FormatError:
            self.table.forget(numbers)
            return None
        first = int(rows[0])
        part = chunk.slice(first, first + count)
        return part.with_columns({name: writable_column(column) for name, column in part.columns.items()})

    def _open_group(self, slot: int) -> CachedRowGroup:
        group_key = slot >> ROW_BITS
        row_group = self._open.get(group_key)
        if row_group is None:
            at = np.array([slot], np.uint64)
            block_number, offset = int(slot_block(at)[0]), int(places_of.slot_offset(at)[0])
            row_group = open_row_group(self._map_block(block_number), offset, self._tag)
            with self._open_lock:
                while len(self._open) >= MAX_OPEN_GROUPS:
                    del self._open[next(iter(self._open))]
                self._open[group_key] = row_group
        return row_group

    def _rows(self, numbers: Numbers, slots: Slots) -> tuple[Chunk, npt.NDArray[np.int64]]:
        """The chunk of one block and which of its rows these are."""
        block, rows = self._open_group(int(slots[0])), places_of.slot_row(slots)
        if int(rows.max()) >= len(block.numbers) or (block.numbers[rows] != numbers).any():
            raise FormatError("a place holds another row")
        return block.chunk, rows

    def _parts(self, numbers: Numbers, slots: Slots) -> list[RowSelection]:
        """The rows block by block."""
        blocks = slots >> np.uint64(ROW_BITS)
        order = np.argsort(blocks, kind="stable")
        blocks, numbers, slots = blocks[order], numbers[order], slots[order]
        cuts = np.flatnonzero(blocks[1:] != blocks[:-1]) + 1
        starts = [0, *cuts.tolist(), len(order)]
        return [
            RowSelection(order[start:stop], *self._rows(numbers[start:stop], slots[start:stop]))
            for start, stop in itertools.pairwise(starts)
        ]

    # writing ----------------------------------------------------------------------------------------

    def put(self, chunk: Chunk, numbers: Numbers) -> int:
        """Keep these rows; gives how many of them were stored. Rows that somebody else kept meanwhile are not."""
        if not self.table.lacks(numbers):
            new = (self.table.find(numbers) == places_of.EMPTY_SLOT) & (numbers < self.table.capacity)
            chunk, numbers = chunk.take(new), numbers[new]
        if not len(numbers) or self.refused is not None or self._owner != os.getpid():
            return 0
        if (numbers[1:] <= numbers[:-1]).any():  # out of order: perhaps a row that was drawn twice
            once, firsts = np.unique(numbers, return_index=True)
            if len(once) < len(numbers):
                chunk, numbers = chunk.take(firsts), once
        if len(numbers) > MAX_ROWS_PER_GROUP:
            half = len(numbers) // 2
            kept = self.put(chunk.slice(0, half), numbers[:half])
            return kept + self.put(chunk.slice(half, len(numbers)), numbers[half:])
        try:
            pieces, length = encode_row_group(chunk, numbers)
        except DataError as error:
            self.refused = not_cacheable_message(error)
            return 0
        with self._writing:
            try:
                lease = self._writer(length)
                if lease is None:
                    return 0
                block_number, writer = lease
                head = head_of(pieces, len(numbers), length, self._tag, checked=writer.checked)
                at = writer.append([head, *pieces], length, len(numbers))
                if at is None:
                    self._out_of_space(writer)
                    return 0
            finally:
                self._finish_write()
        self.on_disk += length if writer.checked else 0
        first = int(pack_slot(block_number, at))
        self.table.put(numbers, np.arange(first, first + len(numbers), dtype=np.uint64))
        return len(numbers)
