"""Lists of files: compact enough for millions, sorted by their bytes as MindSpore sorts them."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from millrace.core.errors import FormatError

__all__ = ["MOST_TEXT", "FileList", "files_in", "folders_in", "lines_of", "progress"]

# Text that is read whole (lists, annotations) is refused beyond this: nothing real comes near.
MOST_TEXT = 2 << 30

_joining = threading.Lock()

_SHOW_AFTER = 1.0
_SHOW_EVERY = 0.2


class FileList(Sequence[str]):
    """Paths below one root as one block of bytes and an array of offsets: about 40 bytes a file.

    >>> files = FileList("/data")
    >>> files.extend("cat", [b"1.jpg", b"2.jpg"]), files.extend("", [b"readme.txt"])
    (2, 1)
    >>> len(files), files[1], files[2]
    (3, '/data/cat/2.jpg', '/data/readme.txt')
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.fsencode(root)
        self._blob = b""
        self._ends = np.zeros(1, np.int64)
        self._new: list[bytes] = []
        self._new_ends: list[Any] = []
        self._at = 0

    def extend(self, folder: str | bytes, names: Iterable[bytes]) -> int:
        """Add the files of one folder below the root; returns how many."""
        start = os.fsencode(folder) + b"/" if folder else b""
        paths = [start + name for name in names]
        ends = np.cumsum(np.fromiter(map(len, paths), np.int64, len(paths))) + self._at
        if len(paths):
            self._at = int(ends[-1])
            self._new.append(b"".join(paths))
            self._new_ends.append(ends)
        return len(paths)

    def _join(self) -> None:
        if not self._new:
            return
        with _joining:  # threads that read at once
            if self._new:
                self._blob = b"".join([self._blob, *self._new])
                self._ends = np.concatenate([self._ends, *self._new_ends])
                self._new_ends = []
                self._new = []

    def __len__(self) -> int:
        return len(self._ends) - 1 + sum(map(len, self._new_ends))

    def name(self, index: int) -> bytes:
        """The path below the root."""
        self._join()
        return self._blob[self._ends[index] : self._ends[index + 1]]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return os.fsdecode(os.path.join(self.root, self.name(index)))

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def __getstate__(self) -> dict[str, Any]:
        self._join()
        return vars(self)

    @property
    def nbytes(self) -> int:
        self._join()
        return len(self._blob) + self._ends.nbytes


class progress:
    """Tells a terminal how far a long listing has come; says nothing elsewhere, or when it is quick."""

    def __init__(self, what: str) -> None:
        self.what, self.count = what, 0
        self._next = time.monotonic() + _SHOW_AFTER
        self._shown = False

    def add(self, count: int) -> None:
        self.count += count
        now = time.monotonic()
        if now >= self._next and sys.stderr is not None and sys.stderr.isatty():
            self._next, self._shown = now + _SHOW_EVERY, True
            sys.stderr.write(f"\rlisting {self.what}: {self.count:,} files")
            sys.stderr.flush()

    def __enter__(self) -> progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            sys.stderr.write(f"\rlisting {self.what}: {self.count:,} files, done\n")


def files_in(
    folder: str | bytes | os.PathLike[str],
    extensions: Collection[str] | None = None,
    shown: progress | None = None,
) -> list[bytes]:
    """The names of the files in a folder, sorted; with extensions only those that end so (case counts).

    >>> import pathlib
    >>> for name in ("b.jpg", "a.jpg", "c.txt"):
    ...     _ = pathlib.Path(name).write_bytes(b"")
    >>> files_in(".", [".jpg"])
    [b'a.jpg', b'b.jpg']
    """
    wanted = tuple(os.fsencode(e) for e in extensions) if extensions else None
    found: list[bytes] = []
    told = 0
    for entry in _entries(folder):
        name = entry.name
        if (wanted is None or name.endswith(wanted)) and entry.is_file():
            found.append(name)
            if shown is not None and len(found) - told >= 4096:
                shown.add(len(found) - told)
                told = len(found)
    if shown is not None:
        shown.add(len(found) - told)
    found.sort()
    return found


def folders_in(folder: str | bytes | os.PathLike[str]) -> list[bytes]:
    """The names of the folders in a folder, sorted.

    >>> import os
    >>> os.makedirs("top/b"), os.makedirs("top/a")
    (None, None)
    >>> folders_in("top")
    [b'a', b'b']
    """
    return sorted(entry.name for entry in _entries(folder) if entry.is_dir())


def _entries(folder: str | bytes | os.PathLike[str]) -> Iterator[os.DirEntry[bytes]]:
    try:
        with os.scandir(os.fsencode(folder)) as entries:
            yield from entries
    except OSError as error:
        raise FormatError(
            f"Invalid file, failed to open folder: {os.fsdecode(folder)} ({error.strerror})",
            file=os.fsdecode(folder),
        ) from error


def lines_of(path: str | os.PathLike[str], *, most: int = MOST_TEXT, keep_empty: bool = False) -> list[str]:
    """The lines of a text file in UTF-8, without their ends and without empty ones.

    >>> with open("list.txt", "w") as file:
    ...     _ = file.write("a\\n\\nb\\r\\n")
    >>> lines_of("list.txt")
    ['a', 'b']
    """
    name = os.fspath(path)
    try:
        if os.path.getsize(name) > most:
            raise FormatError(f"a list of more than {most} bytes is not read", file=name)
        with open(name, "rb") as file:
            lines = file.read().decode("utf-8").split("\n")
    except OSError as error:
        raise FormatError(f"Invalid file, failed to open: {name} ({error.strerror})", file=name) from error
    except UnicodeDecodeError as error:
        raise FormatError(f"the text is not UTF-8: {error}", file=name) from error
    lines = [line.removesuffix("\r") for line in lines]
    if keep_empty:
        return lines[:-1] if lines and not lines[-1] else lines
    return [line for line in lines if line.strip()]
