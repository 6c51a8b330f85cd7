"""Row offsets of a MindRecord set, found one row group at a time."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from .header import RowGroup
from .shard import ShardReader
from .sqlite_index import RowOffsetHints

__all__ = ["RowOffsets"]

Ints = npt.NDArray[np.int64]
_LARGE_ROW = 16 << 10
_LENGTH = struct.Struct("<Q")


class RowOffsets:
    """Start and end of the payload of each row, raw or blob, for the rows of all shards.

    Rows are located by following their lengths through the page. For large rows this would read the whole page, so the
    offsets of the index are used as a hint. They are accepted if they divide the page into the right number of rows,
    and are checked against the length of each row that is read.
    """

    def __init__(self, rows: int, groups: int, blob: bool) -> None:
        self.blob = blob
        self.starts, self.ends = np.empty(rows, np.int64), np.empty(rows, np.int64)
        self.known = np.zeros(groups, bool)
        self.hinted = np.zeros(groups, bool)
        self.complete = not groups
        self.any_hinted = False
        self._hints: dict[int, RowOffsetHints | None] = {}

    def load_group(
        self,
        number: int,
        shard_number: int,
        shard: ShardReader,
        group: RowGroup,
        data: Any,
        first: int,
        by_index: bool = True,
    ) -> None:
        """Locate the rows of one group; ``first`` is its first row."""
        bounds = self._from_index(shard_number, shard, group) if by_index else None
        hinted = bounds is not None
        if bounds is None:
            bounds = (shard.blob_ranges if self.blob else shard.raw_ranges)(data, group)
        self.starts[first : first + group.rows], self.ends[first : first + group.rows] = bounds
        # in this order: a thread that sees no hint must see offsets that were found without one
        self.hinted[number] = hinted
        self.any_hinted = self.any_hinted or hinted
        self.known[number] = True
        self.complete = bool(self.known.all())

    def _from_index(self, number: int, shard: ShardReader, group: RowGroup) -> tuple[Ints, Ints] | None:
        large = self.blob and group.blob_end - group.blob > _LARGE_ROW * group.rows
        if not large or shard.encrypted or not shard.is_local:
            return None
        if number not in self._hints:
            self._hints[number] = RowOffsetHints.of(shard.path, shard.header)
        hints = self._hints[number]
        offsets = None if hints is None else hints.blob_rows(group)
        if offsets is None:
            return None
        starts, ends = offsets[:, 0] + group.blob + 8, offsets[:, 1] + group.blob
        good = starts[0] == group.blob + 8 and ends[-1] == group.blob_end
        good = good and bool((starts[1:] - 8 == ends[:-1]).all()) and bool((starts <= ends).all())
        return (starts, ends) if good else None

    @staticmethod
    def wrong_hints(
        groups: Ints, hinted: npt.NDArray[np.bool_], maps: Any, starts: list[int], ends: list[int]
    ) -> dict[int, int]:
        """Group -> the first of these rows whose length in the file differs from the index."""
        wrong: dict[int, int] = {}
        for row in np.flatnonzero(hinted).tolist():
            if _LENGTH.unpack_from(maps[row], starts[row] - 8)[0] != ends[row] - starts[row]:
                wrong.setdefault(int(groups[row]), row)
        return wrong

    def close(self) -> None:
        """Close the indexes."""
        for hints in self._hints.values():
            if hints is not None:
                hints.close()
        self._hints.clear()
