"""``MindRecordReader``: random access to the rows of a MindRecord set as arrays."""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, FormatError
from millrace._src.core.io.remote import RemotePath
from millrace._src.core.log import warn_once

from . import encryption as crypto
from .encoding.blob_fields import ByteSlices, blob_columns, join
from .encoding.msgpack import decode_columns
from .row_offsets import RowOffsets
from .schema import RecordSchema
from .shard import ShardReader
from .shard_discovery import open_shards

__all__ = ["MindRecordReader"]

Ints = npt.NDArray[np.int64]
_COLUMN_ROWS = 1 << 15
_MAX_MAPS = 256  # each open map uses a file descriptor


class MindRecordReader:
    """A MindRecord set: version 2.0 and 3.0, plain or encrypted, by memory map.

    The path of one shard selects its whole set; a list selects exactly these files. Reading is thread-safe. An
    unpickled reader reopens the files.

    >>> from millrace.mindrecord import FileWriter
    >>> writer = FileWriter("numbers.mindrecord", overwrite=True)
    >>> _ = writer.add_schema({"n": {"type": "int32"}, "v": {"type": "float32", "shape": [2]}})
    >>> _ = writer.write_raw_data([{"n": n, "v": np.full(2, n, np.float32)} for n in range(5)])
    >>> _ = writer.commit()
    >>> with MindRecordReader("numbers.mindrecord") as reader:
    ...     block = reader.read([4, 0, 2])
    >>> block["n"].tolist(), block["v"].shape
    ([4, 0, 2], (3, 2))
    """

    def __init__(
        self,
        files: str | os.PathLike[str] | RemotePath | Sequence[str | os.PathLike[str] | RemotePath],
        *,
        check_index: bool = True,
        cipher: crypto.Cipher | None = None,
    ) -> None:
        self._files_argument = files if isinstance(files, (str, os.PathLike, RemotePath)) else list(files)
        self._cipher = crypto.current().copy() if cipher is None else cipher
        self._lock = threading.RLock()
        self._maps: OrderedDict[int, mmap.mmap] = OrderedDict()
        self._closed = False
        self._shards: list[ShardReader] = []
        try:
            self._shards = open_shards(self._files_argument, self._cipher)
            self._set_up()
            if check_index and self.is_local:
                self._rebuild_indexes()
        except BaseException:
            self.close()
            raise

    def _set_up(self) -> None:
        first = self._shards[0].header
        self.schema: RecordSchema = first.schema
        self.version, self.index_fields = first.version, list(first.index_fields)
        self.shard_sizes = [shard.rows for shard in self._shards]
        self._shard_ends = np.cumsum(self.shard_sizes)
        self._rows = int(self._shard_ends[-1])
        self._groups = [
            (number, group) for number, shard in enumerate(self._shards) for group in shard.groups
        ]
        bases = self._shard_ends - self.shard_sizes
        self._group_starts = np.array([bases[n] + g.start_row for n, g in self._groups], np.int64)
        self._raw = RowOffsets(self._rows, len(self._groups), blob=False)
        self._blob = RowOffsets(self._rows, len(self._groups), blob=True)

    # --- contents -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        names = ", ".join(f"{f.name}: {f.type}{list(f.shape) if f.shape else ''}" for f in self.schema.fields)
        return f"MindRecordReader({self._rows} rows in {len(self._shards)} file(s), {names})"

    @property
    def files(self) -> list[str]:
        return [str(shard.path) for shard in self._shards]

    @property
    def shards(self) -> list[ShardReader]:
        return self._shards

    @property
    def cipher(self) -> crypto.Cipher:
        return self._cipher

    @property
    def is_local(self) -> bool:
        return self._shards[0].is_local

    @property
    def total_bytes(self) -> int:
        """Size of the rows of all shards in bytes."""
        return sum(group.blob_end - group.blob + group.raw_end - group.raw for _, group in self._groups)

    @property
    def row_bytes(self) -> int:
        """Average size of a row in bytes, at least 1."""
        return max(1, self.total_bytes // max(1, self._rows))

    def locate(self, row: int) -> dict[str, Any]:
        """File, shard number, blob page and row in the file of a row of the set."""
        number = int(np.searchsorted(self._shard_ends, row, "right"))
        group = self._groups[int(np.searchsorted(self._group_starts, row, "right")) - 1][1]
        inside = row - int(self._shard_ends[number]) + self.shard_sizes[number]
        return {"file": self.files[number], "shard": number, "page": group.blob_page, "row_in_file": inside}

    def where(self, row: int) -> str:
        """The location of a row as text."""
        return "{file} (shard {shard}, page {page}, row {row_in_file} of the file)".format_map(
            self.locate(row)
        )

    def read(
        self,
        indices: Sequence[int] | Ints,
        columns: Sequence[str] | None = None,
        *,
        views: bool = False,
        stored: bool = False,
    ) -> dict[str, Any]:
        """Read rows by number, in the given order, as columns.

        Numbers and arrays of fixed shape are one array; text, bytes and arrays of variable shape are lists. With
        ``views``, bytes are read-only arrays on the file without a copy. With ``stored``, numbers keep the stored type
        (int64, float64) instead of the type in the schema.
        """
        wanted = self.schema.names if columns is None else list(columns)
        for name in wanted:
            if name not in self.schema.names:
                raise ArgumentValueError(f"no column '{name}'; the file has {', '.join(self.schema.names)}")
        rows = self._check_indices(indices)
        raw = [f.name for f in self.schema.raw if f.name in wanted]
        blob = [f.name for f in self.schema.blob if f.name in wanted]
        decoded: dict[str, Any] = {}
        try:
            if raw:
                with self._hold_rows(rows, self._raw):
                    decoded |= self._read_raw(rows, raw, stored)
            if blob:
                with self._hold_rows(rows, self._blob):
                    pieces = self._byte_slices(rows, self._blob)
                    packed, on_map = self.version >= "3.0", views and self.is_local
                    decoded |= blob_columns(pieces, self.schema.blob, blob, packed, on_map)
        except FormatError as error:
            number = error.context.pop("block_row", None)
            if number is not None:
                error.context |= {"row": int(rows[number]), **self.locate(int(rows[number]))}
            raise
        return {name: decoded[name] for name in wanted}

    def column(self, name: str) -> npt.NDArray[Any] | list[Any]:
        """One field of all rows as stored, for sampling by class."""
        parts = [
            self.read(np.arange(start, min(start + _COLUMN_ROWS, self._rows)), [name], stored=True)[name]
            for start in range(0, max(self._rows, 1), _COLUMN_ROWS)
        ]
        if isinstance(parts[0], np.ndarray):
            return np.concatenate(parts)
        return [value for part in parts for value in part]

    def row(self, index: int) -> dict[str, Any]:
        """One row with Python numbers as stored; integral floats stay floats."""
        return next(self.rows(index, index + 1))

    def rows(
        self, start: int = 0, stop: int | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Iterate over rows [start, stop), scalars before blobs."""
        chosen = self.schema.names if columns is None else list(columns)
        names = [f.name for f in (*self.schema.raw, *self.schema.blob) if f.name in chosen]
        stop = self._rows if stop is None else stop
        while start < stop:
            block = np.arange(start, min(stop, start + self._block_rows(start, stop)))
            decoded = self.read(block, names, stored=True)
            plain = [
                column if isinstance(column, list) else _to_python_values(column)
                for column in decoded.values()
            ]
            for values in zip(*plain):
                yield dict(zip(names, values))
            start = int(block[-1]) + 1

    def _block_rows(self, start: int, stop: int) -> int:
        """Number of rows in a block of at most a few megabytes."""
        block = np.arange(start, min(stop, start + 1024))
        if not self.schema.blob:
            return len(block)
        begins, ends = self._row_bounds(block, self._blob)
        return max(1, int(np.searchsorted(np.cumsum(ends - begins), 4 << 20)))

    # --- implementation -------------------------------------------------------------------------------------

    def _check_indices(self, indices: Sequence[int] | Ints) -> Ints:
        if self._closed:
            raise ArgumentValueError("the reader is closed")
        rows = np.asarray(indices)
        if rows.size == 0:
            return np.empty(0, np.int64)
        if rows.dtype.kind not in "iu" or rows.ndim != 1:
            raise ArgumentTypeError(f"indices must be a list of ints, got {rows.dtype} of shape {rows.shape}")
        rows = rows.astype(np.int64, copy=False)
        if int(rows.min()) < 0 or int(rows.max()) >= self._rows:
            raise ArgumentValueError(f"row numbers must lie in [0, {self._rows})")
        return rows

    def _read_raw(self, rows: Ints, names: list[str], stored: bool) -> dict[str, Any]:
        parts = self._byte_slices(rows, self._raw).copies()
        decoded = decode_columns(*join(parts), self.schema.raw, names)
        if stored:
            return decoded
        for field in self.schema.raw:
            if field.name not in decoded or field.type == "string":
                continue
            values = decoded[field.name]
            if field.type == "int32":
                narrow = values.astype(np.int32)
                if not bool((narrow == values).all()):
                    bad = int(np.flatnonzero(narrow != values)[0])
                    text = f"the value {int(values[bad])} is beyond int32"
                    raise FormatError(text, column=field.name, block_row=bad)
                decoded[field.name] = narrow
            elif field.type == "float32":
                with np.errstate(over="ignore", invalid="ignore"):
                    decoded[field.name] = values.astype(np.float32)
        return decoded

    @contextlib.contextmanager
    def _hold_rows(self, rows: Ints, offsets: RowOffsets) -> Iterator[None]:
        """Keep the bytes of these rows in the maps while the context is open; remote bytes are fetched."""
        if self.is_local or not len(rows):
            yield
            return
        starts, ends = self._row_bounds(rows, offsets)
        numbers = np.searchsorted(self._shard_ends, rows, "right")
        with contextlib.ExitStack() as stack:
            for number in np.unique(numbers).tolist():
                mine = numbers == number
                ranges = list(zip(starts[mine].tolist(), ends[mine].tolist()))
                stack.enter_context(self._shards[number].hold_ranges(ranges))
            yield

    def _byte_slices(self, rows: Ints, offsets: RowOffsets) -> ByteSlices:
        starts, ends = self._row_bounds(rows, offsets)
        groups = hinted = None
        if offsets.any_hinted:
            groups = np.searchsorted(self._group_starts, rows, "right") - 1
            hinted = offsets.hinted[groups]
            # read again: another thread may have replaced a wrong hint
            starts, ends = offsets.starts[rows], offsets.ends[rows]
        if len(self._shards) == 1:
            maps: Sequence[Any] = [self._map(0)] * len(rows) if len(rows) else []
        else:
            numbers = np.searchsorted(self._shard_ends, rows, "right").tolist()
            by_number = {number: self._map(number) for number in set(numbers)}
            maps = [by_number[number] for number in numbers]
        begins, stops = starts.tolist(), ends.tolist()
        if groups is not None and hinted is not None:
            wrong = offsets.wrong_hints(groups, hinted, maps, begins, stops)
            for number, row in wrong.items():
                try:
                    self._load_offsets(number, offsets, by_index=False)
                except FormatError:  # the index is correct, so the data file is damaged
                    raise FormatError("the length of the row is damaged", block_row=row) from None
            if wrong:
                return self._byte_slices(rows, offsets)
        return ByteSlices(maps, begins, stops)

    def _row_bounds(self, rows: Ints, offsets: RowOffsets) -> tuple[Ints, Ints]:
        if not offsets.complete:
            groups = np.unique(np.searchsorted(self._group_starts, rows, "right") - 1)
            for number in groups[~offsets.known[groups]].tolist():
                self._load_offsets(number, offsets)
        return offsets.starts[rows], offsets.ends[rows]

    def _load_offsets(self, number: int, offsets: RowOffsets, by_index: bool = True) -> None:
        with self._lock:
            if offsets.known[number] and by_index:
                return
            shard_number, group = self._groups[number]
            data, first = self._map(shard_number), int(self._group_starts[number])
            try:
                shard = self._shards[shard_number]
                offsets.load_group(number, shard_number, shard, group, data, first, by_index)
            except FormatError as error:
                inside = error.context.get("row", 0)
                error.context |= {"shard": shard_number, "row_in_file": group.start_row + inside}
                error.context["row"] = first + inside
                raise

    def will_need(self, start: int, stop: int) -> None:
        """Advise the kernel to read ahead the blobs of rows [start, stop) within one file."""
        if not self.schema.blob or stop <= start:
            return
        number = int(np.searchsorted(self._shard_ends, start, "right"))
        stop = min(stop, int(self._shard_ends[number]))
        begins, ends = self._row_bounds(np.array([start, stop - 1]), self._blob)
        first = int(begins[0]) // mmap.PAGESIZE * mmap.PAGESIZE
        data = self._map(number)
        if ends[1] > first:
            data.madvise(mmap.MADV_WILLNEED, first, int(ends[1]) - first)

    def _map(self, number: int) -> mmap.mmap:
        with self._lock:
            if self._closed:
                raise ArgumentValueError("the reader is closed")
            data = self._maps.get(number)
            if data is None:
                data = self._maps[number] = self._shards[number].map()
                if len(self._maps) > _MAX_MAPS:
                    self._maps.popitem(last=False)  # closed when its last view is released
            else:
                self._maps.move_to_end(number)
            return data

    def _rebuild_indexes(self) -> None:
        rebuilt, kept = [], []
        for shard in self._shards:
            problem = shard.index_problem(self._cipher)
            if problem is None:
                continue
            try:
                shard.rebuild_index(self._cipher)
                rebuilt.append(f"{shard.path}.db ({problem})")
            except OSError as error:
                kept.append(f"{shard.path}.db ({problem}; {error.strerror})")
        if rebuilt:
            text = "rebuilt from the data file: " + ", ".join(rebuilt)
            warn_once(f"mindrecord index {rebuilt}", text, stacklevel=5)
        if kept:
            text = "cannot be rebuilt here, and is not needed by Millrace: " + ", ".join(kept)
            warn_once(f"mindrecord index {kept}", text, stacklevel=5)

    # --- lifetime -------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the files; arrays that view them keep them mapped."""
        with self._lock:
            self._closed = True
            self._maps.clear()
            for offsets in (self._raw, self._blob) if self._shards else ():
                offsets.close()

    def __enter__(self) -> MindRecordReader:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return (_reopen, (self._files_argument, self._cipher.state()))


def _reopen(files: Any, cipher: Any) -> MindRecordReader:
    return MindRecordReader(files, check_index=False, cipher=crypto.Cipher.from_state(cipher))


def _to_python_values(column: npt.NDArray[Any]) -> list[Any]:
    return column.tolist() if column.ndim == 1 and column.dtype.itemsize == 8 else list(column)
