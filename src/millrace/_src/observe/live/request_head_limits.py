"""Limits on connections without a complete request: number, time and bytes."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from io import BufferedIOBase

__all__ = ["Heads", "LimitedHead"]

MOST_HEADS, HEAD_SECONDS, HEAD_BYTES = 32, 10.0, 16 << 10


class Heads:
    """The connections whose request has not arrived, oldest first.

    A new connection is always accepted: beyond the limit, the oldest is closed. A browser sends its request at once.
    """

    def __init__(
        self,
        most: int = MOST_HEADS,
        seconds: float = HEAD_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._lock = threading.Lock()
        self._deadlines: dict[socket.socket, float] = {}

    def __len__(self) -> int:
        return len(self._deadlines)

    def add(self, sock: socket.socket) -> None:
        with self._lock:
            self._deadlines[sock] = self._clock() + self._seconds
            if len(self._deadlines) > self._most:
                self._close(next(iter(self._deadlines)))

    def remove(self, sock: socket.socket) -> None:
        """Its request has arrived, or it has ended."""
        with self._lock:
            self._deadlines.pop(sock, None)

    def close_late(self) -> None:
        """Close those whose deadline is over."""
        with self._lock:
            now = self._clock()
            for sock in [sock for sock, deadline in self._deadlines.items() if deadline <= now]:
                self._close(sock)

    def _close(self, sock: socket.socket) -> None:
        del self._deadlines[sock]
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)  # its thread wakes up, and closes it


class LimitedHead:
    """The reading side of a connection, for the lines of one request without a body."""

    def __init__(self, file: BufferedIOBase, most: int = HEAD_BYTES) -> None:
        self._file, self._left = file, most

    def readline(self, size: int = -1) -> bytes:
        line = self._file.readline(self._left + 1 if size < 0 else min(size, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise ConnectionError("a request is too long")
        return line

    def close(self) -> None:
        self._file.close()

    @property
    def closed(self) -> bool:
        return self._file.closed
