"""Remote MindRecord files through fsspec: range reads into a local block cache, and uploads.

Fetched blocks are stored in an unnamed sparse file on the local disk. It is memory-mapped, so the reader handles it
like a local file. The least recently used blocks are evicted when the cache is full.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import tempfile
import threading
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError, FormatError
from millrace._src.core.io.etag import is_checksum
from millrace._src.core.io.remote import (
    MAX_BYTES_PER_REQUEST,
    RETRIES,
    ChecksumValidator,
    RemotePath,
    download,
    file_system,
    read_range,
    remote_exists,
    upload_verified,
)
from millrace._src.core.io.temporary_directory import LockedTemporaryDirectory

__all__ = ["RemoteFile", "RemoteSet"]

BLOCK = 1 << 20
# A file up to this size is fetched completely and verified if its store has a checksum.
WHOLE = 32 << 20
CACHE_BYTES = int(os.environ.get("MILLRACE_REMOTE_CACHE_BYTES", 16 << 30))  # per open file


class RemoteFile:
    """One remote file of known size as a memory map that is filled on demand.

    >>> fs, _ = file_system("memory://doc/x")
    >>> fs.pipe("/doc/x", b"0123456789")
    >>> file = RemoteFile("memory://doc/x")
    >>> with file.hold_ranges([(2, 5)]):
    ...     file.map[2:5]
    b'234'
    """

    def __init__(self, address: str | RemotePath, block: int = BLOCK, most: int | None = None) -> None:
        self.address, self.block = str(address), block
        self.fs, self.path = file_system(address)
        info = RETRIES("opening the file", self.address, lambda: self.fs.info(self.path))
        if info.get("type") == "directory" or info.get("size") is None:
            raise FormatError("this is a folder, not a MindRecord file", file=self.address)
        self.size, self.tag = int(info["size"]), info.get("e_tag")
        self._blocks = -(-self.size // block)
        self._limit = max(8, (CACHE_BYTES if most is None else most) // block)
        self._state = np.zeros(self._blocks, np.uint8)  # 0 missing, 1 being fetched, 2 present
        self._used = np.zeros(self._blocks, np.int64)
        self._tick, self._active = 0, list[int]()
        self._lock = threading.Condition()
        with tempfile.TemporaryFile(prefix="millrace-cache-") as file:
            os.ftruncate(file.fileno(), self.size)
            self._fd = os.dup(file.fileno())
        self._close = weakref.finalize(self, os.close, self._fd)
        self.map = mmap.mmap(self._fd, self.size, prot=mmap.PROT_READ) if self.size else b""
        small = 0 < self._blocks <= min(self._limit, WHOLE // block)
        self._unchecked = small and is_checksum(self.tag)
        self._whole_file_lock = threading.Lock()

    @contextlib.contextmanager
    def hold_ranges(self, ranges: list[tuple[int, int]]) -> Iterator[None]:
        """Keep these byte ranges in the map while the context is open."""
        wanted = self._block_numbers(ranges)
        if self._unchecked:
            with self._whole_file_lock:
                if self._unchecked:
                    self._download_all()
        with self._lock:
            self._tick += 1
            tick = self._tick
            self._active.append(tick)
            self._used[wanted] = tick
        try:
            self._fetch(wanted)
            yield
        finally:
            with self._lock:
                self._active.remove(tick)
                self._evict()

    def _block_numbers(self, ranges: list[tuple[int, int]]) -> np.ndarray[Any, Any]:
        marks = {
            number
            for start, end in ranges
            if end > start
            for number in range(start // self.block, (end - 1) // self.block + 1)
        }
        return np.array(sorted(marks), np.int64)

    def _fetch(self, wanted: np.ndarray[Any, Any]) -> None:
        while True:
            with self._lock:
                states = self._state[wanted]
                mine = wanted[states == 0]
                if not len(mine):
                    if not (states == 1).any():
                        return
                    self._lock.wait(1.0)  # another thread is fetching them
                    continue
                self._state[mine] = 1
            done = 0
            try:
                for first, last in _runs(mine, MAX_BYTES_PER_REQUEST // self.block):
                    self._download_blocks(first, last)
                    done += last - first
            finally:
                with self._lock:
                    self._state[mine[:done]] = 2
                    self._state[mine[done:]] = 0
                    self._lock.notify_all()

    def _download_all(self) -> None:
        checked = ChecksumValidator(self.fs, self.path)

        def whole() -> None:
            for first, last in _runs(np.arange(self._blocks), MAX_BYTES_PER_REQUEST // self.block):
                self._download_blocks(first, last)
            checked(self.tag, self.map)

        RETRIES("reading", self.address, whole)
        with self._lock:
            self._state[:] = 2
        self._unchecked = False

    def _download_blocks(self, first: int, last: int) -> None:
        start, end = first * self.block, min(last * self.block, self.size)
        view = memoryview(read_range(self.fs, self.path, self.address, start, end, self.tag))
        while view:
            try:
                count = os.pwrite(self._fd, view, start)
            except OSError as error:
                text = f"the local cache cannot be written: {error.strerror} (TMPDIR sets its folder)"
                raise DataError(text, file=self.address) from error
            view, start = view[count:], start + count

    def _evict(self) -> None:
        here = np.flatnonzero(self._state == 2)
        over = len(here) - self._limit
        if over <= 0:
            return
        oldest = here[np.argsort(self._used[here], kind="stable")[:over]]
        oldest = oldest[self._used[oldest] < min(self._active, default=self._tick + 1)]
        for number in oldest.tolist():
            if _punch_hole(self._fd, number * self.block, self.block):
                self._state[number] = 0


def _runs(numbers: np.ndarray[Any, Any], most: int) -> Iterator[tuple[int, int]]:
    """Runs of consecutive numbers as [first, last) with at most ``most`` numbers.

    >>> list(_runs(np.array([1, 2, 3, 7]), 2))
    [(1, 3), (3, 4), (7, 8)]
    """
    first = last = int(numbers[0])
    for number in numbers.tolist():
        if number != last or number - first >= most:
            yield first, last
            first = number
        last = number + 1
    yield first, last


def _punch_hole(fd: int, start: int, size: int) -> bool:
    """Punch a hole into a file to free its disk space; False if the system does not support it."""
    try:
        call = ctypes.CDLL(None, use_errno=True).fallocate
    except (OSError, AttributeError):
        return False
    call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    return call(fd, 3, start, size) == 0  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE


class RemoteSet:
    """Remote set of a writer: files are written to a local folder and then uploaded.

    The first file is uploaded last, and deleted first when a set is replaced: a reader finds the old set, no set, or
    the new one.
    """

    def __init__(self, address: str) -> None:
        self.parent = RemotePath(address).parent
        self.scratch = LockedTemporaryDirectory("upload")
        self.folder = self.scratch.path
        self.fs, self._root = file_system(str(self.parent))
        self.remove = self.scratch.close

    def address(self, name: str) -> str:
        return str(self.parent / name)

    def _target(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def existing(self, names: list[str]) -> str | None:
        """The first of these files that exists."""
        return next((self.address(name) for name in names if remote_exists(self.address(name))), None)

    def get(self, names: list[str]) -> None:
        """Download files into the local folder."""
        for name in names:
            download(self.address(name), self.folder / name)

    def fetch(self, name: str) -> Path:
        """Download a data file with its index and checksums, if present; return the local path."""
        companions = [f"{name}.db", f"{name}.crc"]
        self.get([name, *(file for file in companions if remote_exists(self.address(file)))])
        return self.folder / name

    def put(self, names: list[str]) -> None:
        """Upload the data files of these names with their indexes."""
        RETRIES("making the folder", str(self.parent), lambda: self.fs.makedirs(self._root, exist_ok=True))
        if remote_exists(self.address(names[0])):
            RETRIES("replacing", self.address(names[0]), lambda: self.fs.rm_file(self._target(names[0])))
        for name in [*names[1:], names[0]]:
            sums = f"{name}.crc"
            if not (self.folder / sums).exists() and remote_exists(self.address(sums)):
                RETRIES("replacing", self.address(sums), partial(self.fs.rm_file, self._target(sums)))
            for file in (f"{name}.db", *([sums] if (self.folder / sums).exists() else []), name):
                RETRIES("uploading", self.address(file), partial(self._put, file))

    def _put(self, name: str) -> None:
        upload_verified(self.fs, self.folder / name, self._target(name), self.address(name))
