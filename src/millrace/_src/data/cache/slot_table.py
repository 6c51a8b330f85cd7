"""Shared-memory table from row number to storage slot (block, offset, row), readable without locks.

Every client maps the table, so rows are looked up without requests to the server. A slot is one 8-byte integer, 0 for
rows that are not cached. It is stored after the row's group is complete, so that a reader sees a complete row or none.
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError
from millrace._src.core.machine import shared_memory as memory

from .row_group import Numbers

__all__ = [
    "MAX_ROWS_PER_GROUP",
    "EMPTY_SLOT",
    "ROW_BITS",
    "Slots",
    "SlotTable",
    "create_table",
    "pack_slot",
    "slot_block",
]

Slots = npt.NDArray[np.uint64]

EMPTY_SLOT = np.uint64(0)
# 16 bits for the block (counted from 1), 30 for the offset in units of 64 bytes, 18 for the row in its row group
ROW_BITS = 18
_BLOCK_SHIFT, _OFFSET_SHIFT = np.uint64(48), np.uint64(ROW_BITS)
_OFFSET_MASK, _ROW_MASK = np.uint64((1 << 30) - 1), np.uint64((1 << ROW_BITS) - 1)
MAX_BLOCKS = (1 << 16) - 2
MAX_ROWS_PER_GROUP = 1 << ROW_BITS
MAX_BLOCK_SIZE = 1 << 36

_HEADER_LENGTH = 8  # of the header: magic, rows, length of the sequence + 1
_MAGIC = 0x3154_524D  # "MRT1"


def pack_slot(block: int, offset: int, row: int | npt.NDArray[np.uint64] = 0) -> npt.NDArray[np.uint64]:
    """The slots of rows of one row group."""
    base = np.uint64(((block + 1) << 48) | ((offset >> 6) << ROW_BITS))
    return np.asarray(base + np.asarray(row, np.uint64))


def slot_block(slots: Slots) -> npt.NDArray[np.int64]:
    return (slots >> _BLOCK_SHIFT).astype(np.int64) - 1


def slot_offset(slots: Slots) -> npt.NDArray[np.int64]:
    return ((slots >> _OFFSET_SHIFT) & _OFFSET_MASK).astype(np.int64) << 6


def slot_row(slots: Slots) -> npt.NDArray[np.int64]:
    return (slots & _ROW_MASK).astype(np.int64)


def create_table(rows: int) -> int:
    """Create an empty table and return its descriptor; unused pages cost nothing."""
    fd = memory.create(8 * (_HEADER_LENGTH + rows), "millrace-cache-table")
    os.pwrite(fd, np.array([_MAGIC, rows], np.uint64).tobytes(), 0)
    return fd


class SlotTable:
    """A mapped slot table.

    >>> table = SlotTable(create_table(4))
    >>> table.put(np.array([2], np.uint64), pack_slot(0, 64))
    >>> (table.find(np.array([1, 2], np.uint64)) != 0).tolist()
    [False, True]
    >>> table.total is None
    True
    """

    def __init__(self, fd: int) -> None:
        try:
            size = memory.read_size(fd)
            data = memory.map_fd(fd, size).view(np.uint64)
        finally:
            os.close(fd)
        if len(data) < _HEADER_LENGTH or data[0] != _MAGIC or data[1] != len(data) - _HEADER_LENGTH:
            raise FormatError("this is not a slot table")
        self._head, self._slots = data[:_HEADER_LENGTH], data[_HEADER_LENGTH:]

    @property
    def capacity(self) -> int:
        return len(self._slots)

    @property
    def total(self) -> int | None:
        """Number of rows of the whole sequence, once a process has reached its end."""
        stored = int(self._head[2])
        return stored - 1 if 0 < stored <= self.capacity + 1 else None

    @total.setter
    def total(self, rows: int) -> None:
        if 0 <= rows <= self.capacity:
            self._head[2] = rows + 1

    def find(self, numbers: Numbers) -> Slots:
        """The slot of each row; 0 if it is not cached."""
        if len(numbers) and int(numbers.max()) >= self.capacity:
            slots = np.zeros(len(numbers), np.uint64)
            inside = numbers < self.capacity
            slots[inside] = self._slots[numbers[inside]]
            return slots
        return self._slots[numbers]

    def lacks(self, numbers: Numbers) -> bool:
        """Whether all row numbers are valid and none of the rows is cached."""
        try:
            return not self._slots[numbers].any()
        except IndexError:
            return False

    def put(self, numbers: Numbers, slots: Slots) -> None:
        self._slots[numbers] = slots

    def forget(self, numbers: Numbers) -> None:
        self._slots[numbers] = EMPTY_SLOT

    def run(self, start: int, most: int) -> Slots:
        """The slots of up to ``most`` rows from ``start`` on, up to the first that is not cached."""
        slots = self._slots[start : start + most]
        missing = np.flatnonzero(slots == EMPTY_SLOT)
        return slots[: missing[0]].copy() if len(missing) else slots.copy()
