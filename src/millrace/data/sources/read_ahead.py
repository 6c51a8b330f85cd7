"""Rows of neighbours taken apart together, though they are asked for in small blocks.

Taking records apart costs a number of NumPy calls, however many they are: 2,048 small rows at once take a third of the
time that eight blocks of 256 take. So a block of neighbours brings those behind it along. A row is given out once; what
is asked for again, or out of order, is read as if nothing were kept. Where most of what was brought along is not asked
for (other processes have those rows), it stops.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from millrace.core.chunk import Column
from millrace.core.order import Indices

__all__ = ["MOST_ROWS", "ReadAhead"]

Columns = dict[str, Column]

MOST_ROWS, MOST_BYTES = 2048, 512 << 10
# Fewer rows together are hardly faster; fewer rows in a block are somebody who looks at single rows.
LEAST_ROWS, LEAST_BLOCK = 512, 32
KEPT = 3
# Windows after which it is judged whether they are any use.
TRIAL = 4


class _Window:
    """Rows from ``start`` to ``stop``, there once ``ready`` is set; None when they could not be read."""

    def __init__(self, start: int, stop: int) -> None:
        self.start, self.stop = start, stop
        self.ready = threading.Event()
        self.columns: Columns | None = None
        self.given = np.zeros(stop - start, np.bool_)


class ReadAhead:
    """``read`` for blocks of row numbers below ``size``, with the rows behind a block brought along.

    >>> asked = []
    >>> def read(rows):
    ...     asked.append(len(rows))
    ...     return {"n": rows * 10}
    >>> ahead = ReadAhead(read, size=4096, row_bytes=100)
    >>> [int(ahead(np.arange(start, start + 64))["n"][0]) for start in (0, 64, 128)], asked
    ([0, 640, 1280], [2048])
    """

    def __init__(self, read: Callable[[Indices], Columns], size: int, row_bytes: int) -> None:
        self._read, self._size = read, size
        self._rows = min(MOST_ROWS, MOST_BYTES // max(1, row_bytes))
        self._off = self._rows < LEAST_ROWS
        self._windows: list[_Window] = []
        self._done = self._unused = 0
        self._turn = threading.Lock()

    def __call__(self, indices: Indices) -> Columns:
        count = len(indices)
        if self._off or count < LEAST_BLOCK or count * 2 > self._rows:
            return self._read(indices)
        start, stop = int(indices[0]), int(indices[-1]) + 1
        if stop - start != count or not bool((np.diff(indices) == 1).all()):
            return self._read(indices)
        window, mine = self._find(start, stop)
        if window is None:
            return self._read(indices)
        if mine is not None:
            self._fill(mine)
        window.ready.wait()
        if window.columns is None:  # a row among them is bad, perhaps none of these
            return self._read(indices)
        at = start - window.start
        return {name: column[at : at + count] for name, column in window.columns.items()}

    def _find(self, start: int, stop: int) -> tuple[_Window | None, _Window | None]:
        """The window that holds these rows, and the one that this thread shall fill: it, or the one behind it."""
        with self._turn:
            window = next((w for w in self._windows if w.start <= start and stop <= w.stop), None)
            mine = None
            if window is None:
                window = mine = self._open(start, stop - start)
            given = window.given[start - window.start : stop - window.start]
            if bool(given.any()):
                return None, None
            given[:] = True
            busy = mine is None and not window.ready.is_set()
            if busy and window.stop < self._size and all(w.start != window.stop for w in self._windows):
                # another thread is at it: do what comes next, instead of waiting
                mine = self._open(window.stop, stop - start)
            return window, mine

    def _open(self, start: int, block: int) -> _Window:
        window = _Window(start, min(self._size, start + self._rows // block * block))
        self._windows.append(window)
        if len(self._windows) > KEPT:
            old = self._windows.pop(0)
            self._done += 1
            self._unused += int(np.count_nonzero(~old.given))
            self._off = self._done >= TRIAL and self._unused * 2 > self._done * self._rows
            if self._off:
                self._windows = [window]
        return window

    def _fill(self, window: _Window) -> None:
        try:
            window.columns = self._read(np.arange(window.start, window.stop, dtype=np.int64))
        except Exception:
            self._off = True  # whoever asks for the bad row will see the error
        finally:
            window.ready.set()
