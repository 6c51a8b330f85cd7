"""Compact lists of file paths and sorted directory listings."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.io.remote import is_remote, list_directory
from millrace._src.core.progress_bar import progress

__all__ = ["MAX_TEXT_BYTES", "SHOW_AFTER", "FileList", "list_files", "list_directories", "read_lines"]

# Limit for text that is read completely (lists, annotations).
MAX_TEXT_BYTES = 2 << 30

_JOINED = 1 << 15
_joining = threading.Lock()

# Seconds after which a listing shows a progress bar.
SHOW_AFTER = 1.0


class FileList(Sequence[str]):
    """Paths below one root, stored as one byte string and an array of offsets: about 40 bytes per file.

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
        self._end = 0

    def extend(self, folder: str | bytes, names: Sequence[bytes]) -> int:
        """Add the files of one folder below the root; return their number."""
        start = os.fsencode(folder) + b"/" if folder else b""
        ends = np.fromiter(map(len, names), np.int64, len(names))
        if len(names):
            ends += len(start)
            np.cumsum(ends, out=ends)
            ends += self._end
            self._end = int(ends[-1])
            # each name gets the folder as prefix; join() needs 80 bytes per name temporarily, hence in parts
            for first in range(0, len(names), _JOINED):
                self._new.append(start.join([b"", *names[first : first + _JOINED]]))
            self._new_ends.append(ends)
        return len(names)

    def _join(self) -> None:
        if not self._new:
            return
        with _joining:  # concurrent readers
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


def list_files(
    folder: str | bytes | os.PathLike[str],
    extensions: Collection[str] | None = None,
    shown: Callable[[int], None] | None = None,
) -> list[bytes]:
    """The sorted names of the files in a folder, optionally only those with these extensions (case-sensitive).

    ``shown`` is called with the number of new files; without it, a terminal shows a progress bar for long listings.

    >>> import pathlib
    >>> for name in ("b.jpg", "a.jpg", "c.txt"):
    ...     _ = pathlib.Path(name).write_bytes(b"")
    >>> list_files(".", [".jpg"])
    [b'a.jpg', b'b.jpg']
    """
    if shown is None:
        with progress(f"listing {os.fsdecode(folder)}", after=SHOW_AFTER) as shown:
            return list_files(folder, extensions, shown)
    wanted = tuple(os.fsencode(e) for e in extensions) if extensions else None
    if is_remote(folder):
        names = map(os.fsencode, list_directory(str(folder))[0])
        matches = sorted(name for name in names if wanted is None or name.endswith(wanted))
        shown(len(matches))
        return matches
    matches = []
    reported = 0
    for entry in _entries(folder):
        name = entry.name
        if (wanted is None or name.endswith(wanted)) and _is_file(entry):
            matches.append(name)
            if len(matches) - reported >= 4096:
                shown(len(matches) - reported)
                reported = len(matches)
    shown(len(matches) - reported)
    matches.sort()
    return matches


def _is_file(entry: os.DirEntry[bytes]) -> bool:
    """Whether an entry is a file. A broken link counts: reading it raises an error instead of skipping it silently."""
    return entry.is_file() or (entry.is_symlink() and not entry.is_dir())


def list_directories(folder: str | bytes | os.PathLike[str]) -> list[bytes]:
    """The names of the folders in a folder, sorted.

    >>> import os
    >>> os.makedirs("top/b"), os.makedirs("top/a")
    (None, None)
    >>> list_directories("top")
    [b'a', b'b']
    """
    if is_remote(folder):
        return sorted(map(os.fsencode, list_directory(str(folder))[1]))
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


def read_lines(
    path: str | os.PathLike[str],
    *,
    max_bytes: int = MAX_TEXT_BYTES,
    keep_empty: bool = False,
    allow_empty: bool = False,
) -> list[str]:
    """Read the lines of a UTF-8 text file, without line ends and empty lines.

    A file without lines is refused unless ``allow_empty`` is set. A NUL byte is refused.

    >>> with open("list.txt", "w") as file:
    ...     _ = file.write("a\\n\\nb\\r\\n")
    >>> read_lines("list.txt")
    ['a', 'b']
    """
    name = os.fspath(path)
    try:
        if os.path.getsize(name) > max_bytes:
            raise FormatError(f"a list of more than {max_bytes} bytes cannot be read", file=name)
        with open(name, "rb") as file:
            text = file.read().decode("utf-8")
    except OSError as error:
        raise FormatError(f"Invalid file, failed to open: {name} ({error.strerror})", file=name) from error
    except UnicodeDecodeError as error:
        raise FormatError(f"the text is not UTF-8: {error}", file=name) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FormatError(f"line {line} holds a NUL byte: this is not text", file=name)
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if not keep_empty:
        lines = [line for line in lines if line.strip()]
    elif not lines[-1]:
        lines.pop()
    if not lines and not allow_empty:
        raise FormatError("the file is empty", file=name)
    return lines
