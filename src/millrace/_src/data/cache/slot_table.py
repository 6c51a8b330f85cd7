"""The table of a shelf: for each row number the place where the row lies, or 0.

It is shared memory that every client maps: a row is looked up without asking the server. A place is one number of
eight bytes, stored after the row's block is whole, so that a reader sees all of a row or nothing of it.
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
# 16 bits for the slab (counted from 1), 30 for the offset in units of 64 bytes, 18 for the row in its block
ROW_BITS = 18
_BLOCK_SHIFT, _OFFSET_SHIFT = np.uint64(48), np.uint64(ROW_BITS)
_OFFSET_MASK, _ROW_MASK = np.uint64((1 << 30) - 1), np.uint64((1 << ROW_BITS) - 1)
MAX_BLOCKS = (1 << 16) - 2
MAX_ROWS_PER_GROUP = 1 << ROW_BITS
MAX_BLOCK_SIZE = 1 << 36

_HEADER_LENGTH = 8  # of the head: magic, rows, length of the sequence + 1
_MAGIC = 0x3154_524D  # "MRT1"


def pack_slot(block: int, offset: int, row: int | npt.NDArray[np.uint64] = 0) -> npt.NDArray[np.uint64]:
    """The place of rows of one block."""
    base = np.uint64(((block + 1) << 48) | ((offset >> 6) << ROW_BITS))
    return np.asarray(base + np.asarray(row, np.uint64))


def slot_block(slots: Slots) -> npt.NDArray[np.int64]:
    return (slots >> _BLOCK_SHIFT).astype(np.int64) - 1


def slot_offset(slots: Slots) -> npt.NDArray[np.int64]:
    return ((slots >> _OFFSET_SHIFT) & _OFFSET_MASK).astype(np.int64) << 6


def slot_row(slots: Slots) -> npt.NDArray[np.int64]:
    return (slots & _ROW_MASK).astype(np.int64)


def create_table(rows: int) -> int:
    """A descriptor of an empty table; pages that nobody writes to cost nothing."""
    fd = memory.create(8 * (_HEADER_LENGTH + rows), "millrace-cache-table")
    os.pwrite(fd, np.array([_MAGIC, rows], np.uint64).tobytes(), 0)
    return fd


class SlotTable:
    """A table as mapped here.

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
            raise FormatError("this is not a table of rows")
        self._head, self._slots = data[:_HEADER_LENGTH], data[_HEADER_LENGTH:]

    @property
    def capacity(self) -> int:
        return len(self._slots)

    @property
    def total(self) -> int | None:
        """How many rows the whole sequence has, once somebody has come to its end."""
        stored = int(self._head[2])
        return stored - 1 if 0 < stored <= self.capacity + 1 else None

    @total.setter
    def total(self, rows: int) -> None:
        if 0 <= rows <= self.capacity:
            self._head[2] = rows + 1

    def find(self, numbers: Numbers) -> Slots:
        """The place of each row; 0 where it is not kept."""
        if len(numbers) and int(numbers.max()) >= self.capacity:
            slots = np.zeros(len(numbers), np.uint64)
            inside = numbers < self.capacity
            slots[inside] = self._slots[numbers[inside]]
            return slots
        return self._slots[numbers]

    def lacks(self, numbers: Numbers) -> bool:
        """Whether all these rows have a number here, and none is kept."""
        try:
            return not self._slots[numbers].any()
        except IndexError:
            return False

    def put(self, numbers: Numbers, slots: Slots) -> None:
        self._slots[numbers] = slots

    def forget(self, numbers: Numbers) -> None:
        self._slots[numbers] = EMPTY_SLOT

    def run(self, start: int, most: int) -> Slots:
        """The places of up to ``most`` rows from ``start`` on, up to the first that is not kept."""
        slots = self._slots[start : start + most]
        missing = np.flatnonzero(slots == EMPTY_SLOT)
        return slots[: missing[0]].copy() if len(missing) else slots.copy()
