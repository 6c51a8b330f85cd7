"""Row group: a checksummed, packed block of rows, the unit in which a cache stores and maps data.

Layout: the header (magic, rows, length, checksum, tag of the row store), the number of each row, then the encoded
chunk. A row group starts on a 64-byte boundary, and so does the chunk in it. A reader compares the stored row number
with the requested one, so a wrong slot never returns a wrong row.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from zlib_ng import zlib_ng

from millrace._src.core.errors import DataError, FormatError
from millrace._src.core.machine.shared_memory import ByteArray
from millrace._src.core.values.batch_buffers import contiguous_view
from millrace._src.core.values.chunk import Chunk, Column
from millrace._src.data.engine.transport.chunk_codec import ALIGN, decode_chunk, encode_chunk

__all__ = [
    "HEAD_BYTES",
    "CachedRowGroup",
    "Head",
    "Numbers",
    "head_at",
    "head_of",
    "encode_row_group",
    "not_cacheable_message",
    "open_row_group",
    "tag_of",
]

Numbers = npt.NDArray[np.uint64]

MAGIC = b"MRB1"
_HEAD = struct.Struct("<4sIQIIQ")
HEAD_BYTES = _HEAD.size
CHECKED = 1


class Head(NamedTuple):
    """The header of a row group."""

    rows: int
    length: int
    checksum: int
    flags: int
    tag: int

    @property
    def body(self) -> int:
        """Offset of the encoded chunk."""
        return _aligned(HEAD_BYTES + 8 * self.rows)


class CachedRowGroup(NamedTuple):
    """A decoded row group: the number of each row, and the rows as views."""

    numbers: Numbers
    chunk: Chunk


def tag_of(key: str) -> int:
    """An integer that distinguishes the row groups of one row store from those of another."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little")


def _aligned(size: int) -> int:
    return -(-size // ALIGN) * ALIGN


def encode_row_group(chunk: Chunk, numbers: Numbers) -> tuple[list[Any], int]:
    """Encode a row group. Returns its pieces after the header, to be written consecutively, and the length of the row
    group.

    A column of Python objects raises DataError: nothing is stored as a pickle.
    """
    packed = encode_chunk(
        chunk.with_columns({name: _whole(column) for name, column in chunk.columns.items()})
    )
    rows = len(numbers)
    start = _aligned(HEAD_BYTES + 8 * rows)
    length = _aligned(start + packed.size)
    first = numbers.tobytes() + bytes(start - HEAD_BYTES - 8 * rows)
    pieces = [first, *packed.buffers()]
    if length > start + packed.size:
        pieces.append(bytes(length - start - packed.size))
    return pieces, length


def not_cacheable_message(error: DataError) -> str:
    """Why a chunk that :func:`encode_row_group` rejected is not cached."""
    return f"column {error.context.get('column')!r} holds Python objects; only arrays and text can be cached"


def head_of(pieces: Sequence[Any], rows: int, length: int, tag: int, *, checked: bool) -> bytes:
    """The header of a row group, with a checksum of the pieces if they are written to a disk."""
    checksum = _checksum(pieces) if checked else 0
    return _HEAD.pack(MAGIC, rows, length, checksum, CHECKED if checked else 0, tag)


def _whole(column: Column) -> Column:
    """A list of rows that are contiguous in their batch as one array, which is decoded faster than a list."""
    whole = contiguous_view(column) if isinstance(column, list) and column else None
    return column if whole is None else whole


def _checksum(pieces: Sequence[Any]) -> int:
    value = 0
    for piece in pieces:
        value = zlib_ng.crc32(piece, value)
    return value


def head_at(data: ByteArray, offset: int) -> Head:
    """Read the header of a row group; FormatError if none starts there, or if it would end outside."""
    if offset < 0 or offset + HEAD_BYTES > data.size:
        raise FormatError(f"no row group starts at byte {offset} of {data.size}")
    magic, rows, length, checksum, flags, tag = _HEAD.unpack_from(data.data, offset)
    if magic != MAGIC:
        raise FormatError(f"no row group starts at byte {offset}")
    head = Head(rows, length, checksum, flags, tag)
    if not rows or length % ALIGN or head.body > length or offset + length > data.size:
        raise FormatError(
            f"the row group at byte {offset} has an invalid header: {rows} rows in {length} bytes"
        )
    return head


def numbers_at(data: ByteArray, offset: int, head: Head) -> Numbers:
    start = offset + HEAD_BYTES
    return data[start : start + 8 * head.rows].view(np.uint64)


def open_row_group(data: ByteArray, offset: int, tag: int, *, check: bool = True) -> CachedRowGroup:
    """Decode a row group as views; FormatError if it is incomplete or belongs to another row store."""
    head = head_at(data, offset)
    if head.tag != tag:
        raise FormatError(f"the row group at byte {offset} belongs to another row store")
    if check and head.flags & CHECKED:
        body = data[offset + HEAD_BYTES : offset + head.length]
        if zlib_ng.crc32(body) != head.checksum:
            raise FormatError(f"the row group at byte {offset} is damaged: its checksum does not match")
    chunk, _ = decode_chunk(data[offset + head.body : offset + head.length])
    if len(chunk) != head.rows:
        raise FormatError(f"the row group at byte {offset} has {len(chunk)} rows, expected {head.rows}")
    return CachedRowGroup(numbers_at(data, offset, head).copy(), chunk)
