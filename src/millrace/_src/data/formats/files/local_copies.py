"""Temporary local copies of remote files.

Formats that scan a whole file for its rows need them. The copies are in ``TMPDIR`` and live as long as the source.
Worker processes read the copies of their parent.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from millrace._src.core.io.remote import download, is_remote
from millrace._src.core.io.temporary_directory import LockedTemporaryDirectory

__all__ = ["LocalCopies"]

MAX_DOWNLOADS = 8


class LocalCopies:
    """Local copies by remote address.

    >>> from millrace._src.core.io.remote import file_system
    >>> file_system("memory://doc/lines.txt")[0].pipe("/doc/lines.txt", b"one")
    >>> copies = LocalCopies()
    >>> with open(copies.path("memory://doc/lines.txt")) as file:
    ...     file.read(), copies.path("here.txt")
    ('one', 'here.txt')
    """

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}
        self._scratch: LockedTemporaryDirectory | None = None
        self._lock = threading.Lock()

    def path(self, name: str) -> str:
        """The path to open: the name itself, or the local copy of an address, downloaded on the first call."""
        if not is_remote(name):
            return name
        copy = self._paths.get(name)
        if copy is None or not os.path.exists(copy):
            self.fetch([name])
        return self._paths[name]

    def fetch(self, names: Iterable[str]) -> None:
        """Download the addresses among these names that have no copy yet, several in parallel."""
        with self._lock:
            missing = [
                name for name in names if is_remote(name) and not os.path.exists(self._paths.get(name, ""))
            ]
            if not missing:
                return
            if self._scratch is None:
                self._scratch = LockedTemporaryDirectory("copy")
            folder = self._scratch.path
            with ThreadPoolExecutor(min(MAX_DOWNLOADS, len(missing)), "millrace-copy") as pool:
                for name, path in zip(missing, pool.map(lambda name: _download_copy(name, folder), missing)):
                    self._paths[name] = path

    def __getstate__(self) -> dict[str, Any]:
        return {"_paths": self._paths}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _scratch=None, _lock=threading.Lock())


def _download_copy(name: str, folder: Any) -> str:
    target = folder / hashlib.blake2b(name.encode(), digest_size=12).hexdigest()
    download(name, target)
    return str(target)
