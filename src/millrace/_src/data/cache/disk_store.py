"""Persistent row store in a directory: append-only checksummed files with LRU eviction of keys.

It outlives the process: the next run, or a concurrent one, finds the rows. ``<folder>/<key>/`` holds the files of one
row store. Each writer has separate files and only appends to them; no process changes the files of another. Rows are
located by reading the headers of the row groups, and a row group is used only after its checksum was verified: a file
that is truncated or damaged loses the affected rows and no others. When the folder is full, the keys that were not used
for the longest time are removed, unless a process has them open.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import stat
import threading
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from millrace._src.core.errors import CacheError, FormatError, ResourceError
from millrace._src.core.machine import shared_memory as memory
from millrace._src.core.machine.shared_memory import ByteArray

from . import memory_blocks as slabs
from .memory_blocks import START, BlockWriter
from .row_group import head_at, numbers_at, tag_of
from .row_store import RowStore
from .slot_table import MAX_BLOCK_SIZE, MAX_BLOCKS, SlotTable, create_table, pack_slot

__all__ = ["DiskRowStore", "check_folder", "folder_bytes", "open_disk_store"]

SUFFIX = ".blocks"
TOTAL = "total"
LOCK = "lock"
# Maximum size of a file; then the next one is started.
MAX_FILE_BYTES = 1 << 32
DISK_RESERVE = 1 << 28


def check_folder(path: str) -> Path:
    """Create the folder if needed, and check that no other user may write to it, since rows are read from it."""
    folder = Path(path).expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        if error.errno in slabs.NO_SPACE_ERRNOS:
            raise ResourceError(f"{folder} cannot be created: {error.strerror}") from error
        raise CacheError(f"the cache folder {folder} cannot be created: {error.strerror}") from error
    if status.st_uid != os.getuid() or status.st_mode & stat.S_IWOTH:
        raise CacheError(
            f"{folder} belongs to another user, or all users may write to it: rows are read from it without checks. "
            f"Use a folder that you own, or run chmod o-w {folder}"
        )
    return folder


def folder_bytes(folder: Path, keys: Iterable[str] = ("*",)) -> int:
    """Size of the rows in a cache folder in bytes: of these keys, or of all."""
    total = 0
    for path in (file for key in keys for file in folder.glob(f"{key}/*{SUFFIX}")):
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


class DiskRowStore(RowStore):
    """The row store of one key in a folder."""

    def __init__(self, folder: Path, key: str, rows: int, limit: int | None) -> None:
        super().__init__(key, SlotTable(create_table(rows)))
        self.folder, self.limit = folder / key, limit
        # held while the store is open, so that no process removes the folder
        self._lock = _lock_folder(self.folder)
        # lock of all writers of a folder with limited size, held during a write
        self._write_lock: int | None = None
        # per file: path, mapped bytes, end of the known row groups, and number of rows
        self._files: list[Path] = []
        self._maps: list[ByteArray] = []
        self._known: list[int] = []
        self._rows_in: list[int] = []
        self._current: tuple[int, BlockWriter] | None = None
        self.refresh()

    @property
    def rows(self) -> int:
        """Number of complete rows in all files."""
        return sum(self._rows_in) + (0 if self._current is None else self._current[1].rows)

    def refresh(self) -> None:
        """Read what other writers have added."""
        with self._writing:
            self._scan_folder()

    def _scan_folder(self) -> None:
        for path in sorted(self.folder.glob(f"*{SUFFIX}")):
            if path not in self._files:
                self._add_file(path)
        for number in range(len(self._files)):
            if self._current is None or self._current[0] != number:
                self._scan_file(number)
        with contextlib.suppress(OSError, ValueError):
            self.table.total = int((self.folder / TOTAL).read_text(encoding="ascii"))

    def _add_file(self, path: Path) -> int:
        self._files.append(path)
        self._maps.append(np.empty(0, np.uint8))
        self._known.append(START)
        self._rows_in.append(0)
        return len(self._files) - 1

    def _map(self, number: int, size: int) -> ByteArray:
        """The bytes of a file, mapped again after it has grown."""
        mapped = self._maps[number]
        if mapped.size < size:
            with open(self._files[number], "rb") as file:
                there = memory.read_size(file.fileno())
                if there < size:
                    raise FormatError(f"{self._files[number]} ends at byte {there}, before {size}")
                # another thread may store a shorter view here at the same time: return this one
                self._maps[number] = mapped = slabs.view(file.fileno(), there)
        return mapped

    def _scan_file(self, number: int) -> None:
        path, at = self._files[number], self._known[number]
        try:
            size = path.stat().st_size
            if size <= at:
                return
            data, tag = self._map(number, size), tag_of(self.key)
            while at < size:
                head = head_at(data[:size], at)
                numbers = numbers_at(data, at, head)
                if head.tag != tag:
                    break
                inside = numbers < self.table.capacity
                rows = np.flatnonzero(inside).astype(np.uint64)
                self.table.put(numbers[inside], pack_slot(number, at, rows))
                self._rows_in[number] += head.rows
                at += head.length
        except (FormatError, OSError):
            pass  # the end of a file that is being written, or whose writer died
        self._known[number] = at

    def _map_block(self, number: int) -> ByteArray:
        if self._current is not None and number == self._current[0]:
            return self._map(number, self._current[1].used)
        if number >= len(self._maps):
            raise FormatError(f"there is no file {number}")
        return self._maps[number]

    def _writer(self, need: int) -> tuple[int, BlockWriter] | None:
        if (
            self.limit is not None
        ):  # held until the row group is written: otherwise two writers could both find enough space
            self._write_lock = os.open(
                self.folder.parent / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
            fcntl.flock(self._write_lock, fcntl.LOCK_EX)
        current = self._current
        if current is None or current[1].used + need > min(MAX_FILE_BYTES, MAX_BLOCK_SIZE):
            if current is not None:
                self._known[current[0]] = current[1].used
                self._rows_in[current[0]] = current[1].rows
                current[1].close()
            self._current = current = self._create_file()
        if not self._check_space(need):
            return None
        return current

    def _finish_write(self) -> None:
        write_lock, self._write_lock = self._write_lock, None
        if write_lock is not None:
            os.close(write_lock)

    def _create_file(self) -> tuple[int, BlockWriter] | None:
        if len(self._files) >= MAX_BLOCKS:
            self.refused = f"{self.folder} holds {len(self._files)} files already"
            return None
        path = self.folder / f"{os.getpid()}-{secrets.token_hex(6)}{SUFFIX}"
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            self.refused = f"no file can be created in {self.folder} ({error.strerror})"
            return None
        return self._add_file(path), BlockWriter(fd, MAX_FILE_BYTES, checked=True)

    def _check_space(self, need: int) -> bool:
        if self._current is None:
            return False
        free = shutil.disk_usage(self.folder).free
        if free - need < DISK_RESERVE:
            self.refused = f"the disk of {self.folder.parent} has only {free} bytes left"
            return False
        if self.limit is None:
            return True
        used = folder_bytes(self.folder.parent)
        while used + need > self.limit and self._drop_oldest():
            used = folder_bytes(self.folder.parent)
        if used + need > self.limit:
            self.refused = f"its {self.limit >> 20} MB in {self.folder.parent} are used"
            return False
        return True

    def _drop_oldest(self) -> bool:
        """Remove the least recently used key, unless a process has it open."""
        candidates = []
        for path in self.folder.parent.iterdir():
            with contextlib.suppress(OSError):
                if path != self.folder and any(path.glob(f"*{SUFFIX}")):
                    candidates.append(((path / LOCK).stat().st_mtime, path))
        return any(_remove(path) for _, path in sorted(candidates))

    def _out_of_space(self, writer: BlockWriter) -> None:
        with contextlib.suppress(OSError):
            os.ftruncate(writer.fd, writer.used)
        self.refused = f"the disk of {self.folder.parent} is full"

    def finish(self) -> None:
        """Store the length of the sequence for the next run."""
        total = self.table.total
        if total is not None:
            temporary = self.folder / f"{TOTAL}-{secrets.token_hex(4)}"
            try:
                temporary.write_text(str(total), encoding="ascii")
                temporary.replace(self.folder / TOTAL)
            except OSError:  # the next run determines the length again
                temporary.unlink(missing_ok=True)

    def close(self) -> None:
        with _opening:
            entry = _open_stores.get((str(self.folder), os.getpid()))
            if entry is not None and entry[0] is self:
                if entry[1] > 1:
                    _open_stores[str(self.folder), os.getpid()] = (self, entry[1] - 1)
                    return
                del _open_stores[str(self.folder), os.getpid()]
        super().close()
        with self._writing:
            if self._current is not None:
                self._current[1].close()
                self._current = None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _lock_folder(folder: Path) -> int:
    """Create the folder of a key if needed, and return a descriptor whose lock keeps it from being removed."""
    try:
        while True:
            folder.mkdir(mode=0o700, exist_ok=True)
            try:
                lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            except FileNotFoundError:
                continue  # another process has just removed it
            fcntl.flock(lock, fcntl.LOCK_SH)
            with contextlib.suppress(FileNotFoundError):
                if os.stat(folder / LOCK).st_ino == os.fstat(lock).st_ino:
                    os.utime(lock)
                    return lock
            os.close(lock)
    except OSError as error:
        if error.errno in slabs.NO_SPACE_ERRNOS:
            raise ResourceError(f"{folder} cannot be created: {error.strerror}") from error
        raise CacheError(f"the cache folder {folder.parent} cannot be used: {error.strerror}") from error


def _remove(path: Path) -> bool:
    """Remove the folder of a key; False if a process uses it."""
    try:
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


# Two runs of one process share an open store: otherwise one would not see what the other writes.
_open_stores: dict[tuple[str, int], tuple[DiskRowStore, int]] = {}
_opening = threading.Lock()


def _after_fork() -> None:
    """Create a new lock, because another thread of the parent may hold the old one; stores are keyed by process."""
    global _opening
    _opening = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


def open_disk_store(folder: Path, key: str, rows: int, limit: int | None) -> DiskRowStore:
    name = str(folder / key), os.getpid()
    with _opening:
        store, users = _open_stores.get(name, (None, 0))
        if store is None:
            store = DiskRowStore(folder, key, rows, limit)
        else:
            store.refresh()
        _open_stores[name] = store, users + 1
        return store
