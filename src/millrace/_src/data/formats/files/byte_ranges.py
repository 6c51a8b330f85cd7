"""Rows as spans of bytes in files: where each begins and ends, and how many of them are read at once."""

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

# Opens a path and gives a descriptor; the reader closes it.
Opener = Callable[[str], int]

# Neighbours no further apart than this are read together with what lies between them.
MAX_GAP = 4096
# Many small runs are cut out of a map of the file: a read for each would cost more than the bytes.
SMALL_RUN, MANY_RUNS = 16 << 10, 8
MAX_OPEN = 128
NEWLINE = 10


@dataclass(frozen=True)
class ByteRanges:
    """Row i of a file is the bytes from ``starts[i]`` to ``stops[i]``; rows stand in the order of the file.

    >>> len(ByteRanges(np.array([0, 4]), np.array([3, 9])))
    2
    """

    starts: Ints
    stops: Ints

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True)
class RowBlock:
    """Some rows of one file: their bytes, where each lies in them, and their numbers in the file."""

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
        """The bytes of all rows with a newline between them: neighbouring lines lie so already.

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
        """What to raise when the row at this place of the block is bad."""
        return FormatError(f"{self.path}, {unit} {int(self.rows[row]) + 1}: {text}", file=self.path)


class FileHandles:
    """Open descriptors by path. A read names its place, so that threads share them.

    >>> with open("t.txt", "w") as file:
    ...     _ = file.write("hello")
    >>> handles = FileHandles()
    >>> handles.read("t.txt", 1, 4)
    b'ell'
    >>> handles.close()
    """

    def __init__(self, where: Callable[[str], str] = str) -> None:
        # a file behind an address lies elsewhere: errors name the address
        self._local_path_of = where
        self._open: dict[str, int] = {}
        self._maps: dict[str, mmap.mmap] = {}
        self._lock = threading.Lock()

    def read(self, path: str, start: int, stop: int, opener: Opener | None = None) -> bytes:
        """These bytes; a file that has become shorter is an error. ``opener`` opens what is not read as it is."""
        fd = self._descriptor(path, opener)
        if fd is not None:
            return _read(fd, path, start, stop)
        fd = _open(self._local_path_of(path), path)  # many files: this one is opened for this read only
        try:
            return _read(fd, path, start, stop)
        finally:
            os.close(fd)

    def _descriptor(self, path: str, opener: Opener | None) -> int | None:
        """The descriptor that is kept for a path; None when there are too many already."""
        fd = self._open.get(path)
        if fd is not None:
            return fd
        with self._lock:
            if path not in self._open and (opener is not None or len(self._open) < MAX_OPEN):
                local_path = self._local_path_of(path)
                self._open[path] = _open(local_path, path) if opener is None else opener(local_path)
            return self._open.get(path)

    def read_many(self, path: str, low: Ints, high: Ints, opener: Opener | None = None) -> list[bytes]:
        """The bytes of each of many small runs.

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
            raise FormatError(f"{path} ends at byte {size}: it was cut short while in use", file=path)
        mapping = self._maps.get(path)
        if mapping is None or len(mapping) < most:
            mapping = self._maps[path] = mmap.mmap(fd, size, prot=mmap.PROT_READ)
        # The first and the last byte of each, in the order of the file and without the GIL: others work while a disk is
        # slow. A run is so small that these two touch all its pages but a few.
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
    while len(data) < stop - start:  # large reads may come in parts
        chunk = os.pread(fd, stop - start - len(data), start + len(data))
        if not chunk:
            raise FormatError(
                f"{path} ends at byte {start + len(data)}: it was cut short while in use", file=path
            )
        data += chunk
    return data


def slice_fixed_width(raw: npt.NDArray[np.uint8], offsets: Ints, width: int) -> npt.NDArray[np.uint8]:
    """The ``width`` bytes at each of these places, one row for each; all must lie inside.

    >>> slice_fixed_width(np.arange(9, dtype=np.uint8), np.array([5, 0]), 3).tolist()
    [[5, 6, 7], [0, 1, 2]]
    """
    if not width or not len(offsets):
        return np.empty((len(offsets), width), np.uint8)
    # as items of so many bytes, each beginning one byte after the other, they are copied whole
    items: npt.NDArray[Any] = np.ndarray((len(raw) - width + 1,), f"V{width}", raw, 0, (1,))
    return items[offsets].view(np.uint8).reshape(len(offsets), width)


def read_ranges(
    handles: FileHandles, path: str, starts: Ints, stops: Ints, rows: Ints, opener: Opener | None = None
) -> RowBlock:
    """The rows with these numbers, which lie at these spans of a file, read in runs of neighbours."""
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
