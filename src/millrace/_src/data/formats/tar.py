"""Tar archives by offset: member index without extraction."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

from millrace._src.core.errors import FormatError

__all__ = ["iter_members"]

_BLOCK = 512
_MAX_NAME_BYTES = 1 << 16


def iter_members(path: str | os.PathLike[str]) -> Iterator[tuple[str, int, int]]:
    """Iterate over the regular files of an uncompressed tar archive: (name, offset, size).

    >>> import io, tarfile
    >>> with tarfile.open("a.tar", "w") as archive:
    ...     archive.addfile(tarfile.TarInfo("x.txt"), io.BytesIO())
    >>> list(iter_members("a.tar"))
    [('x.txt', 512, 0)]
    """
    name = os.fspath(path)
    try:
        with open(name, "rb") as file:
            end = os.fstat(file.fileno()).st_size
            yield from _iter_headers(file, end, name)
    except OSError as error:
        raise FormatError(f"Invalid file, failed to open: {name} ({error.strerror})", file=name) from error


def _iter_headers(file: BinaryIO, end: int, path: str) -> Iterator[tuple[str, int, int]]:
    offset = 0
    long_name, pax = "", {}
    while offset + _BLOCK <= end:
        file.seek(offset)
        head = file.read(_BLOCK)
        if not head.strip(b"\0"):
            return
        if head[:2] == b"\x1f\x8b":
            raise FormatError(
                "a compressed archive has no offsets to read by: decompress it first", file=path
            )
        size = _parse_size(head, path)
        type_flag, data = head[156:157], offset + _BLOCK
        offset = data + (size + _BLOCK - 1) // _BLOCK * _BLOCK
        if data + size > end:
            raise FormatError(f"the archive is cut short: {_text(head[:100])} ends after it", file=path)
        if type_flag in b"Lxg" and type_flag:
            if size > _MAX_NAME_BYTES:
                raise FormatError(f"the archive has a name of {size} bytes", file=path)
            file.seek(data)
            extra = file.read(size)
            if type_flag == b"L":
                long_name = _text(extra)
            elif type_flag == b"x":
                pax = _parse_pax(extra, path)
            continue
        name = long_name or pax.get("path") or _name(head)
        if "size" in pax:
            if not pax["size"].isdecimal() or data + int(pax["size"]) > end:
                raise FormatError(f"the archive is damaged: {name} has the size {pax['size']}", file=path)
            size = int(pax["size"])
            offset = data + (size + _BLOCK - 1) // _BLOCK * _BLOCK
        long_name, pax = "", {}
        if type_flag in (b"0", b"\0", b"7"):
            yield name, data, size
    if offset != end:
        raise FormatError(f"the archive is cut short: it ends at byte {end}, inside a block", file=path)


def _parse_size(head: bytes, path: str) -> int:
    """The file size in a header, after its checksum is verified."""
    try:
        wanted = int(head[148:156].strip(b" \0") or b"0", 8)
        field = head[124:136]
        size = int.from_bytes(field[1:], "big") if field[0] & 0x80 else int(field.strip(b" \0") or b"0", 8)
    except ValueError:
        wanted, size = -1, 0
    if wanted != sum(head[:148]) + 8 * 32 + sum(head[156:]) or size < 0:
        raise FormatError("Invalid file, this is not a tar archive, or it is damaged", file=path)
    return size


def _text(raw: bytes) -> str:
    return os.fsdecode(raw.split(b"\0", 1)[0])


def _name(head: bytes) -> str:
    prefix = _text(head[345:500]) if head[257:262] == b"ustar" else ""
    return f"{prefix}/{_text(head[:100])}" if prefix else _text(head[:100])


def _parse_pax(data: bytes, path: str) -> dict[str, str]:
    records = {}
    try:
        while data:
            length = int(data.split(b" ", 1)[0])
            if not 0 < length <= len(data):
                raise ValueError("a record is cut short")
            key, _, value = data[:length].split(b" ", 1)[1].rstrip(b"\n").partition(b"=")
            records[key.decode()] = os.fsdecode(value)
            data = data[length:]
    except (ValueError, IndexError) as error:
        raise FormatError(f"the archive's extended header is damaged: {error}", file=path) from error
    return records
