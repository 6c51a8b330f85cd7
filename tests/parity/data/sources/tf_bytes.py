"""TFRecord files written the plain way, byte by byte: the check on the fast reader shares no code with it."""

from __future__ import annotations

import struct
from typing import Any


def _table() -> list[int]:
    made = []
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ (0x82F63B78 if n & 1 else 0)
        made.append(n)
    return made


TABLE = _table()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def message(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


def feature(values: list[Any], packed: bool = True) -> bytes:
    if values and isinstance(values[0], bytes):
        return message(1, b"".join(message(1, value) for value in values))
    if values and isinstance(values[0], float):
        if packed:
            return message(2, message(1, struct.pack(f"<{len(values)}f", *values)))
        return message(2, b"".join(b"\x0d" + struct.pack("<f", value) for value in values))
    if packed:
        return message(3, message(1, b"".join(map(varint, values))))
    return message(3, b"".join(b"\x08" + varint(value) for value in values))


def example(row: dict[str, list[Any]], packed: bool = True) -> bytes:
    entries = b"".join(
        message(1, message(1, name.encode()) + message(2, feature(values, packed)))
        for name, values in row.items()
    )
    return message(1, entries)


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))


def records(rows: list[bytes]) -> bytes:
    return b"".join(map(record, rows))
