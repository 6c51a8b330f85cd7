"""A real server for a test: the program that users start, in a folder and at a port of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from millrace._src.data.cache import server_admin as admin
from millrace._src.data.cache.client import disconnect
from millrace._src.data.cache.dataset_cache import DatasetCache, server_address
from millrace._src.data.cache.protocol import start_time

PATIENCE = 30.0


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def until(true: Callable[[], bool], what: str = "it") -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"{what} did not come about"
        threading.Event().wait(0.005)


class Served:
    """One port, and the server that may run at it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.spill = folder / "spill"
        self.spill.mkdir(exist_ok=True)
        self._pids: list[int] = []

    @property
    def address(self) -> str:
        return server_address(port=self.port)

    def start(self, **options: float) -> None:
        self._pids.append(admin.start(port=self.port, spill=str(self.spill), **options).pid)

    def session(self) -> int:
        return admin.generate(port=self.port)

    def cache(self, session: int | None = None, **options: int | bool) -> DatasetCache:
        return DatasetCache(self.session() if session is None else session, port=self.port, **options)

    def kill(self) -> None:
        os.kill(self._pids[-1], signal.SIGKILL)
        until(self._gone, "the end of the server")

    def _gone(self) -> bool:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pids[-1], os.WNOHANG)
        return start_time(self._pids[-1]) is None

    def stop(self) -> None:
        with contextlib.suppress(OSError):
            disconnect(self.address)
        admin.stop(port=self.port)
        for pid in self._pids:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)

    def left(self) -> list[str]:
        """What is left in the folders of a server that was stopped."""
        return [str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path != self.spill]


@contextlib.contextmanager
def runtime_folder() -> Iterator[Path]:
    """A folder with a short name: that of a Unix socket has at most 107 bytes."""
    folder = Path(tempfile.mkdtemp(prefix="mr-", dir="/tmp"))
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    try:
        yield folder
    finally:
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def serving(**options: float) -> Iterator[Served]:
    with runtime_folder() as folder:
        server = Served(folder)
        try:
            server.start(**options)
            yield server
        finally:
            server.stop()
