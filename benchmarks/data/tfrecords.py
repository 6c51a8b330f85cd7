"""TFRecord files of Examples, written without TensorFlow: any peer's interpreter can make them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["bytes_feature", "encoded", "example", "ints_feature", "ten_features", "write"]


def varint(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes(made) + bytes([value])


def message(field: int, data: bytes) -> bytes:
    return bytes([field << 3 | 2]) + varint(len(data)) + data


def bytes_feature(data: bytes) -> bytes:
    return message(1, message(1, data))


def floats_feature(data: bytes) -> bytes:
    return message(2, message(1, data))


def ints_feature(*values: int) -> bytes:
    return message(3, message(1, b"".join(map(varint, values))))


def example(features: dict[str, bytes]) -> bytes:
    entries = [message(1, message(1, key.encode()) + message(2, value)) for key, value in features.items()]
    return message(1, b"".join(entries))


def ten_features(rows: int) -> Iterator[bytes]:
    """Examples of ten features: ints, floats, bytes; about 250 bytes each."""
    noise = np.random.default_rng(0).integers(0, 1_000_000, (rows, 6))
    for n in range(rows):
        yield example(
            {
                "id": ints_feature(n),
                "small": ints_feature(int(noise[n][0]) % 1000),
                "large": ints_feature(int(noise[n][1])),
                "digit": ints_feature(n % 10),
                "four": ints_feature(*(int(value) % 300 for value in noise[n][2:6])),
                "one": floats_feature(struct.pack("<f", n % 9)),
                "half": floats_feature(struct.pack("<f", 0.5)),
                "eight": floats_feature(np.arange(8, dtype="<f4").tobytes()),
                "sixteen": floats_feature(np.ones(16, "<f4").tobytes()),
                "name": bytes_feature(b"a name of 20 letters"),
            }
        )


def _tables() -> list[list[int]]:
    """CRC-32C by eight bytes a step: a table for each byte of the eight."""
    first = []
    for n in range(256):
        for _ in range(8):
            n = (n >> 1) ^ (0x82F63B78 if n & 1 else 0)
        first.append(n)
    made = [first]
    for _ in range(7):
        made.append([made[-1][n] >> 8 ^ first[made[-1][n] & 0xFF] for n in range(256)])
    return made


TABLES = _tables()


def masked(data: bytes) -> bytes:
    """The checksum of a record, as TFRecord stores it."""
    crc = 0xFFFFFFFF
    a, b, c, d, e, f, g, h = reversed(TABLES)
    whole = len(data) // 8 * 8
    for low, high in struct.iter_unpack("<II", data[:whole]):
        low ^= crc
        crc = (
            a[low & 0xFF]
            ^ b[low >> 8 & 0xFF]
            ^ c[low >> 16 & 0xFF]
            ^ d[low >> 24]
            ^ e[high & 0xFF]
            ^ f[high >> 8 & 0xFF]
            ^ g[high >> 16 & 0xFF]
            ^ h[high >> 24]
        )
    for byte in data[whole:]:
        crc = TABLES[0][(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def encoded(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def write(path: Path, records: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(encoded(data) for data in records)


def offsets(path: Path) -> list[tuple[int, int]]:
    """Where each record begins, and how long it is with its frame."""
    found, place, data = [], 0, path.read_bytes()
    while place < len(data):
        size = struct.unpack_from("<Q", data, place)[0] + 16
        found.append((place, size))
        place += size
    return found


def index(path: Path, into: Path) -> None:
    """The index file that DALI's reader wants: a line with offset and size per record."""
    into.write_text("".join(f"{place} {size}\n" for place, size in offsets(path)))


def quantity(quick: bool) -> tuple[int, Any]:
    return (600, "quick") if quick else (40_000, "full")
