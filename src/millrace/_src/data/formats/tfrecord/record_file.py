"""TFRecord framing: record spans, CRC-32C checks and writing.

A record is: length (u64), its masked CRC-32C, the bytes, their masked CRC-32C; all little-endian.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError
from millrace._src.core.io.framing import crc32c_checksums, masked_crc32c, write_record
from millrace._src.data.formats.files.byte_ranges import (
    ByteRanges,
    FileHandles,
    RowBlock,
    read_ranges,
    slice_fixed_width,
)

__all__ = ["check_records", "masked_crc32c", "read_records", "record_spans", "write_record"]

STEP = 8 << 20
HEAD, TAIL = 12, 4
U32 = npt.NDArray[np.uint32]


def _masked_crcs(pieces: Iterable[bytes], count: int) -> U32:
    """Masked CRC-32C of many byte strings."""
    crcs = np.fromiter(crc32c_checksums(pieces), np.uint32, count)
    return ((crcs >> np.uint32(15)) | (crcs << np.uint32(17))) + np.uint32(0xA282EAD8)


def record_spans(file: BinaryIO, path: str) -> ByteRanges:
    """Byte ranges of the records, each with its trailing checksum; the length checksums are verified."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    starts: list[int] = []
    lengths: list[int] = []
    heads: list[bytes] = []
    offset = base = 0
    data = file.read(STEP)
    unpack = struct.Struct("<Q").unpack_from
    while offset < size:
        position = offset - base
        if position + HEAD > len(data):
            file.seek(offset)
            base, position, data = offset, 0, file.read(STEP)
            if len(data) < HEAD:
                raise _record_error(path, starts, heads, offset, "the file is cut short")
        (length,) = unpack(data, position)
        starts.append(offset + HEAD)
        lengths.append(length)
        heads.append(data[position : position + HEAD])
        offset += HEAD + length + TAIL
    if offset > size:
        raise _record_error(
            path, starts, heads, int(starts[-1]) - HEAD, "the file is cut short, or a length is damaged"
        )
    _check_length_checksums(path, heads)
    first = np.array(starts, np.int64)
    return ByteRanges(first, first + np.array(lengths, np.int64) + TAIL)


def _check_length_checksums(path: str, heads: list[bytes]) -> None:
    stored = np.frombuffer(b"".join(heads), "<u4")[2::3]
    wrong = np.flatnonzero(_masked_crcs((head[:8] for head in heads), len(heads)) != stored)
    if len(wrong):
        raise FormatError(
            f"Invalid file. {path} is not a valid TFRecordDataset file: record {int(wrong[0]) + 1}: the checksum "
            "of its length is wrong",
            file=path,
        )


def _record_error(path: str, starts: list[int], heads: list[bytes], offset: int, text: str) -> FormatError:
    try:
        _check_length_checksums(path, heads)
    except FormatError as error:
        return error
    return FormatError(
        f"Invalid file. {path} is not a valid TFRecordDataset file: record {len(starts)} at byte {offset}: {text}",
        file=path,
    )


def check_records(block: RowBlock) -> None:
    """Verify the checksum of every record."""
    stops = block.stops - TAIL
    data = block.data
    pieces = (data[a:b] for a, b in zip(block.starts.tolist(), stops.tolist()))
    crcs = _masked_crcs(pieces, len(block))
    raw = np.frombuffer(block.data, np.uint8)
    stored = slice_fixed_width(raw, stops, TAIL).view("<u4")[:, 0]
    wrong = np.flatnonzero(crcs != stored)
    if len(wrong):
        row = int(wrong[0])
        error = block.error(row, "the checksum of the record is wrong: the file is damaged", "record")
        error.row_index = int(block.rows[row])  # type: ignore[attr-defined]
        raise error


def read_records(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """Iterate over the records of one file; a damaged or truncated record raises an error with its number.

    >>> with open("x.tfrecord", "wb") as file:
    ...     write_record(file, b"one"), write_record(file, b"two")
    (None, None)
    >>> list(read_records("x.tfrecord"))
    [b'one', b'two']
    """
    name = os.fspath(path)
    with open(name, "rb") as file:
        spans = record_spans(file, name)
    handles, first = FileHandles(), 0
    try:
        while first < len(spans):
            end = max(first + 1, int(np.searchsorted(spans.stops, spans.starts[first] + STEP, "right")))
            starts, stops = spans.starts[first:end], spans.stops[first:end]
            block = read_ranges(handles, name, starts, stops, np.arange(first, end))
            check_records(block)
            yield from (piece[:-TAIL] for piece in block.pieces())
            first = end
    finally:
        handles.close()
