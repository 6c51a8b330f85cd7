"""The records of a TFRecord file, plain or compressed: where they lie, and whether they are whole."""

from __future__ import annotations

import gzip
import os
import struct
import tempfile
import zlib
from typing import BinaryIO

import numpy as np

from millrace.core.errors import FormatError

from .crc_rows import masked_rows
from .spans import Block, Spans, cut_out

__all__ = ["Unpacked", "check_records", "record_spans"]

STEP = 8 << 20
HEAD, TAIL = 12, 4


def record_spans(file: BinaryIO, path: str) -> Spans:
    """Each record with the checksum behind it; the checksums of the lengths are compared here."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    starts: list[int] = []
    lengths: list[int] = []
    heads: list[bytes] = []
    at = base = 0
    data = file.read(STEP)
    unpack = struct.Struct("<Q").unpack_from
    while at < size:
        inside = at - base
        if inside + HEAD > len(data):
            file.seek(at)
            base, inside, data = at, 0, file.read(STEP)
            if len(data) < HEAD:
                raise _bad(path, starts, heads, at, "the file is cut short")
        (length,) = unpack(data, inside)
        starts.append(at + HEAD)
        lengths.append(length)
        heads.append(data[inside : inside + HEAD])
        at += HEAD + length + TAIL
    if at > size:
        raise _bad(
            path, starts, heads, int(starts[-1]) - HEAD, "the file is cut short, or a length is damaged"
        )
    _check_heads(path, heads)
    first = np.array(starts, np.int64)
    return Spans(first, first + np.array(lengths, np.int64) + TAIL)


def _check_heads(path: str, heads: list[bytes]) -> None:
    places = np.arange(len(heads), dtype=np.int64) * HEAD
    joined = b"".join(heads)
    stored = np.frombuffer(joined, "<u4")[2::3]
    wrong = np.flatnonzero(masked_rows(joined, places, places + 8) != stored) if heads else places
    if len(wrong):
        raise FormatError(
            f"Invalid file. {path} is not a valid TFRecordDataset file: record {int(wrong[0]) + 1}: the checksum "
            "of its length is wrong",
            file=path,
        )


def _bad(path: str, starts: list[int], heads: list[bytes], at: int, text: str) -> FormatError:
    try:
        _check_heads(path, heads)
    except FormatError as error:
        return error
    return FormatError(
        f"Invalid file. {path} is not a valid TFRecordDataset file: record {len(starts)} at byte {at}: {text}",
        file=path,
    )


def check_records(block: Block) -> None:
    """Compare the checksum of every record with what stands behind it."""
    stops = block.stops - TAIL
    crcs = masked_rows(block.data, block.starts, stops)
    raw = np.frombuffer(block.data, np.uint8)
    stored = cut_out(raw, stops, TAIL).view("<u4")[:, 0]
    wrong = np.flatnonzero(crcs != stored)
    if len(wrong):
        row = int(wrong[0])
        error = block.error(row, "the checksum of the record is wrong: the file is damaged", "record")
        error.row_index = int(block.rows[row])  # type: ignore[attr-defined]
        raise error


class Unpacked:
    """Opens a compressed file as a temporary one that has no name and vanishes when it is closed."""

    def __init__(self, compression: str) -> None:
        self.compression = compression

    def __call__(self, path: str) -> int:
        with tempfile.TemporaryFile() as made:
            try:
                with open(path, "rb") as file:
                    if self.compression == "GZIP":
                        with gzip.GzipFile(fileobj=file) as inner:
                            while data := inner.read(STEP):
                                made.write(data)
                    else:
                        _inflate(file, made)
            except (OSError, EOFError, zlib.error) as error:
                raise FormatError(
                    f"Invalid file. {path} cannot be unpacked as {self.compression}: {error}", file=path
                ) from error
            made.flush()
            return os.dup(made.fileno())


def _inflate(file: BinaryIO, made: BinaryIO) -> None:
    stream = zlib.decompressobj()
    while data := file.read(1 << 20):
        while data:
            made.write(stream.decompress(data, STEP))
            data = stream.unconsumed_tail
    if not stream.eof:
        raise EOFError("the data ends too early")
