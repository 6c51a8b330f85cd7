"""Row store: lookup, read and append of cached rows by row number, independent of where the memory comes from.

A row store holds the output rows of one node of one pipeline. The node defines the row number: the number in the
source, or the position in the sequence. Subclasses provide the memory blocks (from a server or a folder).
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

# Maximum number of decoded row groups that are kept.
MAX_OPEN_GROUPS = 4096


class RowStore:
    """One process's view of the rows under a key. Its methods are thread-safe.

    It belongs to the process that created it: a forked child reads what is mapped and stores nothing.
    """

    def __init__(self, key: str, table: SlotTable) -> None:
        self.key, self.table = key, table
        self._owner = os.getpid()
        # why rows are not stored any more: no space, or values that are not arrays
        self.refused: str | None = None
        # bytes that this process has written to a disk
        self.on_disk = 0
        # seconds to compute a row, if reported by the processes that stored rows
        self.cost: float | None = None
        self._tag = tag_of(key)
        self._open: dict[int, CachedRowGroup] = {}
        self._open_lock = threading.Lock()
        self._writing = threading.Lock()

    # implemented by subclasses ----------------------------------------------------------------------

    def _map_block(self, number: int) -> ByteArray:
        """The bytes of a block; FormatError or ResourceError if it does not exist."""
        raise NotImplementedError

    def _writer(self, need: int) -> tuple[int, BlockWriter] | None:
        """A block with space for this many bytes that only this process writes to; None, with the reason in
        ``refused``, if there is none.
        """
        raise NotImplementedError

    def _finish_write(self) -> None:
        """The data for which :meth:`_writer` was called has been written, or could not be written."""

    def _out_of_space(self, writer: BlockWriter) -> None:
        """The system has no space for a row group."""
        self.refused = "the disk or the memory is full"

    def note(self, **counts: float) -> None:
        """Report counts: hits, computed rows, seconds."""

    def finish(self) -> None:
        """The length of the sequence has become known."""

    def close(self) -> None:
        with self._open_lock:
            self._open.clear()

    # reading ----------------------------------------------------------------------------------------

    def find(self, numbers: Numbers) -> Slots:
        return self.table.find(numbers)

    def has(self, number: int) -> bool:
        """Whether a row is available without waiting."""
        return bool(len(self.table.run(number, 1)))

    def read(
        self,
        numbers: Numbers,
        slots: Slots,
        columns: tuple[str, ...] | None = None,
        into: Into | None = None,
    ) -> dict[str, Column] | None:
        """The columns of these rows in separate memory; None if a row is not available after all."""
        try:
            parts = self._parts(numbers, slots)
        except FormatError:
            self.table.forget(numbers)  # the slots hold other data: the rows are computed again
            return None
        names = list(parts[0].chunk.columns) if columns is None else list(columns)
        if any(name not in part.chunk.columns for part in parts for name in names):
            return None
        return gather_columns(parts, names, len(numbers), into)

    def sequence(self, start: int, most: int) -> Chunk | None:
        """Rows from number ``start`` on that are in one row group; None if row ``start`` is not cached."""
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
        """The chunk of a row group, and the positions of these rows in it."""
        block, rows = self._open_group(int(slots[0])), places_of.slot_row(slots)
        if int(rows.max()) >= len(block.numbers) or (block.numbers[rows] != numbers).any():
            raise FormatError("a slot refers to another row")
        return block.chunk, rows

    def _parts(self, numbers: Numbers, slots: Slots) -> list[RowSelection]:
        """The rows grouped by row group."""
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
        """Store these rows. Returns the number of stored rows; rows that another process has stored meanwhile are
        skipped.
        """
        if not self.table.lacks(numbers):
            new = (self.table.find(numbers) == places_of.EMPTY_SLOT) & (numbers < self.table.capacity)
            chunk, numbers = chunk.take(new), numbers[new]
        if not len(numbers) or self.refused is not None or self._owner != os.getpid():
            return 0
        if (numbers[1:] <= numbers[:-1]).any():  # not increasing: a row may have been sampled twice
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
