"""A cache in a folder on disk: it outlives the process, and the next run, or another one beside it, finds the rows.

``<folder>/<key>/`` holds the files of one shelf. Each writer has files of its own and only ever appends; nobody changes
what another wrote. A row's place is found by walking the heads of the blocks, and a block is used only after its
checksum was compared: a file that ends in the middle of a block, or was damaged, loses those rows and no others. Keys
that were not used for longest are removed when the folder is full, unless somebody has them open.
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
# A file grows to this size, then the next one is begun.
MAX_FILE_BYTES = 1 << 32
DISK_RESERVE = 1 << 28


def check_folder(path: str) -> Path:
    """The folder, made if need be; one that others may write to is refused, since rows are taken from it."""
    folder = Path(path).expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        if error.errno in slabs.NO_SPACE_ERRNOS:
            raise ResourceError(f"{folder} cannot be made: {error.strerror}") from error
        raise CacheError(f"the cache folder {folder} cannot be made: {error.strerror}") from error
    if status.st_uid != os.getuid() or status.st_mode & stat.S_IWOTH:
        raise CacheError(
            f"{folder} belongs to another user, or all may write to it: rows are read from it as they are. Name a "
            f"folder of your own, or chmod o-w {folder}"
        )
    return folder


def folder_bytes(folder: Path, keys: Iterable[str] = ("*",)) -> int:
    """Bytes of the rows in a cache folder: of these keys, or of all."""
    total = 0
    for path in (file for key in keys for file in folder.glob(f"{key}/*{SUFFIX}")):
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


class DiskRowStore(RowStore):
    """The rows under one key of a folder."""

    def __init__(self, folder: Path, key: str, rows: int, limit: int | None) -> None:
        super().__init__(key, SlotTable(create_table(rows)))
        self.folder, self.limit = folder / key, limit
        # held while the shelf is open: nobody removes it under us
        self._lock = _lock_folder(self.folder)
        # taken in turn by all who write to a folder whose size is limited
        self._write_lock: int | None = None
        # per slab: its file, the bytes mapped, and how far its blocks are known
        self._files: list[Path] = []
        self._maps: list[ByteArray] = []
        self._known: list[int] = []
        self._rows_in: list[int] = []
        self._current: tuple[int, BlockWriter] | None = None
        self.refresh()

    @property
    def rows(self) -> int:
        """Rows in all the files, as far as they are whole."""
        return sum(self._rows_in) + (0 if self._current is None else self._current[1].rows)

    def refresh(self) -> None:
        """Find what others have written since."""
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
        """The file's bytes, mapped anew once it has grown."""
        mapped = self._maps[number]
        if mapped.size < size:
            with open(self._files[number], "rb") as file:
                there = memory.read_size(file.fileno())
                if there < size:
                    raise FormatError(f"{self._files[number]} ends at byte {there}, before {size}")
                # another thread may put a shorter view here in the same moment: ours is what we return
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
            pass  # the end of a file that is being written, or was when its writer died
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
        ):  # until it is written: two who looked at the same time would both find room
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
            self.refused = f"no file can be made in {self.folder} ({error.strerror})"
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
        """Remove the key that was used longest ago, unless somebody has it open."""
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
        """Write down how long the sequence is, for the next run."""
        total = self.table.total
        if total is not None:
            temporary = self.folder / f"{TOTAL}-{secrets.token_hex(4)}"
            try:
                temporary.write_text(str(total), encoding="ascii")
                temporary.replace(self.folder / TOTAL)
            except OSError:  # the next run counts again
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
    """A descriptor that keeps the folder of a key from being removed; the folder is made where it is missing."""
    try:
        while True:
            folder.mkdir(mode=0o700, exist_ok=True)
            try:
                lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            except FileNotFoundError:
                continue  # somebody who needed the room has just removed it
            fcntl.flock(lock, fcntl.LOCK_SH)
            with contextlib.suppress(FileNotFoundError):
                if os.stat(folder / LOCK).st_ino == os.fstat(lock).st_ino:
                    os.utime(lock)
                    return lock
            os.close(lock)
    except OSError as error:
        if error.errno in slabs.NO_SPACE_ERRNOS:
            raise ResourceError(f"{folder} cannot be made: {error.strerror}") from error
        raise CacheError(f"the cache folder {folder.parent} cannot be used: {error.strerror}") from error


def _remove(path: Path) -> bool:
    """Remove a key's folder; False where somebody uses it."""
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


# Two runs of one process share what they opened: one of them would not see what the other is writing.
_open_stores: dict[tuple[str, int], tuple[DiskRowStore, int]] = {}
_opening = threading.Lock()


def _after_fork() -> None:
    """A lock that another thread of the parent held is made anew; shelves go by the process that opened them."""
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
