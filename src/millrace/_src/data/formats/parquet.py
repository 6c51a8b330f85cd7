"""Row-indexed reader for Parquet and Arrow (IPC, Feather) files through pyarrow."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.optional import require
from millrace._src.core.random.permutation import Indices
from millrace._src.core.values.chunk import Column

from .arrow_list_columns import decode_list_column

__all__ = ["ArrowRows"]

# Size of the cache of row groups: the next rows are often in the same group.
_KEEP_BYTES = 256 << 20


class ArrowRows:
    """Rows of files: Parquet by row groups, Arrow (IPC, Feather) memory-mapped by record batches.

    ``read`` returns columns: numbers dense, text and lists as a list of arrays, bytes as uint8.
    """

    def __init__(self, files: list[str], columns: list[str] | None) -> None:
        self.files, self.columns = files, columns
        self._init_cache()
        counts: list[int] = []
        self.groups: list[tuple[int, int]] = []
        for number, path in enumerate(files):
            sizes, names = self._group_sizes(path)
            missing = [name for name in columns or () if name not in names]
            if missing:
                raise FormatError(f"there is no column {missing[0]!r}, the columns are {names}", file=path)
            self.names = columns or names
            counts += sizes
            self.groups += [(number, group) for group in range(len(sizes))]
        self.ends = np.cumsum(counts)

    def _init_cache(self) -> None:
        self._kept: OrderedDict[int, Any] = OrderedDict()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_kept", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._init_cache()

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def _group_sizes(self, path: str) -> tuple[list[int], list[str]]:
        if not os.path.isfile(path):
            raise FormatError(f"Invalid file, failed to open: {path}", file=path)
        arrow = require("pyarrow", extra="parquet", purpose="reading Parquet and Arrow files")
        try:
            if _is_parquet(path):
                parquet = require("pyarrow.parquet", extra="parquet", purpose="reading Parquet files")
                with parquet.ParquetFile(path) as file:
                    metadata = file.metadata
                    names = list(file.schema_arrow.names)
                    return [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)], names
            with arrow.memory_map(path) as mapped:
                reader = arrow.ipc.open_file(mapped)
                sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
                return sizes, list(reader.schema.names)
        except (arrow.ArrowException, OSError) as error:
            raise FormatError(
                f"Invalid file, neither Parquet nor an Arrow file: {error}", file=path
            ) from error

    def where(self, index: int) -> str:
        return self.files[self.groups[int(np.searchsorted(self.ends, index, side="right"))][0]]

    def _group(self, number: int) -> Any:
        """A row group or record batch as a table."""
        with self._lock:
            if number in self._kept:
                self._kept.move_to_end(number)
                return self._kept[number]
        file, group = self.groups[number]
        arrow = require("pyarrow", extra="parquet", purpose="reading Parquet and Arrow files")
        try:
            if _is_parquet(self.files[file]):
                parquet = require("pyarrow.parquet", extra="parquet", purpose="reading Parquet files")
                with parquet.ParquetFile(self.files[file]) as opened:
                    table = opened.read_row_group(group, columns=self.columns)
            else:
                reader = arrow.ipc.open_file(arrow.memory_map(self.files[file]))
                table = arrow.Table.from_batches([reader.get_batch(group)])
        except (arrow.ArrowException, OSError) as error:
            raise FormatError(f"the file is damaged: {error}", file=self.files[file]) from error
        table = table.select(self.names).combine_chunks()
        with self._lock:
            self._kept[number] = table
            while len(self._kept) > 1 and sum(t.nbytes for t in self._kept.values()) > _KEEP_BYTES:
                self._kept.popitem(last=False)
        return table

    def read(self, indices: Indices) -> dict[str, Column]:
        group_numbers = np.searchsorted(self.ends, indices, side="right")
        row_indices = indices - np.concatenate([[0], self.ends[:-1]])[group_numbers]
        columns: dict[str, list[Any]] = {name: [None] * len(indices) for name in self.names}
        whole_columns: dict[str, Column] = {}
        for number in np.unique(group_numbers).tolist():
            mine = np.flatnonzero(group_numbers == number)
            rows = self._group(number).take(row_indices[mine])
            for name in self.names:
                values = _to_column(rows.column(name), name, self.files[self.groups[number][0]])
                if len(mine) == len(indices):
                    whole_columns[name] = values
                    continue
                for position, value in zip(mine.tolist(), values):
                    columns[name][position] = np.asarray(value)
        return whole_columns or dict(columns)

    def close(self) -> None:
        with self._lock:
            self._kept.clear()


def _is_parquet(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def _to_column(column: Any, name: str, path: str) -> Column:
    arrow_type = str(column.type)
    if column.null_count and not arrow_type.startswith(("float", "double", "half")):
        raise FormatError(
            f"column {name!r} ({arrow_type}) has rows without a value: fill them first", file=path
        )
    if arrow_type in ("string", "large_string", "string_view"):
        return [np.array(text) for text in column.to_pylist()]
    if arrow_type.startswith(("binary", "large_binary", "fixed_size_binary")):
        return [np.frombuffer(data, np.uint8).copy() for data in column.to_pylist()]
    if arrow_type.startswith(("list", "large_list", "fixed_size_list")):
        return decode_list_column(column, name, path)
    if arrow_type.startswith(("struct", "map", "dictionary")):
        return [value if isinstance(value, dict) else np.array(value) for value in column.to_pylist()]
    values = np.asarray(column.to_numpy())
    return values if values.dtype.kind != "O" else [np.array(value) for value in values.tolist()]
