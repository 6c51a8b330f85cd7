"""Decoding of blob rows to columns of bytes and arrays."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError
from millrace._src.data.formats.mindrecord.schema import Field

from .packed_integers import unpack_many, unpack_uniform

__all__ = ["DUMMY_BLOB", "ByteSlices", "blob_columns", "join"]

DUMMY_BLOB = bytes(4)  # payload of a row without blob fields
Ints = npt.NDArray[np.int64]
_LENGTH = struct.Struct(">Q")
_SMALL_ROW = 4096
_SPARE = bytes(8)


class Buffer(Protocol):
    """A memory map, or bytes."""

    def __getitem__(self, key: slice, /) -> bytes: ...


class ByteSlices:
    """Byte ranges in one or several memory maps, one range per row."""

    def __init__(self, maps: Sequence[Any], starts: list[int], ends: list[int]) -> None:
        self.maps, self.starts, self.ends = maps, starts, ends

    def copies(self) -> list[bytes]:
        return [data[start:end] for data, start, end in zip(self.maps, self.starts, self.ends)]

    def views(self) -> list[npt.NDArray[np.uint8]]:
        """Read-only arrays on the maps, without copies."""
        return [np.ndarray((e - s,), np.uint8, d, s) for d, s, e in zip(self.maps, self.starts, self.ends)]


def join(parts: list[bytes]) -> tuple[bytes, Ints, Ints]:
    """Concatenate parts and eight spare bytes; return the buffer and the range of each part."""
    sizes = np.fromiter(map(len, parts), np.int64, len(parts))
    ends = np.cumsum(sizes)
    return b"".join([*parts, _SPARE]), ends - sizes, ends


def blob_columns(
    pieces: ByteSlices, fields: Sequence[Field], wanted: Sequence[str], packed: bool, views: bool = False
) -> dict[str, Any]:
    """Decode the wanted blob fields of rows with these payloads."""
    if not pieces.starts:
        return {
            field.name: decode_field(field, b"", *_no_offsets(), packed)
            for field in fields
            if field.name in wanted
        }
    if len(fields) == 1:
        return {fields[0].name: _decode_slices(fields[0], pieces, packed, views)}
    columns: dict[str, Any] = {}
    total = sum(pieces.ends) - sum(pieces.starts)
    if total <= _SMALL_ROW * len(pieces.starts) and not views:
        data, starts, ends = join(pieces.copies())
        for field, (begin, end) in zip(fields, _split_joined(data, starts, ends, len(fields))):
            if field.name in wanted:
                columns[field.name] = _decode_named_field(field, data, begin, end, packed)
        return columns
    spans = _split_rows(pieces, len(fields))
    for field, (begins, stops) in zip(fields, spans):
        if field.name in wanted:
            columns[field.name] = _decode_slices(field, ByteSlices(pieces.maps, begins, stops), packed, views)
    return columns


def _no_offsets() -> tuple[Ints, Ints]:
    return np.empty(0, np.int64), np.empty(0, np.int64)


def _decode_slices(field: Field, pieces: ByteSlices, packed: bool, views: bool) -> Any:
    if field.type == "bytes":
        return pieces.views() if views else pieces.copies()
    return _decode_named_field(field, *join(pieces.copies()), packed)


def _decode_named_field(field: Field, data: bytes, starts: Ints, ends: Ints, packed: bool) -> Any:
    try:
        return decode_field(field, data, starts, ends, packed)
    except FormatError as error:
        error.context["column"] = field.name
        raise


def _split_joined(data: bytes, starts: Ints, ends: Ints, count: int) -> list[tuple[Ints, Ints]]:
    """Byte ranges of each field, computed for all rows at once."""
    windows = np.ndarray((len(data) - 7,), np.uint64, data, 0, (1,))
    spans = []
    offsets = starts
    for number in range(count):
        _require_all(offsets + 8 <= ends, f"a blob row ends before its field {number}")
        sizes = windows[offsets].byteswap()
        begin = offsets + 8
        _require_all(
            sizes <= (ends - begin).view(np.uint64), f"field {number} of a blob row extends past its end"
        )
        offsets = begin + sizes.view(np.int64)
        spans.append((begin, offsets))
    _require_all(offsets == ends, "bytes follow the last field of a blob row")
    return spans


def _split_rows(pieces: ByteSlices, count: int) -> list[tuple[list[int], list[int]]]:
    """Byte ranges of each field, computed row by row without copying the rows."""
    spans: list[tuple[list[int], list[int]]] = [([], []) for _ in range(count)]
    read = _LENGTH.unpack_from
    for row, (data, offset, end) in enumerate(zip(pieces.maps, pieces.starts, pieces.ends)):
        for begins, stops in spans:
            if offset + 8 > end:
                raise FormatError("a blob row ends before its last field", block_row=row)
            begin = offset + 8
            offset = begin + read(data, offset)[0]
            if offset > end:
                raise FormatError("a field of a blob row extends past its end", block_row=row)
            begins.append(begin)
            stops.append(offset)
        if offset != end:
            raise FormatError("bytes follow the last field of a blob row", block_row=row)
    return spans


def _require_all(good: npt.NDArray[np.bool_], text: str) -> None:
    if not bool(good.all()):
        raise FormatError(text, block_row=int(np.flatnonzero(~good)[0]))


def decode_field(field: Field, data: bytes, starts: Ints, ends: Ints, packed: bool) -> Any:
    """Decode one field of many rows: a list of bytes, one array for a fixed shape, else a list of arrays.

    >>> bounds = np.array([0]), np.array([8])
    >>> decode_field(
    ...     Field("x", "float32", (2,)), b"\\0\\0\\x80?\\0\\0\\0@" + bytes(8), *bounds, True
    ... ).tolist()
    [[1.0, 2.0]]
    """
    if field.type == "bytes":
        return [data[start:end] for start, end in zip(starts.tolist(), ends.tolist())]
    dtype = field.dtype
    fixed = field.fixed_size
    if fixed is not None and not len(starts):
        return np.empty((0, *(field.shape or ())), dtype)
    if field.is_integer and packed:
        dense = unpack_uniform(data, starts, ends, fixed, dtype) if fixed is not None else None
        if dense is not None:
            return dense.reshape(-1, *(field.shape or ()))
        arrays = unpack_many(data, starts, ends, dtype)
    else:
        sizes = ends - starts
        _require_all(
            sizes % dtype.itemsize == 0, f"the size of an array is not a multiple of the size of {field.type}"
        )
        if fixed is not None:
            size = fixed * dtype.itemsize
            _require_all(sizes == size, f"an array of shape {list(field.shape or ())} needs {size} bytes")
            window = np.ndarray((len(data) - size + 1,), f"V{size}", data, 0, (1,))
            return window[starts].view(dtype).reshape(-1, *(field.shape or ()))
        counts = (sizes // dtype.itemsize).tolist()
        arrays = [np.frombuffer(data, dtype, c, s).copy() for s, c in zip(starts.tolist(), counts)]
    shaped = []
    for row, array in enumerate(arrays):
        shape = field.shape_for(len(array))
        if shape is None:
            text = f"{len(array)} elements do not fit the shape {list(field.shape or ())}"
            raise FormatError(text, block_row=row)
        shaped.append(array if array.shape == shape else array.reshape(shape))
    return np.stack(shaped) if fixed is not None else shaped
