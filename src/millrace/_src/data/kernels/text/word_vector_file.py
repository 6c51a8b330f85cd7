"""Parser of word vector files: a word and its numbers in each line, separated by single spaces.

Files are read in blocks of some megabytes, and the numbers of a block are parsed at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError

__all__ = ["VectorFile"]

BLOCK_BYTES = 8 << 20
# A file with a longer line is no file of vectors.
MAX_LINE_BYTES = 16 << 20

Matrix = npt.NDArray[np.float32]


class VectorFile:
    """A file of vectors; ``blocks()`` yields some thousand vectors at a time.

    A first line of two fields (count, dimension) is skipped. Of a word that occurs twice, the first counts.
    """

    def __init__(self, path: str, max_vectors: int) -> None:
        self.path, self.max_vectors = path, max_vectors
        self.table: dict[str, int] = {}
        self.dim = 0
        self.rows = 0
        self._line = 0

    def blocks(self) -> Iterator[Matrix]:
        """The vectors, in order; ``table`` grows with them."""
        with open(self.path, "rb") as file:
            while block := file.read(BLOCK_BYTES):
                if not block.endswith(b"\n"):
                    block += file.readline(MAX_LINE_BYTES)
                    if len(block) >= BLOCK_BYTES + MAX_LINE_BYTES:
                        raise self._format_error(
                            f"a line of more than {MAX_LINE_BYTES} bytes", self._line + block.count(b"\n")
                        )
                vectors = self._parse_block(block)
                if vectors is not None:
                    yield vectors
                if self.max_vectors and self.rows >= self.max_vectors:
                    return

    def _parse_block(self, block: bytes) -> Matrix | None:
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        if b"\r" in block or b" \n" in block or b"\t" in block or block.endswith(b" "):
            lines = [line.rstrip(b" \t\r") for line in lines]
        if not self._line and lines[0].count(b" ") == 1:
            del lines[0]
            self._line = 1
        if self.max_vectors:
            lines = lines[: self.max_vectors - self.rows]
        if not lines:
            return None
        if not self.dim:
            self._check_line(lines[0], 0)
            self.dim = lines[0].count(b" ")
        if {line.count(b" ") for line in lines} != {self.dim}:
            for i, line in enumerate(lines):
                self._check_line(line, i)
        parts = [line.split(b" ", 1) for line in lines]
        vectors = self._parse_numbers([part[1] for part in parts])
        words = b"\n".join([part[0] for part in parts]).decode("utf-8", "surrogateescape").split("\n")
        for row, word in enumerate(words, self.rows):
            self.table.setdefault(word, row)
        self.rows += len(lines)
        self._line += len(lines)
        return vectors

    def _check_line(self, line: bytes, number: int) -> None:
        num_values = line.count(b" ")
        if num_values < 2:
            raise self._format_error("token with 1-dimensional vector", number, line)
        if self.dim and num_values != self.dim:
            raise self._format_error(
                f"all vectors must have the same number of dimensions, but got dim {num_values} while expecting "
                f"{self.dim}",
                number,
                line,
            )

    def _parse_numbers(self, texts: list[bytes]) -> Matrix:
        joined = b" ".join(texts)
        if b"  " not in joined:
            numbers = _parse_floats(joined)
            if numbers is not None and numbers.size == len(texts) * self.dim:
                return numbers.reshape(len(texts), self.dim)
        for number, text in enumerate(texts):
            for field in text.split(b" "):
                value = _parse_floats(field) if field else None
                if value is None or value.size != 1:
                    shown = field[:40].decode("utf-8", "backslashreplace")
                    raise self._format_error(f'"{shown}" is not a number', number, text)
        raise self._format_error("its numbers cannot be read", 0)

    def _format_error(self, what: str, number: int, line: bytes = b"") -> FormatError:
        line_number = self._line + number + 1
        shown = line[:40].decode("utf-8", "backslashreplace")
        context = f", which begins {shown!r}" if line else ""
        return FormatError(
            f"Vectors: {what} (line {line_number}{context}).", file=self.path, line=line_number
        )


def _parse_floats(text: bytes) -> npt.NDArray[Any] | None:
    """Numbers separated by spaces; None where there is something else."""
    with warnings.catch_warnings():  # NumPy before 2.3 warns where later releases raise an error
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, np.float32, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
