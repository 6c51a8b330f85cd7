"""Text as fixed-width arrays, and as UTF-8 bytes with offsets."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Utf8Strings", "shrink_width"]


def shrink_width(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Shrink a text array to the width of its longest value; 1 for empty text, as in MindSpore.

    >>> shrink_width(np.array(["ab", ""], "U9")).dtype.itemsize // 4, shrink_width(np.array([], "S3")).dtype
    (2, dtype('S1'))
    """
    type_code = values.dtype.kind
    char_bytes = 4 if type_code == "U" else 1
    width = wide = values.dtype.itemsize // char_bytes
    if not values.size or not width:
        return np.zeros(values.shape, f"{type_code}1") if width != 1 else values
    if not values.ndim:  # a single value, the most common case
        text = values.item()
        return values if len(text) == width or width == 1 else np.array(text)
    whole = values if values.flags.c_contiguous else values.copy()
    characters = whole.reshape(-1).view(np.uint32 if char_bytes == 4 else np.uint8).reshape(-1, width)
    while wide > 1 and not characters[:, wide - 1].any():
        wide -= 1
    return whole if wide == width else whole.astype(f"{type_code}{wide}")


class Utf8Strings(NamedTuple):
    """Strings as UTF-8 bytes with the offset of each.

    ``gap`` is 1 for lines, where a newline follows each string but the last and all bytes are ASCII; else 0.
    """

    data: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int64]
    gap: int

    def sizes(self) -> npt.NDArray[np.int64]:
        """Bytes of each string."""
        return self.offsets[1:] - self.offsets[:-1] - self.gap

    def bytes(self) -> bytes:
        """The bytes from the first string to the last; there must be at least one."""
        return self.data[int(self.offsets[0]) : int(self.offsets[-1]) - self.gap].tobytes()

    def strings(self) -> list[str]:
        if len(self.offsets) < 2:
            return []
        raw = self.bytes()
        if self.gap:
            return raw.decode("ascii").split("\n")
        pairs = itertools.pairwise((self.offsets - self.offsets[0]).tolist())
        if raw.isascii():
            whole = raw.decode("ascii")
            return [whole[a:b] for a, b in pairs]
        return [raw[a:b].decode() for a, b in pairs]

    def wide(self) -> npt.NDArray[Any] | None:
        """All strings as one array, without creating a Python string for each; None if there is none or for non-ASCII.

        >>> Utf8Strings(np.frombuffer(b"abc", np.uint8), np.array([0, 1, 1, 3]), 0).wide()
        array(['a', '', 'bc'], dtype='<U2')
        """
        if len(self.offsets) < 2:
            return None
        raw = self.bytes()
        if not (self.gap or raw.isascii()):
            return None
        sizes = self.sizes()
        width = max(1, int(sizes.max()))
        # each string is copied as one item with the length of the longest; bytes after a shorter one are zeroed later
        buffer = np.zeros(len(raw) + width, np.uint8)
        buffer[: len(raw)] = np.frombuffer(raw, np.uint8)
        items: npt.NDArray[Any] = np.ndarray((len(raw) + 1,), f"V{width}", buffer, 0, (1,))
        letters = items[self.offsets[:-1] - self.offsets[0]].view(np.uint8).reshape(len(sizes), width)
        if int(sizes.min()) < width:
            letters *= np.arange(width) < sizes[:, None]
        array: npt.NDArray[Any] = letters.astype(np.uint32).view(f"U{width}").reshape(len(sizes))
        return array
