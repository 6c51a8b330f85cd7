"""Row offsets and indexed values from a SQLite index, used to recover a damaged file.

The index is not trusted: offsets count only if they are consistent and match the lengths in the data file.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.data.formats.mindrecord.header import Header
from millrace._src.data.formats.mindrecord.sqlite_index import MAX_STEPS, guard, open_index, same_value

__all__ = ["IndexEvidence"]

_OFFSET_COLUMNS = (
    "ROW_ID, PAGE_ID_RAW, PAGE_OFFSET_RAW, PAGE_OFFSET_RAW_END, PAGE_ID_BLOB, PAGE_OFFSET_BLOB, "
    "PAGE_OFFSET_BLOB_END"
)
_ERRORS = (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError)


class IndexEvidence:
    """The index of a data file; queries return None where the index has no usable data."""

    def __init__(self, connection: sqlite3.Connection, header: Header, rows: int) -> None:
        self._connection, self._header, self.rows = connection, header, rows

    @classmethod
    def of(cls, path: Path, name: str, header: Header) -> IndexEvidence | None:
        if not path.exists():
            return None
        try:
            connection = open_index(path)
        except _ERRORS:
            return None
        try:
            guard(connection, 1000 * MAX_STEPS)
            named = connection.execute("SELECT NAME FROM SHARD_NAME LIMIT 2").fetchall()
            rows = connection.execute("SELECT count(*) FROM INDEXES").fetchone()[0]
        except _ERRORS:
            named, rows = [], 0
        if named != [(name.encode(),)]:
            connection.close()
            return None
        return cls(connection, header, rows)

    def row_offsets(self, first: int, last: int) -> npt.NDArray[np.int64] | None:
        """Row, raw page, start and end, blob page, start and end of rows [first, last); None if unusable."""
        rows = self._query(_OFFSET_COLUMNS, first, last)
        table: npt.NDArray[Any] = np.array(rows or [])
        if (
            table.ndim != 2
            or table.dtype != np.int64
            or not np.array_equal(table[:, 0], np.arange(first, last))
        ):
            return None
        return table if bool((abs(table) < 2**40).all()) else None

    def find_mismatches(self, first: int, columns: dict[str, Any], count: int) -> dict[int, str]:
        """Rows whose indexed values differ from the data file: position -> difference.

        Empty if most rows differ, because the index is then of another file.
        """
        names = [name for name in self._header.index_fields if name in columns]
        entries = (
            self._query(", ".join(f'"{name}_0"' for name in names), first, first + count) if names else None
        )
        if entries is None or len(entries) != count:
            return {}
        bad: dict[int, str] = {}
        for number, name in enumerate(names):
            column = columns[name] if isinstance(columns[name], list) else columns[name].tolist()
            for row, (mine, theirs) in enumerate(zip(column, entries)):
                text = mine.split("\0", 1)[0] if isinstance(mine, str) else mine
                if not same_value(text, theirs[number], self._header.version):
                    shown = theirs[number]
                    shown = shown.decode("utf-8", "replace") if isinstance(shown, bytes) else shown
                    bad[row] = (
                        f"the index has {shown!r} for '{name}', the row {mine!r}: one of them is damaged"
                    )
        return bad if 2 * len(bad) <= count or len(bad) == 1 else {}

    def _query(self, columns: str, first: int, last: int) -> list[tuple[Any, ...]] | None:
        query = f"SELECT {columns} FROM INDEXES WHERE ROW_ID >= ? AND ROW_ID < ? ORDER BY ROW_ID LIMIT ?"
        try:
            return self._connection.execute(query, (first, last, last - first + 1)).fetchall()
        except _ERRORS:
            return None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
