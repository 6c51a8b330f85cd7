"""CRC-32 checksum files (``NAME.crc``) next to MindRecord data files.

MindSpore ignores them. They prove which rows are intact, which lengths alone cannot. The file holds a copy of the
header of the data file and, for each row, offset, size and CRC-32 of its two parts:

    8 bytes   MAGIC, its last byte the version of this layout
    u64 LE    rows
    u64 LE    bytes of the header, its own length included
    header    as at the front of the data file
    rows      the entries of ROW
    u32 LE    CRC-32 of all of the above
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError

from .atomic_commit import new_token, replace_file, sums_path, temporary
from .header import MAX_HEADER, Header, parse_header_bytes
from .shard import ShardReader

__all__ = ["Checksums", "read_checksums", "write_checksums"]

MAGIC = b"MRSUMS\x00\x01"
_FRONT = struct.Struct("<8sQQ")
_END = struct.Struct("<I")
_PROBES = 64
ROW = np.dtype(
    [("raw", "<u8"), ("raw_size", "<u4"), ("raw_sum", "<u4"),
     ("blob", "<u8"), ("blob_size", "<u4"), ("blob_sum", "<u4")]
)  # fmt: skip


class Checksums:
    """The content of a `.crc` file: a copy of the header, and the checksums of the rows."""

    def __init__(self, front: bytes, rows: npt.NDArray[Any]) -> None:
        self.front, self.rows = front, rows

    def header(self, file: str) -> Header:
        """The header at the time of the checksums."""
        return parse_header_bytes(self.front, 1 << 62, file)

    def matches(self, data: Any, row: int, parts: Sequence[str] = ("raw", "blob")) -> bool:
        """Whether the parts of a row match their checksums."""
        entry = self.rows[row]
        return all(
            _crc32(data, int(entry[part]), int(entry[f"{part}_size"])) == int(entry[f"{part}_sum"])
            for part in parts
        )

    def is_stale(self, data: Any) -> bool:
        """Whether the checksums are of another state of the file: a valid but different header, or no matching row."""
        header_bytes = bytes(data[: len(self.front)])
        if header_bytes != self.front:
            try:
                length = int.from_bytes(data[:8], "little")
                header_with_length = bytes(data[: 8 + min(length, MAX_HEADER)])
                parse_header_bytes(header_with_length, len(data), "").groups(len(data), "")
            except FormatError:
                return False  # the header is damaged: the copy replaces it
            return True
        probes = set(range(0, len(self.rows), max(1, len(self.rows) // _PROBES)))
        parts = self.parts("")
        return bool(probes) and not any(self.matches(data, row, [part]) for row in probes for part in parts)

    def parts(self, file: str) -> list[str]:
        """The parts of a row that hold values; the other part is a dummy."""
        schema = self.header(file).schema
        return [part for part, fields in (("raw", schema.raw), ("blob", schema.blob)) if fields]


def _crc32(data: Any, start: int, size: int) -> int:
    part = data[start : start + size]
    return zlib.crc32(part) if len(part) == size else -1


def read_checksums(data: Path) -> Checksums | str:
    """Read the checksums of a data file; a str explains why there are none ("" if the file does not exist)."""
    path = sums_path(data)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    if len(content) < _FRONT.size + _END.size or content[:7] != MAGIC[:7]:
        return "it does not hold checksums of Millrace"
    if content[:8] != MAGIC:
        return f"its layout {content[7]} is not known here"
    if zlib.crc32(content[: -_END.size]) != _END.unpack_from(content, len(content) - _END.size)[0]:
        return "it is damaged itself"
    _, rows, size = _FRONT.unpack_from(content)
    if _FRONT.size + size + rows * ROW.itemsize + _END.size != len(content):
        return "its lengths do not fit together"
    table = np.frombuffer(content, ROW, rows, _FRONT.size + size)
    return Checksums(content[_FRONT.size : _FRONT.size + size], table)


def write_checksums(shard: ShardReader, target: Path | None = None) -> Path:
    """Write the checksums of an intact data file atomically."""
    if target is not None:
        target.write_bytes(_content(shard))
        return target
    final = sums_path(shard.path)
    draft = temporary(final, new_token())
    try:
        draft.write_bytes(_content(shard))
        replace_file(draft, final)
    finally:
        draft.unlink(missing_ok=True)
    return final


def _content(shard: ShardReader) -> bytes:
    rows = np.zeros(shard.rows, ROW)
    data: Any = shard.map() if shard.groups else b""
    for group in shard.groups:
        part = slice(group.start_row, group.start_row + group.rows)
        for name, (starts, ends) in (
            ("raw", shard.raw_ranges(data, group)),
            ("blob", shard.blob_ranges(data, group)),
        ):
            rows[name][part], rows[f"{name}_size"][part] = starts, ends - starts
            rows[f"{name}_sum"][part] = [
                zlib.crc32(data[start:end]) for start, end in zip(starts.tolist(), ends.tolist())
            ]
    with open(shard.path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        file.seek(0, os.SEEK_SET)
        front = file.read(8 + length)
    content = _FRONT.pack(MAGIC, len(rows), len(front)) + front + rows.tobytes()
    return content + _END.pack(zlib.crc32(content))
