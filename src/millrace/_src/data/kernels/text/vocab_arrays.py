"""Words and their ids as three arrays: the form that is pickled, hashed and stored in files."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["VocabArrays"]


class VocabArrays:
    """The words as one UTF-8 text, the length of each in characters, and their ids.

    >>> VocabArrays.of({"ab": 1, "é": 7}).table()
    {'ab': 1, 'é': 7}
    """

    def __init__(
        self, text: npt.NDArray[np.uint8], lengths: npt.NDArray[np.int32], ids: npt.NDArray[np.int32]
    ) -> None:
        self.text, self.lengths, self.ids = text, lengths, ids

    @classmethod
    def of(cls, table: dict[str, int]) -> VocabArrays:
        text = "".join(table).encode("utf-8", "surrogatepass")
        lengths = np.fromiter(map(len, table), np.int32, len(table))
        ids = np.fromiter(table.values(), np.int32, len(table))
        return cls(np.frombuffer(text, np.uint8), lengths, ids)

    def table(self) -> dict[str, int]:
        text = self.text.tobytes().decode("utf-8", "surrogatepass")
        ends = np.cumsum(self.lengths, dtype=np.int64).tolist()
        words = [text[start:end] for start, end in itertools.pairwise([0, *ends])]
        return dict(zip(words, self.ids.tolist(), strict=True))

    def digest(self) -> bytes:
        """Hash of the contents, the same in every process."""
        hasher = hashlib.blake2b(digest_size=20)
        for part in self:
            hasher.update(part.size.to_bytes(8, "little"))
            hasher.update(np.ascontiguousarray(part).reshape(-1).data)
        return hasher.digest()

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return iter((self.text, self.lengths, self.ids))
