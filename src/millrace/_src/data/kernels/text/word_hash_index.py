"""Hash index of words in a memory-mapped file; no table of all words is built."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["WordIndex"]


class WordIndex:
    """Words and their rows, ordered by hash: the text of word k lies between ends[k] and ends[k + 1].

    >>> index = WordIndex.of({"a": 0, "中": 1})
    >>> index.find(["中", "b", "a"]), index.table()
    ([1, None, 0], {'a': 0, '中': 1})
    """

    def __init__(
        self,
        hashes: npt.NDArray[np.uint64],
        ends: npt.NDArray[np.int64],
        rows: npt.NDArray[np.int32],
        text: npt.NDArray[np.uint8],
    ) -> None:
        self.hashes, self.ends, self.rows, self.text = hashes, ends, rows, text

    @classmethod
    def of(cls, table: dict[str, int]) -> WordIndex:
        words = [word.encode("utf-8", "surrogatepass") for word in table]
        hashes = np.fromiter(map(_hash, words), np.uint64, len(words))
        order = np.argsort(hashes, kind="stable")
        words = [words[i] for i in order.tolist()]
        ends = np.zeros(len(words) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, words), np.int64, len(words)), out=ends[1:])
        rows = np.fromiter(table.values(), np.int32, len(words))[order]
        return cls(hashes[order], ends, rows, np.frombuffer(b"".join(words), np.uint8))

    @property
    def parts(self) -> tuple[npt.NDArray[Any], ...]:
        """The arrays, in the order in which they are stored."""
        return self.hashes, self.ends, self.rows, self.text

    def find(self, words: Sequence[str]) -> list[int | None]:
        """Rows of these words, None for an unknown word."""
        data = [word.encode("utf-8", "surrogatepass") for word in words]
        hashes = np.fromiter(map(_hash, data), np.uint64, len(data))
        positions = np.searchsorted(self.hashes, hashes).tolist()
        return [self._find_row(position, encoded) for position, encoded in zip(positions, data, strict=True)]

    def _find_row(self, position: int, word: bytes) -> int | None:
        target = _hash(word)
        while position < len(self.hashes) and int(self.hashes[position]) == target:
            if self.text[self.ends[position] : self.ends[position + 1]].tobytes() == word:
                return int(self.rows[position])
            position += 1  # another word with the same hash
        return None

    def table(self) -> dict[str, int]:
        """All words and their rows, ordered by row."""
        text = self.text.tobytes()
        ends = self.ends.tolist()
        order = np.argsort(self.rows, kind="stable").tolist()
        words = [text[ends[k] : ends[k + 1]].decode("utf-8", "surrogatepass") for k in order]
        return dict(zip(words, self.rows[order].tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.hashes)


def _hash(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")
