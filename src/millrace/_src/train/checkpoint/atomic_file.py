"""Atomic file writes: write to a temporary file in the same folder, sync, rename.

A writer that dies leaves the old file. Its partial file has a temporary name, is locked while its writer lives, and is
removed by the next save into that folder.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from millrace._src.core.errors import SaveError

__all__ = ["AtomicFile", "atomic_write", "explain", "free_bytes", "format_bytes"]

_DRAFT = re.compile(r"\..+\.(?:ckpt|safetensors)\.[0-9a-f]{16}\.tmp")
_YOUNG = 60.0  # seconds: a new temporary file may not be locked yet
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class AtomicFile:
    """A temporary file. ``path`` is its name, for :meth:`write` or for other writers."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path, self._fd = path, fd
        self.written = 0

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes."""
        view = memoryview(data)
        while view:
            # the kernel takes at most 2 GB at once
            count = os.write(self._fd, view[: 1 << 30])
            self.written += count
            view = view[count:]


@contextlib.contextmanager
def atomic_write(final: Path, wanted: int = 0) -> Iterator[AtomicFile]:
    """A temporary file that replaces ``final`` when the block succeeds, and is removed when it fails.

    ``wanted`` is the expected size: a disk without this space is refused before anything is written.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     final = Path(folder, "x.ckpt")
    ...     with atomic_write(final, 3) as draft:
    ...         draft.write(b"abc")
    ...     final.read_bytes(), os.listdir(folder), oct(final.stat().st_mode & 0o777)
    (b'abc', ['x.ckpt'], '0o400')
    """
    folder = final.parent
    free = free_bytes(folder)
    if free is not None and free < wanted:
        raise _no_space_error(final, wanted, free)
    _remove_abandoned(folder)
    path = folder / f".{final.name}.{secrets.token_hex(8)}.tmp"
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise explain(error, final, wanted) from error
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield AtomicFile(path, fd)
        _sync(path)  # by name: the writer may have replaced the file
        os.chmod(path, stat.S_IRUSR)
        os.replace(path, final)
        _sync(folder)
    except OSError as error:
        raise explain(error, final, wanted) from error
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)  # it has been renamed on success
        os.close(fd)


def explain(error: OSError, final: Path, wanted: int) -> OSError:
    """Add the file, and for a full disk the bytes, to an error; an error with details is returned unchanged."""
    if isinstance(error, SaveError):
        return error
    if error.errno in _FULL:
        return _no_space_error(final, wanted, free_bytes(final.parent), error)
    if error.errno == errno.ENOENT:
        return FileNotFoundError(error.errno, f"no such folder to save {final.name!r} in", str(final.parent))
    if isinstance(error, (PermissionError, NotADirectoryError, IsADirectoryError)):
        return type(error)(error.errno, error.strerror, str(final))
    return SaveError(error.errno, f"the checkpoint {final} could not be written: {error.strerror or error}")


def _no_space_error(final: Path, wanted: int, free: int | None, error: OSError | None = None) -> SaveError:
    number = errno.ENOSPC if error is None else error.errno
    why = "no space for" if error is None else f"{error.strerror} while writing"
    free_text = "" if free is None else f", {format_bytes(free)} ({free} bytes) are free"
    kept = f"; the file that was there before is untouched: {final}" if final.exists() else ""
    return SaveError(
        number,
        f"{why} the checkpoint {final}: it needs {format_bytes(wanted)} ({wanted} bytes){free_text} in "
        f"{final.parent}{kept}. "
        "Remove old checkpoints (CheckpointConfig(keep_checkpoint_max=...)), or save to another disk.",
    )


def free_bytes(folder: Path) -> int | None:
    """Free bytes on the disk of a folder; None if unknown.

    >>> free_bytes(Path("/no/such/folder")) is None
    True
    """
    try:
        stat = os.statvfs(folder)
    except OSError:
        return None
    return stat.f_bavail * stat.f_frsize if stat.f_blocks else None


def format_bytes(count: float) -> str:
    """Format a number of bytes.

    >>> format_bytes(512), format_bytes(3 << 20)
    ('512 B', '3.0 MB')
    """
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TB"


def _sync(path: Path) -> None:
    """Sync the contents of a file or the entries of a folder to disk."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _remove_abandoned(folder: Path, now: Callable[[], float] = time.time) -> None:
    """Remove temporary files of dead writers from a folder."""
    with contextlib.suppress(OSError):
        left = [Path(entry.path) for entry in os.scandir(folder) if _DRAFT.fullmatch(entry.name)]
        for path in left:
            with contextlib.suppress(OSError):
                if now() - path.stat().st_mtime > _YOUNG and _is_abandoned(path):
                    path.unlink()


def _is_abandoned(path: Path) -> bool:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True
