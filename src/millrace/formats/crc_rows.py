"""CRC-32C of many records at once: their bytes run side by side through one table of 65,536 entries."""

from __future__ import annotations

import functools
import sys

import numpy as np
import numpy.typing as npt

from .crc32c import _apply, _shift, _table
from .spans import Ints

__all__ = ["masked_rows"]

U32 = npt.NDArray[np.uint32]

SIXTEEN = np.uint32(16)
LEAST_LANE, MOST_LANE = 64, 4096
WANTED_LANES = 4096
MOST_KNOWN = 1 << 14


@functools.cache
def _two_bytes() -> U32:
    """What two bytes of data do to a checksum."""
    table, values = _table(), np.arange(1 << 16, dtype=np.uint32)
    for _ in range(2):
        values = table[values & np.uint32(0xFF)] ^ (values >> np.uint32(8))
    return values


def masked_rows(data: bytes, starts: Ints, stops: Ints) -> U32:
    """The checksum of each of these spans, as TFRecord files store it.

    >>> [hex(crc) for crc in masked_rows(b"x123456789", np.array([1, 0]), np.array([10, 0])).tolist()]
    ['0xc78ab0e5', '0xa282ead8']
    """
    lengths = stops - starts
    crcs = _plain(data, starts, stops, lengths) ^ _zeros_after(lengths) ^ np.uint32(0xFFFFFFFF)
    return ((crcs >> np.uint32(15)) | (crcs << np.uint32(17))) + np.uint32(0xA282EAD8)


def _plain(data: bytes, starts: Ints, stops: Ints, lengths: Ints) -> U32:
    """The checksums when nothing stands before the data. Zeros in front change nothing: they fill the lanes."""
    lane = LEAST_LANE
    while lane < MOST_LANE and int(lengths.sum()) > lane * WANTED_LANES:
        lane *= 2
    lanes = np.maximum(1, -(-lengths // lane))
    zeros = bytes(lane)
    parts: list[bytes] = []
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
    table, value, made = _table().tolist(), 0xFFFFFFFF, []
    for _ in range(count):
        made.append(value)
        value = table[value & 0xFF] ^ (value >> 8)
    return np.array(made, np.uint32)


def _zeros_after(lengths: Ints) -> U32:
    """The start value of the checksum, moved on by as many bytes as each record has."""
    most = int(lengths.max(initial=0))
    if most < MOST_KNOWN:
        return _start_values(1 << most.bit_length())[lengths]
    return _shifted(np.full(len(lengths), 0xFFFFFFFF, np.uint32), lengths, 1)


def _shifted(crcs: U32, times: Ints, size: int) -> U32:
    """Each checksum moved on by ``times`` runs of ``size`` zeros."""
    for bit in range(int(times.max(initial=0)).bit_length()):
        chosen = (times >> bit) & 1 == 1
        if bool(chosen.all()):
            crcs = _apply(_shift(size << bit), crcs)
        elif bool(chosen.any()):
            crcs[chosen] = _apply(_shift(size << bit), crcs[chosen])
    return crcs
