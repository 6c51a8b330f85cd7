"""Column readers: in-memory values, lazily loaded arrays, files, computed rows and memory-mapped records."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import DataError, FormatError
from millrace._src.core.io.remote import is_remote, read_bytes
from millrace._src.core.random.permutation import Indices
from millrace._src.core.row_warnings import set_row_context
from millrace._src.core.values.chunk import Column

__all__ = [
    "ComputedColumn",
    "FileBytesColumn",
    "LazyArrayColumn",
    "ColumnReader",
    "InMemoryColumn",
    "map_file",
    "map_gray_bmp",
    "read_file",
]


class ColumnReader(Protocol):
    """One column of a table of rows."""

    def read(self, indices: Indices) -> Column:
        """The values of these rows; the caller owns them."""
        raise NotImplementedError

    def where(self, index: int) -> str | None:
        """The file of a row's value."""
        return None


class InMemoryColumn(ColumnReader):
    """Values that are held in memory: an array whose first axis is the row, or a list with a value per row.

    They are returned as ``dtype`` where memory holds a smaller type.

    >>> InMemoryColumn(np.array([5, 6, 7])).read(np.array([2, 0])).tolist()
    [7, 5]
    """

    def __init__(self, values: Column, dtype: npt.DTypeLike | None = None) -> None:
        self.values, self.dtype = values, dtype

    def read(self, indices: Indices) -> Column:
        if isinstance(self.values, np.ndarray):
            if self.values.dtype.kind == "U":  # each row has the width of its own text
                return [np.array(text) for text in self.values[indices].tolist()]
            rows = np.take(self.values, indices, axis=0)
            return rows if self.dtype is None else rows.astype(self.dtype)
        return [np.array(self.values[i]) for i in indices.tolist()]

    def all(self) -> Any:
        return self.values


class LazyArrayColumn(ColumnReader):
    """Rows of arrays, one array per file, loaded at the first read in each process.

    Only the loaders are pickled. ``view`` converts a block of rows to the values of the column.

    >>> from functools import partial
    >>> column = LazyArrayColumn(
    ...     [partial(np.arange, 3), partial(np.arange, 2)], ["a", "b"], [3, 5], np.negative
    ... )
    >>> column.read(np.array([4, 1])).tolist(), column.where(4)
    ([-1, -1], 'b')
    """

    def __init__(
        self,
        loads: Sequence[Callable[[], npt.NDArray[Any]]],
        files: Sequence[str],
        ends: Sequence[int],
        view: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] | None = None,
    ) -> None:
        self.loads, self.files, self.ends, self.view = (
            list(loads),
            list(files),
            np.array(ends, np.int64),
            view,
        )
        self._arrays: list[npt.NDArray[Any]] | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"loads": self.loads, "files": self.files, "ends": self.ends, "view": self.view}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def read(self, indices: Indices) -> Column:
        with self._lock:
            if self._arrays is None:
                self._arrays = [self._load_file(number) for number in range(len(self.loads))]
        arrays = self._arrays
        file_indices = np.searchsorted(self.ends, indices, side="right")
        row_indices = indices - np.concatenate([[0], self.ends[:-1]])[file_indices]
        first = int(file_indices[0])
        if (file_indices == first).all():
            rows = arrays[first][row_indices]
        else:
            rows = np.empty((len(indices), *arrays[first].shape[1:]), arrays[first].dtype)
            for number in np.unique(file_indices):
                rows[file_indices == number] = arrays[number][row_indices[file_indices == number]]
        return np.ascontiguousarray(rows if self.view is None else self.view(rows))

    def _load_file(self, number: int) -> npt.NDArray[Any]:
        array, expected = self.loads[number](), int(np.diff(self.ends, prepend=0)[number])
        if len(array) != expected:
            raise FormatError(
                f"Invalid data, {len(array)} rows, but {expected} labels", file=self.files[number]
            )
        return array

    def all(self) -> Column:
        return self.read(np.arange(self.ends[-1]))

    def where(self, index: int) -> str | None:
        return self.files[int(np.searchsorted(self.ends, index, side="right"))]


def read_file(path: str) -> npt.NDArray[np.uint8]:
    """Read the bytes of a local or remote file.

    ``np.fromfile`` does the same through a C stream and takes twice as long.

    >>> with open("four.bin", "wb") as file:
    ...     _ = file.write(bytes(range(4)))
    >>> read_file("four.bin").tolist()
    [0, 1, 2, 3]
    """
    if is_remote(path):
        return np.frombuffer(read_bytes(path), np.uint8)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(fd).st_size
        data = np.empty(size, np.uint8)
        buffer: Any = data  # numpy's stubs do not know the buffer protocol
        filled = 0
        while filled < size:
            count = os.readv(fd, [memoryview(buffer)[filled:]])
            if not count:  # cut short while it was read
                return data[:filled].copy()
            filled += count
        return data
    finally:
        os.close(fd)


class FileBytesColumn(ColumnReader):
    """The bytes of one file per row as uint8, or the result of ``decode`` on them.

    ``listed`` names the list file that the paths come from; errors about missing files mention it.
    """

    def __init__(
        self,
        files: Sequence[str] | Any,
        decode: Callable[[Any], Any] | None = None,
        fetch: Callable[[str], Any] | None = None,
        listed: str | None = None,
    ) -> None:
        self.files, self.decode, self.fetch, self.listed = files, decode, fetch, listed

    def __len__(self) -> int:
        return len(self.files)

    def read(self, indices: Indices) -> Column:
        return [self.one(i) for i in indices.tolist()]

    def one(self, index: int) -> Any:
        path = self.files[index]
        try:
            if self.fetch is not None:
                data = np.frombuffer(self.fetch(path), np.uint8).copy()
            else:
                data = read_file(path)
            return data if self.decode is None else self._decoded(data, path)
        except OSError as error:
            reason = f"{error.strerror}; {self.listed} names it" if self.listed else error.strerror
            failed = FormatError(f"Invalid file, failed to open: {path} ({reason})", file=path)
        except DataError as error:
            failed = FormatError(error.message, file=path)
        failed.row_index = index  # type: ignore[attr-defined]
        raise failed

    def encoded(self) -> FileBytesColumn:
        """The same files, not decoded."""
        return FileBytesColumn(self.files, None, self.fetch, self.listed)

    def _decoded(self, data: Any, path: str) -> Any:
        assert self.decode is not None
        before = set_row_context(lambda: path)
        try:
            return self.decode(data)
        finally:
            set_row_context(before)

    def where(self, index: int) -> str | None:
        return str(self.files[index])


class ComputedColumn(ColumnReader):
    """Values computed by a function of the row index; errors carry the row index."""

    def __init__(self, make: Callable[[int], Any], files: Any = None) -> None:
        self.make, self.files = make, files

    def read(self, indices: Indices) -> Column:
        values = []
        for index in indices.tolist():
            try:
                values.append(self.make(index))
            except Exception as error:
                error.row_index = index  # type: ignore[attr-defined]
                raise
        return values

    def where(self, index: int) -> str | None:
        return None if self.files is None else str(self.files[index])


def map_file(path: str, shape: tuple[int, ...], skip: int = 0, cut: bool = False) -> npt.NDArray[np.uint8]:
    """Memory-map fixed-size byte records of a file; ``shape`` is the shape of one record.

    >>> with open("records.bin", "wb") as file:
    ...     _ = file.write(bytes(range(7)))
    >>> map_file("records.bin", (3,), skip=1).tolist()
    [[1, 2, 3], [4, 5, 6]]
    """
    record_size = int(np.prod(shape))
    try:
        size = os.path.getsize(path) - skip
    except OSError as error:
        raise FormatError(f"Invalid file, failed to open: {path} ({error.strerror})", file=path) from error
    if size < 0 or (size % record_size and not cut):
        raise FormatError(
            f"{max(size, 0)} bytes are not a multiple of the record size {record_size}: truncated?", file=path
        )
    if size // record_size == 0:
        return np.zeros((0, *shape), np.uint8)
    return np.memmap(path, np.uint8, "r", skip, (size // record_size, *shape))


def map_gray_bmp(path: str) -> npt.NDArray[np.uint8]:
    """Grayscale pixels of an uncompressed BMP of 8 or 24 bits; 8-bit pixels are memory-mapped."""
    try:
        with open(path, "rb") as file:
            head = file.read(54)
        if head[:2] != b"BM" or len(head) < 54:
            raise FormatError("Invalid file, this is not a BMP file", file=path)
        start, width, height = (
            int.from_bytes(head[offset : offset + 4], "little", signed=True) for offset in (10, 18, 22)
        )
        bits, packed = int.from_bytes(head[28:30], "little"), int.from_bytes(head[30:34], "little")
        if bits not in (8, 24) or packed or width <= 0 or not 0 < abs(height) < 1 << 20 or width > 1 << 20:
            raise FormatError(f"a BMP file of {bits} bits, {width} x {height}, cannot be read", file=path)
        step = (width * bits // 8 + 3) // 4 * 4
        rows = np.memmap(path, np.uint8, "r", start, (abs(height), step))[:, : width * bits // 8]
    except (OSError, ValueError) as error:
        raise FormatError(f"Invalid file, failed to read: {path} ({error})", file=path) from error
    rows = rows[::-1] if height > 0 else rows
    if bits == 8:
        return rows
    blue, green, red = np.moveaxis(rows.reshape(abs(height), width, 3), -1, 0)
    # a fixed order of the sum: rounding of halves must not depend on the processor
    total, part = blue * 0.114, green * 0.587
    total += part
    total += np.multiply(red, 0.299, out=part)
    return np.rint(total, out=total).astype(np.uint8)
