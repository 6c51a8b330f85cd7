"""Framed records with length and CRC-32C, as in TFRecord and TensorBoard files.

A record is: length (u64), its masked CRC-32C, the bytes, their masked CRC-32C; all little-endian.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

__all__ = ["crc32c_checksums", "masked_crc32c", "write_record"]


def crc32c_checksums(pieces: Iterable[bytes]) -> Iterable[int]:
    """The CRC-32C of each piece."""
    import google_crc32c  # needed only for such files

    return map(google_crc32c.value, pieces)


def masked_crc32c(data: bytes) -> int:
    """The masked CRC-32C of some bytes, as these files store it.

    >>> hex(masked_crc32c(b"123456789"))
    '0xc78ab0e5'
    """
    (crc,) = crc32c_checksums([data])
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def write_record(file: BinaryIO, data: bytes) -> None:
    """Write one record."""
    length = len(data).to_bytes(8, "little")
    tail = masked_crc32c(data).to_bytes(4, "little")
    file.write(length + masked_crc32c(length).to_bytes(4, "little") + data + tail)
