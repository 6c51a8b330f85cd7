"""Variable-width packed integer arrays of MindRecord 3.0.

A packed array is a big-endian count, two bits per element for its width (1, 2, 4 or 8 bytes), and the
elements in little-endian two's complement, each in its own width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError

__all__ = ["pack", "unpack", "unpack_many", "unpack_uniform"]

Ints = npt.NDArray[np.int64]
_BLOCK = 1 << 16
_MAX_BATCH_BYTES = 1 << 20  # bytes unpacked at once


def pack(values: npt.NDArray[Any]) -> bytes:
    """Pack integers, each in the smallest of 1, 2, 4 and 8 bytes.

    >>> pack(np.array([1, -1, 128])).hex(" ")
    '00 00 00 03 04 01 ff 80 00'
    """
    flat = np.ascontiguousarray(values, np.int64).reshape(-1)
    count = len(flat)
    head = count.to_bytes(4, "big")
    if not count:
        return head
    low, high = int(flat.min()), int(flat.max())
    codes = np.zeros(-(-count // 4) * 4, np.uint8)
    if low >= -128 and high <= 127:
        return head + bytes(len(codes) // 4) + flat.astype(np.int8).tobytes()
    element_codes = codes[:count]
    for width in (8, 16, 32):
        edge = 1 << (width - 1)
        element_codes += (flat < -edge) | (flat >= edge)
    quads = codes.reshape(-1, 4)
    packed = (quads[:, 0] << 6) | (quads[:, 1] << 4) | (quads[:, 2] << 2) | quads[:, 3]
    body = flat.astype("<i8").view(np.uint8).reshape(count, 8)
    keep = np.arange(8) < (1 << element_codes.astype(np.int64))[:, None]
    return head + packed.tobytes() + body[keep].tobytes()


def _width_codes(data: npt.NDArray[np.uint8], count: int) -> npt.NDArray[np.uint8]:
    spread = np.empty((len(data), 4), np.uint8)
    for position in range(4):
        spread[:, position] = (data >> (6 - 2 * position)) & 3
    return spread.reshape(-1)[:count]


def unpack(data: bytes | memoryview, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Unpack the integers of one field; its length must match its width codes exactly.

    >>> unpack(bytes.fromhex("0000000304 01ff8000".replace(" ", "")), np.dtype("<i4")).tolist()
    [1, -1, 128]
    """
    size = len(data)
    if size < 4:
        raise FormatError(f"a packed array needs 4 bytes for its count, the field has {size}")
    count = int.from_bytes(data[:4], "big")
    width = -(-count // 4)
    if 4 + width + count > size:
        raise FormatError(f"a packed array claims {count} elements in {size} bytes")
    raw = np.frombuffer(data, np.uint8)
    codes = _width_codes(raw[4 : 4 + width], count)
    body = raw[4 + width :]
    if not count or not codes.any():
        if len(body) != count:
            raise FormatError(f"a packed array of {count} bytes is followed by {len(body) - count} more")
        return body.view(np.int8).astype(dtype)
    need = sum(int(n) << code for code, n in enumerate(np.bincount(codes, minlength=4)))
    if need != len(body):
        raise FormatError(f"a packed array needs {need} bytes for its elements, the field has {len(body)}")
    code = int(codes[0])
    if bool((codes == code).all()):
        return _cast_exact(body.view(f"<i{1 << code}"), dtype)
    padded = np.concatenate([body, np.zeros(8, np.uint8)])
    windows = np.ndarray((len(padded) - 7,), "<i8", padded.data, 0, (1,))
    values = np.empty(count, dtype)
    offset = 0
    for begin in range(0, count, _BLOCK):  # in blocks: the temporary arrays are larger than the data
        widths = np.left_shift(1, codes[begin : begin + _BLOCK].astype(np.int64))
        ends = offset + np.cumsum(widths)
        spare = 64 - 8 * widths
        values[begin : begin + _BLOCK] = _cast_exact((windows[ends - widths] << spare) >> spare, dtype)
        offset = int(ends[-1])
    return values


def _cast_exact(values: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if values.dtype.itemsize > dtype.itemsize and not bool((values == values.astype(dtype)).all()):
        raise FormatError(f"a packed array holds a number beyond {dtype}")
    return values.astype(dtype)


def unpack_uniform(
    data: bytes, starts: Ints, ends: Ints, count: int, dtype: np.dtype[Any]
) -> npt.NDArray[Any] | None:
    """Unpack rows with equal element counts and a single width as one array; None for other rows."""
    width = -(-count // 4)
    sizes = ends - starts
    size = int(sizes[0])
    body = size - 4 - width
    if body not in (count, 2 * count, 4 * count, 8 * count) or bool((sizes != size).any()):
        return None
    rows = (
        np.ndarray((len(data) - size + 1,), f"V{size}", data, 0, (1,))[starts]
        .view(np.uint8)
        .reshape(-1, size)
    )
    code = (body // count).bit_length() - 1
    head = np.frombuffer(count.to_bytes(4, "big") + _uniform_codes(code, count), np.uint8)
    if not bool((rows[:, : 4 + width] == head).all()):
        return None
    values = np.ascontiguousarray(rows[:, 4 + width :]).view(f"<i{1 << code}")
    return _cast_exact(values, dtype)


def _uniform_codes(code: int, count: int) -> bytes:
    full, rest = divmod(count, 4)
    whole = (0x00, 0x55, 0xAA, 0xFF)[code]
    return bytes([whole]) * full + (bytes([whole & (0xFF << (8 - 2 * rest)) & 0xFF]) if rest else b"")


def unpack_many(data: bytes, starts: Ints, ends: Ints, dtype: np.dtype[Any]) -> list[npt.NDArray[Any]]:
    """Unpack the fields of many rows; data ends in eight spare bytes. Small fields are unpacked together."""
    if len(starts) < 4 or int((ends - starts).sum()) > 1024 * len(starts):
        view = memoryview(data)
        return [
            _unpack_row(view[s:e], dtype, n) for n, (s, e) in enumerate(zip(starts.tolist(), ends.tolist()))
        ]
    sizes = ends - starts
    if int(sizes.sum()) > _MAX_BATCH_BYTES:
        half = len(starts) // 2
        first = unpack_many(data, starts[:half], ends[:half], dtype)
        try:
            return first + unpack_many(data, starts[half:], ends[half:], dtype)
        except FormatError as error:
            error.context["block_row"] += half
            raise
    _require_all(sizes >= 4, "a packed array needs 4 bytes for its count")
    windows = np.ndarray((len(data) - 7,), "<u8", data, 0, (1,))
    counts = (windows[starts].byteswap() >> np.uint64(32)).astype(np.int64)
    code_bytes = (counts + 3) // 4
    _require_all(4 + code_bytes + counts <= sizes, "a packed array claims more elements than it has bytes")
    firsts = np.cumsum(counts) - counts
    # number of the element in its row
    element_indices = np.arange(int(counts.sum())) - np.repeat(firsts, counts)
    raw = np.frombuffer(data, np.uint8)
    codes = (
        raw[np.repeat(starts + 4, counts) + element_indices // 4]
        >> (6 - 2 * (element_indices & 3)).astype(np.uint8)
    ) & 3
    widths = np.left_shift(1, codes.astype(np.int64))
    offsets = np.cumsum(widths) - widths
    totals = np.concatenate([offsets, [int(widths.sum())]])
    row_base = totals[np.minimum(firsts, len(offsets))]
    row_bytes = totals[firsts + counts] - row_base
    _require_all(4 + code_bytes + row_bytes == sizes, "a packed array's elements do not fill its field")
    value_offsets = offsets + np.repeat(starts + 4 + code_bytes - row_base, counts)
    spare = 64 - 8 * widths
    flat = _cast_exact((windows[value_offsets].view(np.int64) << spare) >> spare, dtype)
    bounds = firsts.tolist()
    return [flat[b : b + c] for b, c in zip(bounds, counts.tolist())]


def _unpack_row(data: memoryview, dtype: np.dtype[Any], number: int) -> npt.NDArray[Any]:
    try:
        return unpack(data, dtype)
    except FormatError as error:
        error.context["block_row"] = number
        raise


def _require_all(good: npt.NDArray[np.bool_], text: str) -> None:
    if not bool(good.all()):
        raise FormatError(text, block_row=int(np.flatnonzero(~good)[0]))
