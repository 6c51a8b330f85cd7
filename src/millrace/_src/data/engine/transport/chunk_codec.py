"""Chunk codec: encodes a chunk as one byte sequence and decodes it as zero-copy views.

Layout: ``MRC1``, the length of the header, the header (JSON: names, dtypes, shapes, offsets), then the raw columns,
each aligned to 64 bytes. Dense columns and ragged lists of arrays are stored as in memory: one copy when encoding and
none when decoding. Everything read from the header is checked against the available bytes.

Columns of other Python objects (dicts, PIL images) are pickled into the same bytes. Loading a pickle runs code, so it
is allowed only between a process and the workers it started itself over an unnamed socket pair: there ``objects`` is
passed to :func:`encode_chunk` and :func:`decode_chunk`; elsewhere it is omitted, and such columns are rejected on both
sides.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import DataError, FormatError
from millrace._src.core.machine.shared_memory import ByteArray
from millrace._src.core.values.chunk import Chunk, Column
from millrace._src.core.values.columns import RaggedColumn, StringColumn

__all__ = ["ALIGN", "ByteSource", "ObjectCodec", "EncodedChunk", "encode_chunk", "read_from", "decode_chunk"]

ALIGN = 64
# Values of a ragged column are aligned less: a thousand short texts must not take a cache line each.
_ROW_ALIGN = 16
# Columns smaller than this are copied out of the block: a label kept for a metric must not keep a batch of images in
# memory.
_COPY_BELOW = 4096

# Maximum number of separately written buffers of a chunk; smaller chunks are written as one buffer.
MAX_PIECES = 64
MIN_SPLIT_BYTES = 1 << 14

# created once: json.dumps creates a new encoder for each call
_dump_json = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode

_PREFIX = struct.Struct("<4sI")
_MAGIC = b"MRC1"
_RAW_DTYPE_CODES = frozenset("biufcUSmM")


class ObjectCodec(Protocol):
    """Encoding of values that are not arrays; only for peers that fully trust each other."""

    def dumps(self, value: Any) -> tuple[bytes, list[memoryview]]: ...

    def loads(self, data: Any, buffers: Sequence[Any]) -> Any: ...


class EncodedChunk:
    """A chunk with a layout, not yet copied: allocate ``size`` bytes, then call :meth:`write`."""

    __slots__ = ("head", "parts", "size")

    def __init__(self, head: bytes, parts: list[tuple[int, Any]], size: int) -> None:
        self.head, self.parts, self.size = head, parts, size

    def to_bytes(self) -> ByteArray:
        """The whole chunk in one contiguous buffer."""
        data: ByteArray = np.zeros(self.size, np.uint8)
        self.write(data)
        return data

    def buffers(self) -> list[Any]:
        """The same bytes as consecutive buffers; small chunks and chunks with many parts are copied into one buffer."""
        if len(self.parts) > MAX_PIECES or self.size < MIN_SPLIT_BYTES:
            return [self.to_bytes()]
        pieces: list[Any] = [self.head]
        at = len(self.head)
        for offset, part in self.parts:
            if offset > at:
                pieces.append(bytes(offset - at))
            flat = part
            if isinstance(part, np.ndarray):
                flat = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
            pieces.append(flat)
            at = offset + (flat.nbytes if isinstance(flat, np.ndarray) else len(flat))
        if at < self.size:
            pieces.append(bytes(self.size - at))
        return pieces

    def write(self, out: ByteArray) -> None:
        out[: len(self.head)] = np.frombuffer(self.head, np.uint8)
        for offset, part in self.parts:
            if isinstance(part, np.ndarray):
                target: npt.NDArray[Any] = np.ndarray(part.shape, part.dtype, buffer=out, offset=offset)
                target[...] = part
            else:
                flat = np.frombuffer(part, np.uint8)
                out[offset : offset + flat.size] = flat


class _Layout:
    """Assigns consecutive offsets to parts, relative to the end of the header."""

    def __init__(self) -> None:
        self.parts: list[tuple[int, Any]] = []
        self.end = 0

    def add(self, part: Any, size: int, align: int = ALIGN) -> int:
        offset = -(-self.end // align) * align
        if size:
            self.parts.append((offset, part))
        self.end = offset + size
        return offset


def is_raw(value: Any) -> bool:
    """Whether the value is an array of raw bytes: numbers, bools, dates, fixed-width text."""
    return type(value) is np.ndarray and value.dtype.kind in _RAW_DTYPE_CODES and value.dtype.itemsize > 0


def encode_chunk(chunk: Chunk, extra: bytes = b"", objects: ObjectCodec | None = None) -> EncodedChunk:
    """Encode a chunk, with a few extra bytes of the caller.

    >>> chunk = Chunk({"x": np.arange(6.0).reshape(3, 2)}, np.arange(3, dtype=np.uint64))
    >>> encoded = encode_chunk(chunk)
    >>> data = np.zeros(encoded.size, np.uint8)
    >>> encoded.write(data)
    >>> decode_chunk(data)[0].columns["x"][2].tolist()
    [4.0, 5.0]
    """
    layout = _Layout()
    columns = [_pack_column(layout, name, column, objects) for name, column in chunk.columns.items()]
    ids = np.asarray(chunk.ids, np.uint64)
    origin = np.asarray(chunk.origin, np.int64)
    header = {
        "n": len(ids),
        "epoch": int(chunk.epoch),
        "start": int(chunk.start),
        "ids": layout.add(ids, ids.nbytes),
        "origin": layout.add(origin, origin.nbytes),
        "extra": [layout.add(extra, len(extra)), len(extra)],
        "columns": columns,
    }
    text = _dump_json(header).encode()
    head = _PREFIX.pack(_MAGIC, len(text)) + text
    base = -(-len(head) // ALIGN) * ALIGN
    return EncodedChunk(head, [(base + offset, part) for offset, part in layout.parts], base + layout.end)


def _pack_column(layout: _Layout, name: str, column: Column, objects: ObjectCodec | None) -> list[Any]:
    if is_raw(column):
        assert isinstance(column, np.ndarray)
        return [name, "dense", column.dtype.str, list(column.shape), layout.add(column, column.nbytes)]
    if isinstance(column, StringColumn):
        base = int(column.offsets[0])
        text = column.data[base : int(column.offsets[-1])]
        layout_of_text = [len(text), layout.add(text, len(text)), _pack_offsets(layout, column.offsets)]
        return [
            name,
            "texts",
            *layout_of_text,
            None if column.rows is None else _pack_offsets(layout, column.rows),
        ]
    if isinstance(column, RaggedColumn):
        values = np.ascontiguousarray(column.values)
        first = layout.add(values, values.nbytes)
        return [name, "runs", values.dtype.str, len(values), first, _pack_offsets(layout, column.rows)]
    if isinstance(column, list) and column and all(map(is_raw, column)):
        return _pack_ragged(layout, name, column)
    if objects is None:
        raise DataError(
            "a column of Python objects cannot be sent here; only arrays are supported", column=name
        )
    try:
        data, buffers = objects.dumps(column)
    except Exception as error:
        raise DataError(
            f"the values cannot be sent between processes ({type(error).__name__}: {error}); "
            "return arrays, text, dicts or other picklable values, or run with python_multiprocessing=False",
            column=name,
        ) from error
    at = [[layout.add(part, part.nbytes), part.nbytes] for part in buffers]
    return [name, "objects", layout.add(data, len(data)), len(data), at]


def _pack_offsets(layout: _Layout, offsets: npt.NDArray[np.int64]) -> list[int]:
    """Store offsets relative to the first. Returns their number and position."""
    moved = offsets - offsets[0]
    return [len(moved), layout.add(moved, moved.nbytes)]


def _pack_ragged(layout: _Layout, name: str, rows: list[Any]) -> list[Any]:
    """Rows of any shape and dtype: a table of dtypes, and per row its dtype, rank and shape as int64."""
    codes: dict[str, int] = {}
    shapes: list[int] = []
    first = layout.add(b"", 0)
    for row in rows:
        shapes.append(codes.setdefault(row.dtype.str, len(codes)))
        shapes.append(row.ndim)
        shapes.extend(row.shape)
        layout.add(row, row.nbytes, _ROW_ALIGN)
    meta = np.array(shapes, np.int64)
    return [name, "ragged", list(codes), first, layout.add(meta, meta.nbytes), len(meta)]


def decode_chunk(data: ByteArray, objects: ObjectCodec | None = None) -> tuple[Chunk, bytes]:
    """Decode a chunk and the extra bytes. Large columns are views of ``data`` and keep it alive."""
    return read_from(data, ByteSource(data), objects)


def read_from(head: ByteArray, source: ByteSource, objects: ObjectCodec | None) -> tuple[Chunk, bytes]:
    """Decode a chunk from a byte source with several buffers; ``head`` is the first one."""
    try:
        magic, length = _PREFIX.unpack_from(head.data, 0)
        if magic != _MAGIC or _PREFIX.size + length > head.size:
            raise ValueError("it does not start like a chunk")
        header = json.loads(bytes(head[_PREFIX.size : _PREFIX.size + length]))
        source.base = -(-(_PREFIX.size + length) // ALIGN) * ALIGN
        rows = header["n"]
        columns: dict[str, Column] = {}
        for entry in header["columns"]:
            column = _unpack_column(source, entry, rows, objects)
            if len(column) != rows:
                raise ValueError(f"column {entry[0]!r} has {len(column)} rows where the chunk has {rows}")
            columns[entry[0]] = column
        ids = source.array(np.dtype(np.uint64), [rows], header["ids"]).copy()
        origin = source.array(np.dtype(np.int64), [rows], header["origin"]).copy()
        extra = bytes(source.raw(*header["extra"]))
        return Chunk(columns, ids, origin, header["epoch"], header["start"]), extra
    except (ValueError, KeyError, IndexError, TypeError, struct.error) as error:
        raise FormatError(f"a packed chunk of {source.size} bytes is damaged: {error}") from error


class ByteSource:
    """Bounds-checked access to the parts of an encoded chunk. ``base`` is the end of the header."""

    def __init__(self, data: ByteArray) -> None:
        self.data, self.base, self.size = data, 0, data.size

    def raw(self, offset: int, size: int) -> ByteArray:
        start = self.base + offset
        if offset < 0 or size < 0 or (size and start + size > self.size):
            raise ValueError(f"{size} bytes at {start} lie outside")
        return self.data[start : start + size]

    def array(self, dtype: np.dtype[Any], shape: Sequence[int], offset: int) -> npt.NDArray[Any]:
        count = 1
        for length in shape:
            if not isinstance(length, int) or length < 0:
                raise ValueError(f"{list(shape)} is not a shape")
            count *= length
        if not count:
            return np.empty(shape, dtype)
        return np.ndarray(shape, dtype, buffer=self.raw(offset, count * dtype.itemsize))


def _raw_type(text: str) -> np.dtype[Any]:
    dtype = np.dtype(text)
    if dtype.kind not in _RAW_DTYPE_CODES or not dtype.itemsize:
        raise ValueError(f"{text!r} is not a type of raw values")
    return dtype


def _unpack_column(source: ByteSource, entry: list[Any], rows: int, objects: ObjectCodec | None) -> Column:
    encoding = entry[1]
    if encoding == "dense":
        _, _, dtype, shape, offset = entry
        array = source.array(_raw_type(dtype), shape, offset)
        return array.copy() if array.nbytes < _COPY_BELOW else array
    if encoding == "texts":
        _, _, size, at, inside, outside = entry
        return _unpack_texts(source, size, at, inside, outside)
    if encoding == "runs":
        _, _, dtype, count, at, inside = entry
        values = source.array(_raw_type(dtype), [count], at)
        return RaggedColumn(
            values.copy() if values.nbytes < _COPY_BELOW else values, _read_offsets(source, inside, count)
        )
    if encoding == "ragged":
        _, _, dtypes, first, meta, count = entry
        table = [_raw_type(text) for text in dtypes]
        shapes = source.array(np.dtype(np.int64), [count], meta).tolist()
        return _unpack_ragged(source, rows, table, first, shapes)
    if encoding == "objects" and objects is not None:
        _, _, offset, size, buffers = entry
        pickled, parts = source.raw(offset, size), [source.raw(*at) for at in buffers]
        try:
            column = objects.loads(pickled, parts)
        except Exception as error:  # a user-defined __setstate__ may raise anything
            raise DataError(
                f"the values cannot be rebuilt on this side ({type(error).__name__}: {error})",
                column=entry[0],
            ) from error
        if not isinstance(column, (list, np.ndarray)):
            raise ValueError(f"a {type(column).__name__} is not a column")
        return column
    raise ValueError(f"a column of kind {encoding!r} is not accepted here")


def _unpack_texts(
    source: ByteSource, size: int, at: int, inside: list[int], outside: list[int] | None
) -> StringColumn:
    data = source.array(np.dtype(np.uint8), [size], at).copy()
    offsets = _read_offsets(source, inside, size)
    data.tobytes().decode()  # ValueError if it is not UTF-8
    starts = offsets[offsets < size]
    if (data[starts] & 0xC0 == 0x80).any():
        raise ValueError("a string begins inside a character")
    return StringColumn(
        data, offsets, None if outside is None else _read_offsets(source, outside, len(offsets) - 1)
    )


def _read_offsets(source: ByteSource, location: list[int], end: int) -> npt.NDArray[np.int64]:
    """Read offsets and check that they start at 0, never decrease, and end at ``end``."""
    count, at = location
    offsets = source.array(np.dtype(np.int64), [count], at).copy()
    if not count or offsets[0] or offsets[-1] != end or (np.diff(offsets) < 0).any():
        raise ValueError("the offsets of a column do not fit its values")
    return offsets


def _unpack_ragged(
    source: ByteSource, rows: int, table: list[np.dtype[Any]], first: int, meta: list[int]
) -> list[Any]:
    column: list[Any] = []
    at, offset = 0, first
    for _ in range(rows):
        dtype, rank = table[meta[at]], meta[at + 1]
        shape = meta[at + 2 : at + 2 + rank]
        if len(shape) != rank:
            raise ValueError("the table of shapes is too short")
        at += 2 + rank
        offset = -(-offset // _ROW_ALIGN) * _ROW_ALIGN
        array = source.array(dtype, shape, offset)
        column.append(array)
        offset += array.nbytes
    if column and offset - first < _COPY_BELOW:
        return [array.copy() for array in column]
    return column
