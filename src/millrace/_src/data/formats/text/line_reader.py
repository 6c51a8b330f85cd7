"""``LineReader``: random access to the lines of a text file."""

from __future__ import annotations

import os
import threading
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import Range, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError
from millrace._src.core.public import public

__all__ = ["LineReader"]

_CHUNK = 8 << 20


@public("dataset.utils")
class LineReader:
    """Random access to the lines of a text file by number, starting at 1; the file is scanned once.

    >>> with open("poem.txt", "w") as file:
    ...     _ = file.write("roses\\nviolets\\n")
    >>> reader = LineReader("poem.txt")
    >>> reader.len(), reader.readline(2)
    (2, 'violets')
    >>> reader.close()
    """

    def __init__(self, filename: str) -> None:
        if not isinstance(filename, str):
            raise ArgumentTypeError(f"path: {filename} is not string")
        path = os.path.realpath(filename)
        if not os.path.exists(path):
            raise DataError(f"The input file [{path}] does not exist.", file=filename)
        if not os.path.isfile(path):
            raise DataError(f"The input file [{path}] is not a regular file.", file=filename)
        self.filename = path
        self._ends, self._size = _line_ends(path)
        self._file: Any = None
        self._lock = threading.Lock()

    def len(self) -> int:
        """Number of lines."""
        return len(self._ends)

    @checked
    def readline(self, line: Annotated[int, Range(0, 2**64 - 1)]) -> str:
        """A line without its line end; after ``close`` the file is opened again."""
        if not 1 <= line <= len(self._ends):
            raise ArgumentValueError(
                f"Input line is not within the required interval of [1, {len(self._ends)}]."
            )
        start = int(self._ends[line - 2]) if line > 1 else 0
        with self._lock:
            if self._file is None:
                self._file = open(self.filename, "rb")  # noqa: SIM115  (closed by close)
            self._file.seek(start)
            data: bytes = self._file.read(int(self._ends[line - 1]) - start)
        try:
            return data.decode("utf-8").rstrip("\n")
        except UnicodeDecodeError:
            raise DataError(f"line {line} is not text in UTF-8", file=self.filename) from None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_file", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _file=None, _lock=threading.Lock())

    def __del__(self) -> None:
        file = getattr(self, "_file", None)
        if file is not None:
            file.close()


def _line_ends(path: str) -> tuple[np.ndarray[Any, Any], int]:
    """End offset of each line, including its newline, and the file size."""
    chunks_ends, offset = [], 0
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            chunks_ends.append(np.flatnonzero(np.frombuffer(chunk, np.uint8) == 10) + (offset + 1))
            offset += len(chunk)
    ends = np.concatenate(chunks_ends) if chunks_ends else np.empty(0, np.int64)
    if offset and (not len(ends) or ends[-1] != offset):
        ends = np.append(ends, offset)
    return ends, offset
