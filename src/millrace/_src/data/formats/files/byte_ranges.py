"""Rows as byte ranges of files, and coalesced reads of many ranges."""

from __future__ import annotations

import functools
import mmap
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError

__all__ = ["RowBlock", "FileHandles", "Ints", "Opener", "ByteRanges", "slice_fixed_width", "read_ranges"]

Ints = npt.NDArray[np.int64]

# Opens a path and returns a file descriptor; the reader closes it.
Opener = Callable[[str], int]

# Ranges with a gap of at most this many bytes are read together.
MAX_GAP = 4096
# Many small ranges are copied from a memory map: one read call each would cost more than the bytes.
SMALL_RUN, MANY_RUNS = 16 << 10, 8
MAX_OPEN = 128
NEWLINE = 10


@dataclass(frozen=True)
class ByteRanges:
    """Byte ranges of the rows of a file, in file order: row i is ``[starts[i], stops[i])``.

    >>> len(ByteRanges(np.array([0, 4]), np.array([3, 9])))
    2
    """

    starts: Ints
    stops: Ints

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True)
class RowBlock:
    """Rows of one file: their bytes, the range of each row in these bytes, and the row numbers."""

    # None where the rows were read one by one
    whole: bytes | None
    starts: Ints
    stops: Ints
    path: str
    rows: Ints
    parts: list[bytes] | None = None

    def __len__(self) -> int:
        return len(self.starts)

    @functools.cached_property
    def data(self) -> bytes:
        return b"".join(self.parts or ()) if self.whole is None else self.whole

    def pieces(self) -> list[bytes]:
        """The bytes of each row."""
        if self.parts is not None:
            return self.parts
        data = self.data
        return [data[a:b] for a, b in zip(self.starts.tolist(), self.stops.tolist())]

    def joined(self) -> bytes:
        """The bytes of all rows joined by newlines. Neighbouring lines are a single slice.

        >>> rows = np.array([0, 1])
        >>> RowBlock(b"ab\\ncd", np.array([0, 3]), np.array([2, 5]), "t.txt", rows).joined()
        b'ab\\ncd'
        >>> RowBlock(b"ab\\n\\ncd", np.array([0, 4]), np.array([2, 6]), "t.txt", rows).joined()
        b'ab\\ncd'
        """
        starts, stops = self.starts, self.stops
        if self.parts is None and len(starts) and bool((starts[1:] - stops[:-1] == 1).all()):
            between = np.frombuffer(self.data, np.uint8)[stops[:-1]]
            if bool((between == NEWLINE).all()):
                return self.data[int(starts[0]) : int(stops[-1])]
        return b"\n".join(self.pieces())

    def error(self, row: int, text: str, unit: str = "row") -> FormatError:
        """The error for an invalid row of the block."""
        return FormatError(f"{self.path}, {unit} {int(self.rows[row]) + 1}: {text}", file=self.path)


class FileHandles:
    """Open file descriptors by path. Reads are positional, so threads share them.

    >>> with open("t.txt", "w") as file:
    ...     _ = file.write("hello")
    >>> handles = FileHandles()
    >>> handles.read("t.txt", 1, 4)
    b'ell'
    >>> handles.close()
    """

    def __init__(self, where: Callable[[str], str] = str) -> None:
        # a remote file has a local copy: errors name the address
        self._local_path_of = where
        self._open: dict[str, int] = {}
        self._maps: dict[str, mmap.mmap] = {}
        self._lock = threading.Lock()

    def read(self, path: str, start: int, stop: int, opener: Opener | None = None) -> bytes:
        """Read a byte range. A file that has become shorter is an error. ``opener`` opens files that need decoding."""
        fd = self._descriptor(path, opener)
        if fd is not None:
            return _read(fd, path, start, stop)
        fd = _open(self._local_path_of(path), path)  # too many open files: open this one for a single read
        try:
            return _read(fd, path, start, stop)
        finally:
            os.close(fd)

    def _descriptor(self, path: str, opener: Opener | None) -> int | None:
        """The cached descriptor of a path; None if too many files are open."""
        fd = self._open.get(path)
        if fd is not None:
            return fd
        with self._lock:
            if path not in self._open and (opener is not None or len(self._open) < MAX_OPEN):
                local_path = self._local_path_of(path)
                self._open[path] = _open(local_path, path) if opener is None else opener(local_path)
            return self._open.get(path)

    def read_many(self, path: str, low: Ints, high: Ints, opener: Opener | None = None) -> list[bytes]:
        """Read many small byte ranges.

        >>> with open("t.txt", "w") as file:
        ...     _ = file.write("hello")
        >>> handles = FileHandles()
        >>> handles.read_many("t.txt", np.array([3, 0]), np.array([5, 1]))
        [b'lo', b'h']
        >>> handles.close()
        """
        fd = self._descriptor(path, opener)
        if fd is None or len(low) < MANY_RUNS or int((high - low).max()) > SMALL_RUN:
            return [self.read(path, a, b, opener) for a, b in zip(low.tolist(), high.tolist())]
        size, most = os.fstat(fd).st_size, int(high.max())
        if most > size:
            raise FormatError(f"{path} ends at byte {size}: it was truncated while in use", file=path)
        mapping = self._maps.get(path)
        if mapping is None or len(mapping) < most:
            mapping = self._maps[path] = mmap.mmap(fd, size, prot=mmap.PROT_READ)
        # Touch the first and last byte of each range in file order, without the GIL: other threads run while the disk
        # is slow. A range is so small that this faults in nearly all of its pages.
        raw = np.frombuffer(mapping, np.uint8)
        raw.take(np.sort(low[low < size]))
        raw.take(np.maximum(high - 1, 0))
        return [mapping[a:b] for a, b in zip(low.tolist(), high.tolist())]

    def close(self) -> None:
        with self._lock:
            self._maps.clear()
            for fd in self._open.values():
                os.close(fd)
            self._open.clear()


def _open(local_path: str, path: str) -> int:
    try:
        return os.open(local_path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise FormatError(f"{path} cannot be opened: {error.strerror}", file=path) from error


def _read(fd: int, path: str, start: int, stop: int) -> bytes:
    data = os.pread(fd, stop - start, start)
    while len(data) < stop - start:  # large reads may return in parts
        chunk = os.pread(fd, stop - start - len(data), start + len(data))
        if not chunk:
            raise FormatError(
                f"{path} ends at byte {start + len(data)}: it was truncated while in use", file=path
            )
        data += chunk
    return data


def slice_fixed_width(raw: npt.NDArray[np.uint8], offsets: Ints, width: int) -> npt.NDArray[np.uint8]:
    """The ``width`` bytes at each offset, one row each; all must lie inside the buffer.

    >>> slice_fixed_width(np.arange(9, dtype=np.uint8), np.array([5, 0]), 3).tolist()
    [[5, 6, 7], [0, 1, 2]]
    """
    if not width or not len(offsets):
        return np.empty((len(offsets), width), np.uint8)
    # overlapping items of this width, one per byte: indexing copies whole items
    items: npt.NDArray[Any] = np.ndarray((len(raw) - width + 1,), f"V{width}", raw, 0, (1,))
    return items[offsets].view(np.uint8).reshape(len(offsets), width)


def read_ranges(
    handles: FileHandles, path: str, starts: Ints, stops: Ints, rows: Ints, opener: Opener | None = None
) -> RowBlock:
    """Read rows at these byte ranges of a file; neighbouring ranges are coalesced."""
    if not len(starts):
        return RowBlock(b"", starts, stops, path, rows)
    gaps = starts[1:] - stops[:-1]
    ends = np.flatnonzero((gaps < 0) | (gaps > MAX_GAP))
    if not len(ends):
        first = int(starts[0])
        data = handles.read(path, first, int(stops[-1]), opener)
        return RowBlock(data, starts - first, stops - first, path, rows)
    firsts = np.concatenate(([0], ends + 1))
    lasts = np.append(ends, len(starts) - 1)
    low, high = starts[firsts], stops[lasts]
    sizes = high - low
    shifts = np.cumsum(sizes) - sizes - low
    offsets = starts + np.repeat(shifts, lasts - firsts + 1)
    runs = handles.read_many(path, low, high, opener)
    alone = len(runs) == len(starts)
    whole, parts = (None, runs) if alone else (b"".join(runs), None)
    return RowBlock(whole, offsets, offsets + (stops - starts), path, rows, parts)
