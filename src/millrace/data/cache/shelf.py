"""A shelf: the rows that leave one node of one pipeline, found by their numbers.

What a number is, the node says: the row's number in its source, or its place in the sequence. Here it is only a number.
Where slabs come from (a server, a folder) is the business of the classes below this one.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace.core.chunk import Chunk, Column
from millrace.core.columns import Runs, Texts
from millrace.core.errors import DataError, FormatError
from millrace.data.engine.transport.slab import Bytes8

from . import table as places_of
from .blocks import Block, Numbers, head_of, lay_out, open_block, tag_of
from .slabs import Writer
from .table import MOST_ROWS_PER_BLOCK, Places, Table, place_of, slab_of

__all__ = ["Shelf", "own_column"]

# Blocks that stay open: their heads were read and their checksums compared.
MOST_OPEN = 512


class Shelf:
    """One process's view of the rows under a key. Its methods may be called from several threads.

    It belongs to the process that made it: a forked copy reads what it has mapped and keeps nothing.
    """

    def __init__(self, key: str, table: Table) -> None:
        self.key, self.table = key, table
        self._owner = os.getpid()
        # why rows are not kept any more: no room, or values that are no arrays
        self.refused: str | None = None
        # seconds that a row took to make, as far as those who kept rows have said
        self.cost: float | None = None
        self._tag = tag_of(key)
        self._open: dict[tuple[int, int], Block] = {}
        self._turn = threading.Lock()
        self._writing = threading.Lock()

    # for the classes below --------------------------------------------------------------------------

    def _slab(self, number: int) -> Bytes8:
        """The bytes of a slab; FormatError or ResourceError where there is none of this number."""
        raise NotImplementedError

    def _writer(self, need: int) -> tuple[int, Writer] | None:
        """A slab with room for so many bytes, that this process alone writes to; None where there is none to be had,
        and ``refused`` says why.
        """
        raise NotImplementedError

    def _written(self) -> None:
        """What was asked of :meth:`_writer` has been written, or could not be."""

    def _no_room(self, writer: Writer) -> None:
        """The system refused the bytes of a block."""
        self.refused = "there is no room left on the disk or in memory"

    def note(self, **counts: float) -> None:
        """Tell whoever counts what was done: hits, stored, seconds."""

    def finish(self) -> None:
        """The length of the sequence is known now."""

    def close(self) -> None:
        with self._turn:
            self._open.clear()

    # reading ----------------------------------------------------------------------------------------

    def find(self, numbers: Numbers) -> Places:
        return self.table.find(numbers)

    def has(self, number: int) -> bool:
        """Whether a row can be had at once."""
        return bool(len(self.table.run(number, 1)))

    def read(
        self, numbers: Numbers, places: Places, columns: tuple[str, ...] | None = None
    ) -> dict[str, Column] | None:
        """The columns of these rows, in memory of their own; None where a row turned out not to be there."""
        try:
            chunk = self._gathered(numbers, places)
        except FormatError:
            self.table.forget(numbers)  # whatever lies there is not these rows: they are made again
            return None
        names = chunk.columns if columns is None else columns
        if any(name not in chunk.columns for name in names):
            return None
        return {name: chunk.columns[name] for name in names}

    def sequence(self, start: int, most: int) -> Chunk | None:
        """Rows from number ``start`` on that lie in one block, as they were kept; None where that one is not."""
        found = self.table.run(start, most)
        if not len(found):
            return None
        step = np.flatnonzero(found != found[0] + np.arange(len(found), dtype=np.uint64))
        count = int(step[0]) if len(step) else len(found)
        numbers = np.arange(start, start + count, dtype=np.uint64)
        try:
            chunk, rows = self._rows(numbers, found[:count])
        except FormatError:
            self.table.forget(numbers)
            return None
        first = int(rows[0])
        part = chunk.slice(first, first + count)
        return part.with_columns({name: own_column(column) for name, column in part.columns.items()})

    def _block(self, place: int) -> Block:
        at = np.array([place], np.uint64)
        where = int(slab_of(at)[0]), int(places_of.offset_of(at)[0])
        block = self._open.get(where)
        if block is None:
            block = open_block(self._slab(where[0]), where[1], self._tag)
            with self._turn:
                while len(self._open) >= MOST_OPEN:
                    del self._open[next(iter(self._open))]
                self._open[where] = block
        return block

    def _rows(self, numbers: Numbers, places: Places) -> tuple[Chunk, npt.NDArray[np.int64]]:
        """The chunk of one block and which of its rows these are."""
        block, rows = self._block(int(places[0])), places_of.row_of(places)
        if int(rows.max()) >= len(block.numbers) or (block.numbers[rows] != numbers).any():
            raise FormatError("a place holds another row")
        return block.chunk, rows

    def _gathered(self, numbers: Numbers, places: Places) -> Chunk:
        block_of = places >> np.uint64(18)
        if (block_of == block_of[0]).all():
            chunk, rows = self._rows(numbers, places)
            return _taken(chunk, rows)
        _, firsts, which = np.unique(block_of, return_index=True, return_inverse=True)
        parts: list[tuple[npt.NDArray[np.int64], Chunk, npt.NDArray[np.int64]]] = []
        for k in range(len(firsts)):
            at = np.flatnonzero(which == k)
            chunk, rows = self._rows(numbers[at], places[at])
            parts.append((at, chunk, rows))
        return _merged(parts, len(numbers))

    # writing ----------------------------------------------------------------------------------------

    def put(self, chunk: Chunk, numbers: Numbers) -> int:
        """Keep these rows; gives how many of them were stored. Rows that somebody else kept meanwhile are not."""
        new = self.table.find(numbers) == places_of.NOWHERE
        new &= numbers < self.table.capacity
        if not new.all():
            chunk, numbers = chunk.take(new), numbers[new]
        if not len(numbers) or self.refused is not None or self._owner != os.getpid():
            return 0
        if (numbers[1:] <= numbers[:-1]).any():  # out of order, or a row that was drawn twice
            numbers, firsts = np.unique(numbers, return_index=True)
            chunk = chunk.take(firsts)
        if len(numbers) > MOST_ROWS_PER_BLOCK:
            half = len(numbers) // 2
            kept = self.put(chunk.slice(0, half), numbers[:half])
            return kept + self.put(chunk.slice(half, len(numbers)), numbers[half:])
        try:
            pieces, length = lay_out(chunk, numbers)
        except DataError as error:
            column = error.context.get("column")
            self.refused = f"column {column!r} holds Python objects, and only arrays and text are kept"
            return 0
        with self._writing:
            try:
                found = self._writer(length)
                if found is None:
                    return 0
                slab, writer = found
                head = head_of(pieces, len(numbers), length, self._tag, checked=writer.checked)
                at = writer.append([head, *pieces], length, len(numbers))
                if at is None:
                    self._no_room(writer)
                    return 0
            finally:
                self._written()
        rows = np.arange(len(numbers), dtype=np.uint64)
        self.table.put(numbers, place_of(slab, at, rows))
        return len(numbers)


def own_column(column: Column) -> Column:
    """A column in memory that the next op may write to."""
    if isinstance(column, Texts):
        return column  # strings: nobody writes to them
    if isinstance(column, (np.ndarray, Runs)):
        return column.copy()
    return [value.copy() if isinstance(value, np.ndarray) else value for value in column]


def _taken(chunk: Chunk, rows: npt.NDArray[np.int64]) -> Chunk:
    first, count = int(rows[0]), len(rows)
    if (rows == np.arange(first, first + count)).all():
        part = chunk.slice(first, first + count)
        return part.with_columns({name: own_column(column) for name, column in part.columns.items()})
    taken = chunk.take(rows)  # copies what lies in one piece
    return taken.with_columns(
        {
            name: own_column(column) if isinstance(column, list) else column
            for name, column in taken.columns.items()
        }
    )


def _merged(parts: list[tuple[npt.NDArray[np.int64], Chunk, npt.NDArray[np.int64]]], count: int) -> Chunk:
    """Rows of several blocks in the order in which they were asked for."""
    first = parts[0][1]
    if any(list(chunk.columns) != list(first.columns) for _, chunk, _ in parts):
        raise FormatError("rows of one shelf have different columns")
    columns: dict[str, Column] = {}
    other: list[str] = []
    for name, model in first.columns.items():
        if all(_alike(model, chunk.columns[name]) for _, chunk, _ in parts):
            columns[name] = _dense(parts, name, count)
        else:
            other.append(name)
    order = np.empty(count, np.int64)
    order[np.concatenate([at for at, _, _ in parts])] = np.arange(count)
    rest = Chunk.concat(
        [
            Chunk({name: chunk.columns[name] for name in other}, chunk.ids, chunk.origin).take(rows)
            for _, chunk, rows in parts
        ]
    ).take(order)
    for name in other:
        column = rest.columns[name]
        columns[name] = own_column(column) if isinstance(column, list) else column
    return Chunk({name: columns[name] for name in first.columns}, rest.ids, rest.origin)


def _alike(model: Column, column: Column) -> bool:
    return (
        isinstance(model, np.ndarray)
        and isinstance(column, np.ndarray)
        and column.dtype == model.dtype
        and column.shape[1:] == model.shape[1:]
    )


def _dense(parts: list[Any], name: str, count: int) -> npt.NDArray[Any]:
    model = parts[0][1].columns[name]
    made: npt.NDArray[Any] = np.empty((count, *model.shape[1:]), model.dtype)
    for at, chunk, rows in parts:
        column = chunk.columns[name]
        if len(at) == 1:
            made[at[0]] = column[rows[0]]
        else:
            made[at] = column[rows]
    return made
