"""Event log of a run: a file with lines of JSON, appended while the run is active.

The first line identifies the format. The writer holds a lock on the file for as long as it lives; if a reader can
acquire the lock, the run has ended. Readers ignore a last line that a crash has truncated. A file that becomes too
long is downsampled to a new one, which replaces it atomically: recent points stay, older ones become sparser.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
from pathlib import Path
from typing import Any, NoReturn

from millrace._src.core.errors import FormatError

from .downsample import downsample

__all__ = ["FILE_TYPE", "MOST_BYTES", "EventLogWriter", "EventLogReader", "is_written"]

FILE_TYPE = "millrace history"
VERSION = 1
# The limit for readers. A writer stays far below: it downsamples the file before it reaches an eighth of this.
MOST_BYTES = 64 << 20
MOST_LINE = 1 << 20
PIECE = 256 << 10
# A file with fewer bytes is never downsampled, one with more always.
SIZE_LIMITS = (1 << 20, MOST_BYTES // 8)


class EventLogWriter:
    """Writes an event log. Only the owner may read the file."""

    def __init__(self, path: Path, head: dict[str, Any], size_limits: tuple[int, int] = SIZE_LIMITS) -> None:
        self.path = path
        self._least, self._most = size_limits
        self._lines: list[dict[str, Any]] = []
        self._fd = -1
        self._size = 0
        self._limit = self._least
        _check_replaceable(path)
        self._begin([{"kind": FILE_TYPE, "version": VERSION, **head}])

    def add(self, line: dict[str, Any]) -> None:
        """Add an event; it is written with the next ``flush``."""
        self._lines.append(line)

    def flush(self) -> None:
        """Write the added events."""
        if not self._lines or self._fd < 0:
            return
        lines, self._lines = self._lines, []
        data = _encode(lines)
        self._size += len(data)
        while data:
            data = data[os.write(self._fd, data) :]
        if self._size > self._limit:
            self._thin()

    def close(self) -> None:
        """Write the remaining events and release the lock, which signals the end to readers."""
        try:
            self.flush()
        finally:
            self.forget()

    def forget(self) -> None:
        """Close the file without writing, as a forked child does with the file of its parent."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _thin(self) -> None:
        lines = list(EventLogReader(self.path).all())
        thinned = downsample(lines, self._most // 2, lambda kept: len(_encode(kept)))
        self._begin(thinned)
        self._limit = min(self._most, max(self._least, 2 * self._size))

    def _begin(self, lines: list[dict[str, Any]]) -> None:
        """Replace the file by a new one with these lines."""
        replacement = self.path.with_name(f".{self.path.name}.{os.getpid()}.new")
        with contextlib.suppress(FileNotFoundError):
            replacement.unlink()  # of a process with our number that died
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(replacement, flags, 0o600)
        try:
            with contextlib.suppress(OSError):  # some file systems of networks have no locks
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            data = _encode(lines)
            self._size = len(data)
            while data:
                data = data[os.write(fd, data) :]
            os.replace(replacement, self.path)
        except BaseException:
            os.close(fd)
            with contextlib.suppress(OSError):
                replacement.unlink()
            raise
        self.forget()
        self._fd = fd


def _encode(lines: list[dict[str, Any]]) -> bytes:
    texts = [json.dumps(line, separators=(",", ":"), allow_nan=False, ensure_ascii=False) for line in lines]
    # the name of a file may hold bytes that are no text
    return "".join(f"{line}\n" for line in texts).encode("utf-8", "replace")


def _check_replaceable(path: Path) -> None:
    """Raise unless the path is free or holds the log of a run that has ended."""
    if not path.exists():
        return
    try:
        tail = EventLogReader(path)
    except FormatError as error:
        raise FormatError(f"{error}. It is not written over; name another file", file=str(path)) from None
    with tail:
        if not tail.ended:
            raise FormatError(
                "another run writes its history here at this moment; name another file", file=str(path)
            )


class EventLogReader:
    """Reads an event log: ``read_new()`` returns the events added since the last call."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        # invalid lines: truncated, or not events
        self.damaged = 0
        self._rest = b""
        self._fd = -1
        self._open()

    def _open(self) -> None:
        self.close()
        fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        status = os.fstat(fd)
        try:
            if not stat.S_ISREG(status.st_mode):
                self._refuse("is not a file")
            if status.st_size > MOST_BYTES:
                self._refuse(
                    f"has {status.st_size:,} bytes; the history of a run never has more than {MOST_BYTES:,}"
                )
            begins = os.pread(fd, 4096, 0).partition(b"\n")[0]
            head = _parse(begins)
            if head is None or head.get("kind") != FILE_TYPE:
                self._refuse("is not the history of a run, as `with ds.monitor():` writes it")
            if head.get("version") != VERSION:
                self._refuse(
                    f"has version {head.get('version')!r}, and version {VERSION} is read here: use the Millrace that "
                    "wrote it"
                )
        except BaseException:
            os.close(fd)
            raise
        self._fd, self._at, self._rest, self.damaged = fd, 0, b"", 0
        self._inode = (status.st_dev, status.st_ino)

    def _refuse(self, why: str) -> NoReturn:
        raise FormatError(f"{self.path} {why}", file=str(self.path))

    def read_new(self) -> tuple[bool, list[dict[str, Any]]]:
        """(whether the file was replaced, new events): a part of them; empty if there are none."""
        anew = False
        while True:
            data = os.pread(self._fd, PIECE, self._at)
            if not data and self._is_replaced():
                self._open()
                anew, data = True, os.pread(self._fd, PIECE, 0)
            if not data:
                return anew, []
            self._at += len(data)
            if self._at > MOST_BYTES:
                self._refuse(f"has grown beyond {MOST_BYTES:,} bytes")
            if lines := self._complete_lines(data):
                return anew, lines

    def _complete_lines(self, data: bytes) -> list[dict[str, Any]]:
        """The complete lines."""
        *texts, rest = (self._rest + data).split(b"\n")
        if len(rest) > MOST_LINE:
            self._refuse(f"has a line of more than {MOST_LINE:,} bytes")
        self._rest = rest
        lines = [_parse(text) for text in texts]
        self.damaged += lines.count(None)
        return [line for line in lines if line is not None]

    def all(self) -> list[dict[str, Any]]:
        """All events in the file; closes it."""
        collected: list[dict[str, Any]] = []
        with self:
            while True:
                anew, lines = self.read_new()
                if anew:
                    collected = []
                if not lines:
                    return collected
                collected += lines

    @property
    def ended(self) -> bool:
        """Whether the run has ended: the lock of this file, or of one that replaced it, is free."""
        if self._is_replaced():
            return False
        try:
            fcntl.flock(self._fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        return True

    def _is_replaced(self) -> bool:
        try:
            status = os.stat(self.path)
        except OSError:
            return False  # removed: what we hold is what there is
        return (status.st_dev, status.st_ino) != self._inode

    def close(self) -> None:
        """Close the file; further calls have no effect."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __enter__(self) -> EventLogReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def is_written(path: Path) -> bool | None:
    """Whether a run is writing this log; None if it is not a log."""
    try:
        with EventLogReader(path) as tail:
            return not tail.ended
    except (OSError, FormatError):
        return None


def _parse(text: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(text, parse_constant=_no_number)
        if b"\\u" in text:
            json.dumps(line, ensure_ascii=False).encode()  # halves of characters cannot be shown anywhere
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)
