"""SQLite index (``.db``) of a MindRecord data file: write, check and rebuild.

The table has the offsets and the indexed values of the rows. MindSpore needs it; Millrace reads rows with the data file
alone. The index is never trusted: it is checked when a set is opened, and rebuilt if it is missing, stale or damaged.
"""

from __future__ import annotations

import sqlite3
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .header import BLOB, Header, RowGroup

__all__ = [
    "MAX_STEPS",
    "NO_INDEX",
    "RowOffsetHints",
    "bad_index_fields",
    "check_index",
    "compare_rows",
    "guard",
    "index_rows",
    "open_index",
    "same_value",
    "write_index",
]

NO_INDEX = "it is missing"
_FIXED = (
    "ROW_ID", "PAGE_ID_RAW", "PAGE_OFFSET_RAW", "PAGE_OFFSET_RAW_END",
    "ROW_GROUP_ID", "PAGE_ID_BLOB", "PAGE_OFFSET_BLOB", "PAGE_OFFSET_BLOB_END",
)  # fmt: skip
_AFFINITY = {"int32": "INTEGER", "int64": "INTEGER", "float32": "REAL", "float64": "REAL", "string": "TEXT"}
_MAX_FIELDS = 900
MAX_STEPS = 2000  # of 10,000 SQLite instructions each, per check
_PROBES = 32


def bad_index_fields(names: list[str]) -> str | None:
    """Why these fields cannot all be columns of one SQLite table, or None.

    >>> bad_index_fields(["id", "ID"])
    "'id' and 'ID' differ only in case, and SQLite does not distinguish them"
    """
    seen: dict[str, str] = {}
    for name in names:
        if name[0].isdigit():
            return f"'{name}' begins with a digit"
        if name.lower() == "inc":
            return f"'{name}' is a name the index uses itself"
        if name.lower() in seen:
            first = seen[name.lower()]
            return f"'{first}' and '{name}' differ only in case, and SQLite does not distinguish them"
        seen[name.lower()] = name
    return f"{len(names)} fields are more than {_MAX_FIELDS}" if len(names) > _MAX_FIELDS else None


def _columns(header: Header) -> list[tuple[str, str]]:
    """Names and declared types, in order."""
    columns = [(name, "INT NOT NULL") for name in _FIXED]
    for number, name in enumerate(header.index_fields):
        columns += [(f"INC_{number}", "INT"), (f"{name}_0", _AFFINITY[header.schema[name].type])]
    return columns


def write_index(database: str, name: str, header: Header, rows: Iterable[tuple[Any, ...]]) -> bytes | None:
    """Write the index of one shard to a new file, or return its bytes where database is ``:memory:``."""
    columns = _columns(header)
    keys = ["ROW_ID", *(f"INC_{number}" for number in range(len(header.index_fields)))]
    declared = ", ".join(f"{column} {sql_type}" for column, sql_type in columns)
    connection = sqlite3.connect(database, isolation_level=None)
    try:
        for pragma in ("page_size=4096", "journal_mode=OFF", "synchronous=OFF", "locking_mode=EXCLUSIVE"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        connection.execute(f"CREATE TABLE INDEXES({declared}, PRIMARY KEY({','.join(keys)}))")
        connection.execute("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)")
        connection.execute("INSERT INTO SHARD_NAME VALUES(?)", (name,))
        marks = ",".join("?" * len(columns))
        connection.executemany(f"INSERT INTO INDEXES VALUES({marks})", rows)
        connection.execute("COMMIT")
        return connection.serialize() if database == ":memory:" else None
    finally:
        connection.close()


def index_rows(
    header: Header, blocks: Iterable[tuple[int, dict[str, Any], dict[str, Any]]]
) -> Iterator[tuple[Any, ...]]:
    """Rows of INDEXES from blocks of (first row, offsets by column name, values of the indexed fields)."""
    for first, offsets, values in blocks:
        count = len(offsets["ROW_GROUP_ID"])
        parts: list[Iterable[Any]] = [range(first, first + count)]
        parts += [offsets[name] for name in _FIXED[1:]]
        for name in header.index_fields:
            column = values[name]
            if header.schema[name].type == "string":
                column = [text.split("\0", 1)[0] for text in column]  # as MindSpore does
            parts += [[0] * count, column if isinstance(column, list) else column.tolist()]
        yield from zip(*parts)


def check_index(source: Path | bytes, name: str, header: Header) -> str | None:
    """Why an index does not match its data file, or None if it does.

    The index is opened read-only, with limits on run time and memory.
    """
    if isinstance(source, Path) and not source.exists():
        return NO_INDEX
    connection = None
    try:
        if isinstance(source, bytes):
            connection = sqlite3.connect(":memory:")
            connection.deserialize(source)
        else:
            connection = open_index(source)
        return _find_mismatch(connection, name, header)
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
        return f"it is damaged ({error})"
    finally:
        if connection is not None:
            connection.close()


def open_index(path: Path) -> sqlite3.Connection:
    """Open an index read-only."""
    uri = "file:" + urllib.parse.quote(str(path.absolute())) + "?mode=ro&immutable=1"
    return sqlite3.connect(uri, uri=True, check_same_thread=False)


def guard(connection: sqlite3.Connection, steps: int) -> None:
    """Limit run time and memory of queries on an untrusted index."""
    connection.text_factory = bytes
    connection.set_progress_handler(_step_limit(steps), 10_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 20)
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA cell_size_check=ON")


class RowOffsetHints:
    """Offsets of blob rows according to an index; the caller must check them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    @classmethod
    def of(cls, data: Path, header: Header) -> RowOffsetHints | None:
        """The hints of a data file, or None if its index is unusable."""
        path = data.with_name(data.name + ".db")
        if check_index(path, data.name, header) is not None:
            return None
        connection = open_index(path)
        try:
            guard(connection, 100 * MAX_STEPS)
        except sqlite3.Error:
            connection.close()
            return None
        return cls(connection)

    def blob_rows(self, group: RowGroup) -> npt.NDArray[np.int64] | None:
        """Start and end of each row of a group, in its page."""
        query = (
            "SELECT PAGE_OFFSET_BLOB, PAGE_OFFSET_BLOB_END FROM INDEXES "
            "WHERE ROW_ID >= ? AND ROW_ID < ? ORDER BY ROW_ID LIMIT ?"
        )
        span = (group.start_row, group.start_row + group.rows, group.rows + 1)
        try:
            offsets = np.array(self.connection.execute(query, span).fetchall())
        except (sqlite3.Error, ValueError, OverflowError):
            return None
        if offsets.shape != (group.rows, 2) or offsets.dtype != np.int64:
            return None
        inside = (offsets >= 0) & (offsets <= group.blob_end - group.blob)
        return offsets if bool(inside.all()) else None

    def close(self) -> None:
        self.connection.close()


def compare_rows(data: Path, header: Header, rows: Iterable[tuple[Any, ...]]) -> str | None:
    """The first row of an index that does not match the data file, or None."""
    path = data.with_name(data.name + ".db")
    try:
        connection = open_index(path)
        try:
            guard(connection, 1000 * MAX_STEPS)
            stored_rows = connection.execute("SELECT * FROM INDEXES ORDER BY ROW_ID")
            number = -1
            for number, (mine, theirs) in enumerate(zip(rows, stored_rows)):
                if not _rows_equal(mine, theirs, header):
                    return f"its row {number} is not what the data file has"
            return None if number + 1 == header.rows else f"it has {number + 1} rows, not {header.rows}"
        finally:
            connection.close()
    except (sqlite3.Error, ValueError, OverflowError, MemoryError) as error:
        return f"it is damaged ({error})"


def _rows_equal(mine: tuple[Any, ...], theirs: tuple[Any, ...], header: Header) -> bool:
    return len(mine) == len(theirs) and all(same_value(a, b, header.version) for a, b in zip(mine, theirs))


def same_value(mine: Any, theirs: Any, version: str) -> bool:
    """Whether a value of an index, as SQLite returns it, equals the value of the data file."""
    if isinstance(mine, str):
        text = mine.encode()
        # version 2.0 kept texts with the quotes of JSON
        return theirs == text or (
            version == "2.0" and isinstance(theirs, bytes) and theirs.strip(b'"') == text
        )
    if isinstance(mine, float):
        return isinstance(theirs, (int, float)) and abs(mine - theirs) <= 1e-6 * max(1.0, abs(mine))
    return bool(mine == theirs)


def _find_mismatch(connection: sqlite3.Connection, name: str, header: Header) -> str | None:
    guard(connection, MAX_STEPS)
    execute = connection.execute
    tables = dict(
        execute("SELECT name, type FROM sqlite_master WHERE name IN ('INDEXES', 'SHARD_NAME')").fetchall()
    )
    if tables != {b"INDEXES": b"table", b"SHARD_NAME": b"table"}:
        return "it is not the index of a MindRecord file"
    names = execute("SELECT NAME FROM SHARD_NAME LIMIT 2").fetchall()
    if names != [(name.encode(),)]:
        return f"it was made for a file named {_shown(names[0][0])}" if names else "it names no data file"
    columns = [
        row[1].decode("utf-8", "replace") for row in execute("PRAGMA table_info(INDEXES)").fetchmany(2000)
    ]
    if columns != [column for column, _ in _columns(header)]:
        return "its columns are not the index fields of the data file"
    rows = header.rows
    count = execute("SELECT max(rowid) FROM INDEXES").fetchone()[0] or 0
    if count != rows:
        return f"it has {count} rows, the data file has {rows}"
    if rows and execute("PRAGMA index_list(INDEXES)").fetchall():
        return _probe_pages(connection, header)
    return None


def _shown(name: Any) -> str:
    return repr(name.decode("utf-8", "replace") if isinstance(name, bytes) else name)


def _probe_pages(connection: sqlite3.Connection, header: Header) -> str | None:
    """Compare the last row of some pages: its end is the used size of the page."""
    pages = [page for page in header.pages if page.type == BLOB and page.end_row > page.start_row]
    step = max(1, len(pages) // _PROBES)
    query = "SELECT ROW_GROUP_ID, PAGE_ID_BLOB, PAGE_OFFSET_BLOB_END FROM INDEXES WHERE ROW_ID = ?"
    for page in {id(page): page for page in [*pages[::step], pages[-1]]}.values():
        stored = connection.execute(query, (page.end_row - 1,)).fetchall()
        if stored != [(page.type_id, page.id, page.used)]:
            return f"its row {page.end_row - 1} is not where the data file has it"
    return None


def _step_limit(most: int) -> Callable[[], int]:
    steps = 0

    def over() -> int:
        nonlocal steps
        steps += 1
        return int(steps > most)

    return over
