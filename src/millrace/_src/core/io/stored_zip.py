"""Zip archives with stored (uncompressed) members only, read strictly.

Python's ``zipfile`` tolerates what an attacker can use: compressed members of any ratio, members that share bytes,
duplicate names, data before and after the archive. This reader takes one layout: members one after the other from byte
0, then the central directory, then its end record, and nothing else. Every size is checked before a byte is read.
"""

from __future__ import annotations

import os
import stat
import struct
import zlib
from collections.abc import Mapping
from typing import BinaryIO, NamedTuple

from millrace._src.core.errors import FormatError

__all__ = ["is_stored_zip", "read_members", "read_regular_file"]

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_UTF8_NAME = 0x800
_STORED = 0
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF


class _Member(NamedTuple):
    name: str
    crc: int
    size: int
    header: int  # offset of its local header


def read_members(path: str, limits: Mapping[str, int], directory_bytes: int = 64 * 1024) -> dict[str, bytes]:
    """The members of an archive by name.

    `limits` is the allow list: the names that may occur, and how many bytes each may have. `directory_bytes` bounds the
    central directory. A file that is damaged, or holds anything else, raises FormatError.
    """
    with _open_regular(path) as file:
        try:
            size = os.fstat(file.fileno()).st_size
            members, start = _read_directory(file, size, directory_bytes)
            _check_members(members, limits, start)
            contents = {}
            end = 0
            for member in sorted(members, key=lambda member: member.header):
                if member.header != end:
                    raise ValueError(f"bytes {end} to {member.header} belong to no member")
                offset = _check_local(file, member)
                end = offset + member.size
                if end > start:
                    raise ValueError(f"the member {member.name!r} overlaps the central directory")
                data = file.read(member.size)
                if len(data) != member.size or zlib.crc32(data) != member.crc:
                    raise ValueError(f"the member {member.name!r} is damaged: its checksum differs")
                contents[member.name] = data
            if end != start:
                raise ValueError(f"bytes {end} to {start} belong to no member")
            return contents
        except (ValueError, struct.error, OSError, OverflowError) as error:
            raise FormatError(f"no archive of Millrace, or a damaged one: {error}", file=path) from error


def read_regular_file(path: str, limit: int) -> bytes:
    """The bytes of a regular file; FormatError where it is none, or larger than `limit`."""
    with _open_regular(path) as file:
        try:
            size = os.fstat(file.fileno()).st_size
            data = file.read(limit + 1) if size <= limit else b""
        except OSError as error:
            raise FormatError(f"it cannot be read: {error}", file=path) from error
    if size > limit or len(data) > limit:
        raise FormatError(f"it has {max(size, len(data))} bytes, more than {limit}", file=path)
    return data


def is_stored_zip(data: bytes) -> bool:
    """Whether a file that begins with these bytes may be such an archive."""
    return data[:4] == b"PK\x03\x04"


def _open_regular(path: str) -> BinaryIO:
    """Open a regular file: a pipe would block, and a device never ends."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise FormatError(f"it cannot be opened: {error}", file=path) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FormatError("expected a regular file, got a directory, a pipe or a device", file=path)
    return os.fdopen(descriptor, "rb")


def _read_at(file: BinaryIO, offset: int, size: int) -> bytes:
    if offset < 0:
        raise ValueError("the file is truncated")
    file.seek(offset)
    data = file.read(size)
    if len(data) != size:
        raise ValueError("the file is truncated")
    return data


def _read_directory(file: BinaryIO, size: int, limit: int) -> tuple[list[_Member], int]:
    """The entries of the central directory, and the offset where it begins."""
    record = size - _END.size
    signature, disk, first_disk, here, count, length, start, comment = _END.unpack(
        _read_at(file, record, _END.size)
    )
    if signature != b"PK\x05\x06" or comment:
        raise ValueError("it does not end with the end record of a zip archive")
    if disk or first_disk or here != count:
        raise ValueError("it is a part of a divided zip archive")
    end = record
    if _FULL16 in (count,) or _FULL32 in (length, start):
        end = record - _LOCATOR.size - _END64.size
        count, length, start = _read_end64(file, record, end)
    if start + length != end:
        raise ValueError("its central directory is not at the offset in the end record")
    if length > limit:
        raise ValueError(f"its central directory has {length} bytes, more than {limit}")
    data = _read_at(file, start, length)
    members = []
    offset = 0
    for _ in range(min(count, length // _CENTRAL.size + 1)):
        member, offset = _parse_entry(data, offset)
        members.append(member)
    if offset != length or len(members) != count:
        raise ValueError("its central directory is damaged")
    return members, start


def _read_end64(file: BinaryIO, record: int, end: int) -> tuple[int, int, int]:
    signature, disk, offset, disks = _LOCATOR.unpack(_read_at(file, record - _LOCATOR.size, _LOCATOR.size))
    if signature != b"PK\x06\x07" or disk or disks != 1 or offset != end:
        raise ValueError("its 64-bit end record is not at the offset in the locator")
    values = _END64.unpack(_read_at(file, end, _END64.size))
    signature, length, _, _, disk, first_disk, here, count, size, start = values
    if signature != b"PK\x06\x06" or length != _END64.size - 12 or disk or first_disk or here != count:
        raise ValueError("its 64-bit end record is damaged")
    return count, size, start


def _parse_entry(data: bytes, offset: int) -> tuple[_Member, int]:
    (
        signature, _, _, flags, method, _, _, crc, packed, size,
        name_size, extra_size, comment_size, disk, _, attributes, header,
    ) = _CENTRAL.unpack_from(data, offset)  # fmt: skip
    if signature != b"PK\x01\x02":
        raise ValueError("its central directory is damaged")
    offset += _CENTRAL.size
    raw = data[offset : offset + name_size]
    extra = data[offset + name_size : offset + name_size + extra_size]
    offset += name_size + extra_size + comment_size
    if offset > len(data):
        raise ValueError("its central directory is damaged")
    name = _parse_name(raw)
    if method != _STORED:
        raise ValueError(
            f"the member {name!r} is compressed (method {method}), and only stored members are read"
        )
    if flags & ~_UTF8_NAME:
        raise ValueError(f"the member {name!r} is encrypted or has its sizes behind its data")
    if disk:
        raise ValueError(f"the member {name!r} is in another part")
    if stat.S_IFMT(attributes >> 16) not in (0, stat.S_IFREG):
        raise ValueError(f"the member {name!r} is a link or a folder, not a file")
    size, packed, header = _widen(extra, size, packed, header)
    if packed != size:
        raise ValueError(f"the member {name!r} has two sizes, {size} and {packed}")
    return _Member(name, crc, size, header), offset


def _widen(extra: bytes, size: int, packed: int, header: int) -> tuple[int, int, int]:
    """The sizes and the offset of an entry, from the extra field with 64-bit numbers where they do not fit."""
    values = [size, packed, header]
    if _FULL32 not in values:
        return size, packed, header
    offset = 0
    while offset + 4 <= len(extra):
        tag, length = struct.unpack_from("<2H", extra, offset)
        if tag == 1:
            numbers = [
                struct.unpack_from("<Q", extra, offset + 4 + position)[0]
                for position in range(0, length - 7, 8)
            ]
            for position, value in enumerate(values):
                if value == _FULL32:
                    if not numbers:
                        break
                    values[position] = numbers.pop(0)
            return values[0], values[1], values[2]
        offset += 4 + length
    raise ValueError("a member has no 64-bit sizes")


def _parse_name(raw: bytes) -> str:
    if not raw.isascii() or b"\0" in raw:
        raise ValueError(f"a member has an unexpected name: {raw[:64]!r}")
    return raw.decode("ascii")


def _check_members(members: list[_Member], limits: Mapping[str, int], start: int) -> None:
    names = [member.name for member in members]
    if len(set(names)) != len(names):
        raise ValueError("two members have the same name")
    for member in members:
        if member.name not in limits:
            raise ValueError(f"expected members {', '.join(sorted(limits))}, got {member.name[:64]!r}")
        if member.size > limits[member.name]:
            raise ValueError(
                f"the member {member.name!r} has {member.size} bytes, more than {limits[member.name]}"
            )
    if sum(member.size for member in members) > start:
        raise ValueError("its members have more bytes than the file")


def _check_local(file: BinaryIO, member: _Member) -> int:
    """Compare a member's local header with the directory; the offset of its data."""
    values = _LOCAL.unpack(_read_at(file, member.header, _LOCAL.size))
    signature, _, flags, method, _, _, crc, packed, size, name_size, extra_size = values
    rest = _read_at(file, member.header + _LOCAL.size, name_size + extra_size)
    if signature != b"PK\x03\x04":
        raise ValueError(f"the member {member.name!r} is not at the offset in the directory")
    size, packed, _ = _widen(rest[name_size:], size, packed, 0)
    if (
        rest[:name_size] != member.name.encode("ascii")
        or flags & ~_UTF8_NAME
        or (method, crc, size, packed) != (_STORED, member.crc, member.size, member.size)
    ):
        raise ValueError(f"the member {member.name!r} differs from its entry in the directory")
    return member.header + _LOCAL.size + len(rest)
