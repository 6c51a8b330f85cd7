"""CRC-32C (Castagnoli), the checksum of TFRecord files, with numpy: many runs of bytes at once, then joined."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

__all__ = ["crc32c", "masked"]

_POLY = 0x82F63B78
_LANES = 512
_SMALL = 2048
U32 = npt.NDArray[np.uint32]


@functools.cache
def _table() -> U32:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLY), table >> 1).astype(np.uint32)
    return table


@functools.cache
def _plain_table() -> list[int]:
    found: list[int] = _table().tolist()
    return found


@functools.cache
def _shift(size: int) -> U32:
    """What ``size`` zero bytes do to a checksum: four tables, one for each of its bytes."""
    if size == 1:
        values = np.arange(256, dtype=np.uint32)
        tables = [values << np.uint32(8 * n) for n in range(4)]
        return np.stack([_table()[t & 0xFF] ^ (t >> np.uint32(8)) for t in tables])
    half = _shift(size // 2)
    twice = np.stack([_apply(half, row) for row in half])
    return np.stack([_apply(_shift(1), row) for row in twice]) if size % 2 else twice


def _apply(tables: U32, values: U32) -> U32:
    found = tables[0][values & 0xFF]
    for n in range(1, 4):
        found = found ^ tables[n][(values >> np.uint32(8 * n)) & 0xFF]
    return found


def crc32c(data: bytes | memoryview) -> int:
    """The checksum of some bytes.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    head = len(data) - len(data) % _LANES if len(data) >= _SMALL else 0
    crc = 0xFFFFFFFF
    if head:
        size = head // _LANES
        lanes = np.frombuffer(data, np.uint8, head).reshape(_LANES, size).T
        crcs = np.zeros(_LANES, np.uint32)
        crcs[0] = 0xFFFFFFFF
        table = _table()
        for row in np.ascontiguousarray(lanes):
            crcs = table[(crcs ^ row) & 0xFF] ^ (crcs >> np.uint32(8))
        while len(crcs) > 1:
            crcs = _apply(_shift(size), crcs[0::2]) ^ crcs[1::2]
            size *= 2
        crc = int(crcs[0])
    plain = _plain_table()
    for byte in bytes(data[head:]):
        crc = plain[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes | memoryview) -> int:
    """The checksum as TFRecord files store it.

    >>> hex(masked(b"123456789"))
    '0xc78ab0e5'
    """
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
