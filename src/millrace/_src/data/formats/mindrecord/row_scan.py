"""Scan of length-prefixed rows in a row group."""

from __future__ import annotations

import mmap
import struct

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError

__all__ = ["scan_rows"]

Ints = npt.NDArray[np.int64]
_LENGTH = struct.Struct("<Q")


def scan_rows(
    data: mmap.mmap | bytes,
    start: int,
    limit: int,
    rows: int,
    prefix: bytes = b"",
    file: str = "",
    page: int = 0,
) -> tuple[Ints, Ints]:
    """Start and end of the payload of each row; rows must fill [start, limit) from its start.

    ``prefix`` is the expected start of every payload, a hint for locating many rows at once.

    >>> bounds = scan_rows(b"\\x02" + b"\\0" * 7 + b"ab" + b"\\x01" + b"\\0" * 7 + b"c", 0, 19, 2)
    >>> bounds[0].tolist(), bounds[1].tolist()
    ([8, 18], [10, 19])
    """
    bounds = _find_equal_rows(data, start, limit, rows)
    if bounds is None and prefix and rows > 64:
        bounds = _find_by_prefix(data, start, limit, rows, prefix)
    return bounds if bounds is not None else _follow_lengths(data, start, limit, rows, file, page)


def _find_equal_rows(data: mmap.mmap | bytes, start: int, limit: int, rows: int) -> tuple[Ints, Ints] | None:
    """Locate rows of equal size (fixed-size blobs, dummies) with a strided view of the lengths."""
    stride = (limit - start) // rows
    if stride < 8 or stride * rows != limit - start:
        return None
    lengths = np.ndarray((rows,), "<u8", data, start, (stride,))
    if not bool((lengths == stride - 8).all()):
        return None
    begins = start + 8 + stride * np.arange(rows, dtype=np.int64)
    return begins, begins + (stride - 8)


def _find_by_prefix(
    data: mmap.mmap | bytes, start: int, limit: int, rows: int, prefix: bytes
) -> tuple[Ints, Ints] | None:
    """Locate every offset that matches the start of a row, then check that the rows form a chain.

    The pattern is one 64-bit value: five zero bytes (the high bytes of a length below 2**24) and three payload bytes.
    """
    pattern = int.from_bytes(b"\0" * 5 + prefix[:3], "little")
    if len(prefix) < 3 or limit - start < 16:
        return None
    candidates = []
    for shift in range(8):
        count = (limit - start - 3 - shift) // 8
        if count > 0:
            windows = np.ndarray((count,), "<u8", data, start + 3 + shift)
            candidates.append(np.flatnonzero(windows == pattern) * 8 + (start + 8 + shift))
    begins = np.sort(np.concatenate(candidates)).astype(np.int64)
    if len(begins) < rows or begins[0] != start + 8:
        return None
    lengths = np.ndarray((limit - 7,), "<u8", data, 0, (1,))[begins - 8].astype(np.int64)
    ends = begins + lengths
    if len(begins) > rows:  # a match inside a value, or rows of another group after these
        begins, ends = begins[:rows], ends[:rows]
    if bool((ends[:-1] + 8 != begins[1:]).any()) or ends[-1] > limit:
        return None
    return begins, ends


def _follow_lengths(
    data: mmap.mmap | bytes, start: int, limit: int, rows: int, file: str, page: int
) -> tuple[Ints, Ints]:
    begins = np.empty(rows, np.int64)
    ends = np.empty(rows, np.int64)
    read = _LENGTH.unpack_from
    offset = start
    for row in range(rows):
        if offset + 8 > limit:
            raise FormatError(f"the page ends after {row} of {rows} rows", file=file, page=page, row=row)
        begins[row] = offset + 8
        offset += 8 + read(data, offset)[0]
        if offset > limit:
            text = f"a row claims {offset - int(begins[row])} bytes, {limit - int(begins[row])} are left in its page"
            raise FormatError(text, file=file, page=page, row=row)
        ends[row] = offset
    return begins, ends
