"""Temporary folders with a lock: stale ones are distinguished from those in use.

A folder is named ``millrace-<purpose>-<pid>-<letters>``, and its owner holds a lock on it for as long as it lives.
The kernel releases the lock with the process, however it ends, so a folder whose lock can be acquired is stale.
Process numbers alone would be ambiguous between containers that share a folder.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import weakref
from pathlib import Path

__all__ = ["PURPOSES", "LockedTemporaryDirectory", "is_stale", "owner_of"]

# The purposes of temporary folders and files. A name with another one does not belong to Millrace.
PURPOSES = ("copy", "example", "index", "socket", "spill", "upload")
_NAME = re.compile(rf"millrace-(?:{'|'.join(PURPOSES)})-(?P<pid>[1-9][0-9]*)-[a-z0-9_]{{8}}")


class LockedTemporaryDirectory:
    """A temporary folder of this process, removed when it is closed, collected, or the interpreter ends.

    >>> with LockedTemporaryDirectory("example") as folder:
    ...     folder.is_dir(), owner_of(folder.name) == os.getpid(), is_stale(folder)
    (True, True, False)
    >>> folder.exists()
    False
    """

    def __init__(self, purpose: str, parent: str | None = None) -> None:
        assert purpose in PURPOSES, purpose
        self.path = Path(tempfile.mkdtemp(prefix=f"millrace-{purpose}-{os.getpid()}-", dir=parent))
        lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # a file system without locks: the process number in the name must suffice
            pass
        self.close = weakref.finalize(self, _remove, self.path, lock, os.getpid())

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *exc: object) -> None:
        self.close()


def _remove(path: Path, lock: int, owner: int) -> None:
    if os.getpid() == owner:  # a forked child inherits the object, not the folder
        shutil.rmtree(path, ignore_errors=True)
    os.close(lock)


def owner_of(name: str) -> int | None:
    """The process number in the name of a temporary folder or file; None for other names.

    >>> owner_of("millrace-upload-4711-x_a1b2c3"), owner_of("millrace-results-4711-2")
    (4711, None)
    """
    match = _NAME.fullmatch(name)
    return int(match["pid"]) if match else None


def is_stale(path: Path, proc: Path = Path("/proc")) -> bool:
    """Whether the owner process has ended; False where that is unknown."""
    pid = owner_of(path.name)
    if pid is None or _is_running(pid, path, proc):
        return False
    try:
        lock = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # a socket cannot be opened, nor locked by its owner
        return path.is_socket()
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        os.close(lock)
    return True


def _is_running(pid: int, path: Path, proc: Path) -> bool:
    """Whether the process still runs; one that started after the folder's last change has reused the number."""
    try:
        # the name, in brackets, may hold spaces; the start is the 20th word after it, in ticks since boot
        ticks = int((proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[19])
        boot = next(line for line in (proc / "stat").read_text().splitlines() if line.startswith("btime "))
        began = int(boot.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
        return began <= path.lstat().st_mtime + 2
    except FileNotFoundError:
        return False
    except (OSError, ValueError, IndexError, StopIteration):
        return True
