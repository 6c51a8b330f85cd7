"""Vectorized decoding of one feature of many ``tf.train.Example`` messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.data.formats.files.byte_ranges import Ints, slice_fixed_width

from .feature_offsets import Bytes, varints

__all__ = ["byte_values", "float_values", "int_values"]

# Varints of up to this many bytes are decoded byte column by byte column.
MAX_SINGLE_BYTES = 4

# A column with None for rows in another encoding, which must be parsed individually.
PartialColumn = npt.NDArray[Any] | list[Any]


def _packed_lists(raw: Bytes, starts: Ints, sizes: Ints) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """Offset and length of the payload of packed lists, and whether each list is packed."""
    lengths, offsets = varints(raw, starts + 1)
    plain = (raw[starts] == 0x0A) & (offsets + lengths == starts + sizes)
    empty = sizes == 0
    if empty.any():
        lengths, offsets, plain = np.where(empty, 0, lengths), np.where(empty, starts, offsets), plain | empty
    return offsets, lengths, plain


def _decode_runs(
    raw: Bytes, offsets: Ints, lengths: Ints, plain: npt.NDArray[np.bool_], dtype: str
) -> PartialColumn:
    if bool(plain.all()) and len(offsets) and bool((lengths == lengths[0]).all()):
        return slice_fixed_width(raw, offsets, int(lengths[0])).view(dtype)
    return [
        raw[a : a + n].view(dtype).copy() if ok else None
        for a, n, ok in zip(offsets.tolist(), lengths.tolist(), plain.tolist())
    ]


def byte_values(raw: Bytes, starts: Ints, sizes: Ints) -> PartialColumn:
    """Decode rows with one bytes value."""
    offsets, lengths, plain = _packed_lists(raw, starts, sizes)
    return _decode_runs(raw, offsets, lengths, plain & (sizes > 0), "u1")


def float_values(raw: Bytes, starts: Ints, sizes: Ints) -> PartialColumn:
    offsets, lengths, plain = _packed_lists(raw, starts, sizes)
    values = _decode_runs(raw, offsets, np.where(plain, lengths, 0), plain & (lengths % 4 == 0), "<f4")
    if isinstance(values, np.ndarray):
        return values.astype(np.float32, copy=False)
    return values


def _single_ints(raw: Bytes, offsets: Ints, lengths: Ints) -> PartialColumn | None:
    """Decode one short varint per row; None if rows differ."""
    most = int(lengths.max(initial=0))
    if not 0 < most <= MAX_SINGLE_BYTES or int(lengths.min()) < 1:
        return None
    values, left = np.zeros(len(offsets), np.int64), lengths
    for n in range(most):
        byte = raw[offsets + n].astype(np.int64)
        here = left > n
        if not bool(((byte >= 0x80) == (left > n + 1))[here].all()):
            return None
        values |= np.where(here, (byte & 0x7F) << (7 * n), 0)
    return values[:, None]


def int_values(raw: Bytes, starts: Ints, sizes: Ints) -> PartialColumn:
    """Decode the packed varints of all rows together."""
    offsets, lengths, plain = _packed_lists(raw, starts, sizes)
    single = _single_ints(raw, offsets, lengths) if bool(plain.all()) else None
    if single is not None:
        return single
    lengths = np.where(plain, lengths, 0)
    total = int(lengths.sum())
    firsts = np.cumsum(lengths) - lengths
    data = raw[np.repeat(offsets - firsts, lengths) + np.arange(total)]
    last = data < 0x80
    ends = np.flatnonzero(last)
    begins = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
    counts = np.diff(np.concatenate(([0], np.cumsum(last)))[np.append(firsts, total)])
    # every row must end at the end of a varint, and no varint may be longer than ten bytes
    whole = last[np.maximum(firsts + lengths - 1, 0)] if total else np.ones(len(lengths), bool)
    plain = plain & (whole | (lengths == 0))
    if len(ends) and int((ends - begins).max()) > 9:
        plain = plain & False
    if len(ends) == total:
        values = data.astype(np.int64)
    elif len(ends):
        shift = (
            (np.arange(total) - np.repeat(begins, ends - begins + 1)) * 7 if ends[-1] == total - 1 else None
        )
        if shift is None:
            return [None] * len(starts)
        parts = (data & 0x7F).astype(np.uint64) << shift.astype(np.uint64)
        values = np.bitwise_or.reduceat(parts, begins).view(np.int64)
    else:
        return [None if n else np.empty(0, np.int64) for n in lengths.tolist()]
    if bool(plain.all()) and bool((counts == counts[0]).all()):
        return values.reshape(len(starts), int(counts[0]))
    first_values = np.cumsum(counts) - counts
    return [
        values[p : p + n].copy() if ok else None
        for p, n, ok in zip(first_values.tolist(), counts.tolist(), plain.tolist())
    ]
