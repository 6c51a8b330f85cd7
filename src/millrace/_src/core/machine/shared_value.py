"""A shared number that one process sets and others read: the fraction of work done on the host."""

from __future__ import annotations

import mmap
import os
import struct
import weakref
from typing import Any

__all__ = ["SharedFloat"]


class SharedFloat:
    """A fraction from 0 to 1 in shared memory. Copies in other processes read the value that the owner sets.

    >>> share = SharedFloat()
    >>> share.set(0.25)
    >>> share.get()
    0.25
    """

    def __init__(self) -> None:
        self._value = 0.0
        self._path = ""
        self._map: mmap.mmap | None = None

    def get(self) -> float:
        """The current value."""
        if self._map is None:
            return self._value
        value: float = struct.unpack_from("d", self._map)[0]
        return value

    def set(self, value: float) -> None:
        """Set the value; only in the owner process."""
        self._value = min(1.0, max(0.0, value))
        if self._map is not None:
            struct.pack_into("d", self._map, 0, self._value)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle for another process: move the number to a file that both processes map."""
        if self._map is None:
            import tempfile

            folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
            number, self._path = tempfile.mkstemp(prefix="millrace-share-", dir=folder)
            os.ftruncate(number, mmap.PAGESIZE)
            self._map = mmap.mmap(number, mmap.PAGESIZE)
            os.close(number)
            self.set(self._value)
            weakref.finalize(self, _remove, self._path)
        return {"path": self._path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._value, self._path, self._map = 0.0, state["path"], None
        try:
            number = os.open(self._path, os.O_RDONLY)
        except OSError:
            return  # the owner has ended
        self._map = mmap.mmap(number, mmap.PAGESIZE, prot=mmap.PROT_READ)
        os.close(number)


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)
