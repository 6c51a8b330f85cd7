"""CRC-32C (Castagnoli), the checksum of TFRecord files: of many records at once, their bytes side by side.

Every record is cut into lanes of equal length, zeros in front. All lanes run through one table of 65,536 entries
together, two bytes at a time; then the checksums of the lanes of a record are joined.
"""

from __future__ import annotations

import functools
import sys

import numpy as np
import numpy.typing as npt

from .spans import Ints

__all__ = ["crc32c", "masked", "masked_rows"]

U32 = npt.NDArray[np.uint32]

POLY = 0x82F63B78
ONES = 0xFFFFFFFF
# Below this, a loop over the bytes is faster than numpy's calls.
SMALL = 512
SIXTEEN = np.uint32(16)
LEAST_LANE, MOST_LANE = 64, 4096
WANTED_LANES = 4096
MOST_KNOWN = 1 << 14


@functools.cache
def _table() -> U32:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(POLY), table >> 1).astype(np.uint32)
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
    if len(data) >= SMALL:
        return int(_crc_rows(data, np.zeros(1, np.int64), np.array([len(data)], np.int64))[0])
    plain, crc = _plain_table(), ONES
    for byte in bytes(data):
        crc = plain[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ ONES


def masked(data: bytes | memoryview) -> int:
    """The checksum as TFRecord files store it.

    >>> hex(masked(b"123456789"))
    '0xc78ab0e5'
    """
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & ONES


def masked_rows(data: bytes, starts: Ints, stops: Ints) -> U32:
    """The checksum of each of these spans, as TFRecord files store it.

    >>> [hex(crc) for crc in masked_rows(b"x123456789", np.array([1, 0]), np.array([10, 0])).tolist()]
    ['0xc78ab0e5', '0xa282ead8']
    """
    crcs = _crc_rows(data, starts, stops)
    return ((crcs >> np.uint32(15)) | (crcs << np.uint32(17))) + np.uint32(0xA282EAD8)


def _crc_rows(data: bytes | memoryview, starts: Ints, stops: Ints) -> U32:
    lengths = stops - starts
    return _plain(data, starts, stops, lengths) ^ _zeros_after(lengths) ^ np.uint32(ONES)


@functools.cache
def _two_bytes() -> U32:
    """What two bytes of data do to a checksum."""
    table, values = _table(), np.arange(1 << 16, dtype=np.uint32)
    for _ in range(2):
        values = table[values & np.uint32(0xFF)] ^ (values >> np.uint32(8))
    return values


def _plain(data: bytes | memoryview, starts: Ints, stops: Ints, lengths: Ints) -> U32:
    """The checksums when nothing stands before the data. Zeros in front change nothing: they fill the lanes."""
    lane = LEAST_LANE
    while lane < MOST_LANE and int(lengths.sum()) > lane * WANTED_LANES:
        lane *= 2
    lanes = np.maximum(1, -(-lengths // lane))
    zeros = bytes(lane)
    parts: list[bytes | memoryview] = []
    for a, b, pad in zip(starts.tolist(), stops.tolist(), (lanes * lane - lengths).tolist()):
        parts += (zeros[:pad], data[a:b])
    words = np.frombuffer(b"".join(parts), "<u2").reshape(-1, lane // 2).T
    table, crcs = _two_bytes(), np.zeros(words.shape[1], np.uint32)
    low = crcs.view(np.uint16)[0 if sys.byteorder == "little" else 1 :: 2]
    for row in np.ascontiguousarray(words):
        found = table[low ^ row]
        crcs >>= SIXTEEN
        crcs ^= found
    firsts = np.cumsum(lanes) - lanes
    behind = np.repeat(firsts + lanes - 1, lanes) - np.arange(len(crcs))  # lanes of the record that follow
    crcs = _shifted(crcs, behind, lane)
    return np.bitwise_xor.reduceat(crcs, firsts) if len(firsts) else crcs


@functools.cache
def _start_values(count: int) -> U32:
    """The start value behind 0, 1, 2 ... zeros."""
    table, value, made = _table().tolist(), ONES, []
    for _ in range(count):
        made.append(value)
        value = table[value & 0xFF] ^ (value >> 8)
    return np.array(made, np.uint32)


def _zeros_after(lengths: Ints) -> U32:
    """The start value of the checksum, moved on by as many bytes as each record has."""
    most = int(lengths.max(initial=0))
    if most < MOST_KNOWN:
        return _start_values(1 << most.bit_length())[lengths]
    return _shifted(np.full(len(lengths), ONES, np.uint32), lengths, 1)


def _shifted(crcs: U32, times: Ints, size: int) -> U32:
    """Each checksum moved on by ``times`` runs of ``size`` zeros."""
    for bit in range(int(times.max(initial=0)).bit_length()):
        chosen = (times >> bit) & 1 == 1
        if bool(chosen.all()):
            crcs = _apply(_shift(size << bit), crcs)
        elif bool(chosen.any()):
            crcs[chosen] = _apply(_shift(size << bit), crcs[chosen])
    return crcs
