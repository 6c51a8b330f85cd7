"""Runtime directory, socket, lock and log file paths of cache servers.

The folder is ``$XDG_RUNTIME_DIR/millrace``, or ``millrace-<user number>`` in the temporary folder; only its owner may
enter it. A server holds a lock on its ``.lock`` file while it runs. The kernel releases the lock with the process,
however it ends: a process that acquires the lock knows that the remaining files belong to a dead server, and the lock
of a live server cannot be acquired.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path
from typing import Any

from millrace._src.core.errors import CacheError
from millrace._src.core.io import runtime_directory as private_folder

from .protocol import boot_id, start_time

__all__ = ["ServerPaths", "ServerLock", "server_paths", "runtime_folder", "find_stale_files"]


def runtime_folder(*, make: bool = False) -> Path:
    """The folder of this user's servers; a folder of another user is rejected."""
    return private_folder.runtime_directory(make=make, error=CacheError)


class ServerPaths:
    """The files of the server at one port."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.socket = folder / f"cache-{port}.sock"
        self.lock = folder / f"cache-{port}.lock"
        self.info = folder / f"cache-{port}.json"
        self.log = folder / f"cache-{port}.log"

    def write_description(self, **fields: Any) -> None:
        """Write the process id, start time and boot id of this server process."""
        description = {"pid": os.getpid(), "started": start_time(os.getpid()), "boot": boot_id(), **fields}
        temporary = self.info.with_suffix(".new")
        temporary.write_text(json.dumps(description), encoding="utf-8")
        temporary.replace(self.info)

    def read_description(self) -> dict[str, Any]:
        """The description that the server wrote; empty if there is none."""
        try:
            description = json.loads(self.info.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return description if isinstance(description, dict) else {}

    def existing_files(self) -> list[Path]:
        """The existing files of a server, except its lock."""
        return [path for path in (self.socket, self.info, self.info.with_suffix(".new")) if path.exists()]

    def clean(self) -> list[Path]:
        """Remove the files of a dead server; the caller holds its lock."""
        leftovers = self.existing_files()
        for path in leftovers:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
        return leftovers


class ServerLock:
    """The lock of a port, held to run a server or to clean up there."""

    def __init__(self, paths: ServerPaths) -> None:
        self._path = paths.lock
        self._fd = os.open(paths.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)

    def take(self) -> bool:
        """Acquire the lock; False if a live process holds it."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        # the file may have been removed and created again between opening and locking
        with contextlib.suppress(FileNotFoundError):
            if os.stat(self._path).st_ino == os.fstat(self._fd).st_ino:
                return True
        self.close()
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        return self.take()

    def close(self, *, remove: bool = False) -> None:
        if self._fd >= 0:
            if remove:
                with contextlib.suppress(FileNotFoundError):
                    self._path.unlink()
            os.close(self._fd)
            self._fd = -1


def server_paths(port: int, *, make: bool = False) -> ServerPaths:
    return ServerPaths(runtime_folder(make=make), port)


def find_stale_files() -> list[Path]:
    """The files of dead servers of this user; removed by the next start at their port, or by a stop."""
    leftovers: list[Path] = []
    try:
        folder = runtime_folder()
        names = sorted(folder.glob("cache-*.lock")) if folder.is_dir() else []
    except (CacheError, OSError):
        return leftovers
    for name in names:
        port = name.stem.partition("-")[2]
        if not port.isdigit():
            continue
        paths = ServerPaths(folder, int(port))
        lock = ServerLock(paths)
        try:
            if lock.take():
                leftovers += [*paths.existing_files(), name]
        finally:
            lock.close()
    return leftovers
