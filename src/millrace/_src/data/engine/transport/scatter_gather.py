"""Scatter-gather form of an encoded chunk: large buffers stay separate and are not copied.

The bytes are those of ``encode_chunk``. Small parts are joined into one buffer, and each large part is the original
array, not yet copied. So a chunk is copied once on its way through a store that takes several buffers, and decoded in
place.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.machine.shared_memory import ByteArray
from millrace._src.core.values.chunk import Chunk

from .chunk_codec import ByteSource, EncodedChunk, ObjectCodec, read_from

__all__ = ["split_buffers", "decode_buffers"]

# Parts of at least this size are separate buffers; smaller ones are copied together.
LARGE = 1 << 16


def split_buffers(packed: EncodedChunk) -> tuple[list[int], list[ByteArray]]:
    """Split an encoded chunk into buffers. Returns their start offsets and the buffers.

    >>> from millrace._src.data.engine.transport.chunk_codec import encode_chunk
    >>> big = np.zeros((2, 50_000))
    >>> starts, buffers = split_buffers(encode_chunk(Chunk({"x": big}, np.arange(2, dtype=np.uint64))))
    >>> len(buffers), np.shares_memory(buffers[1], big)
    (3, True)
    """
    starts: list[int] = []
    runs: list[ByteArray] = []
    small: list[tuple[int, ByteArray]] = [(0, np.frombuffer(packed.head, np.uint8))]
    for offset, part in packed.parts:
        flat = _flat(part)
        if flat.size < LARGE:
            small.append((offset, flat))
            continue
        _join(small, starts, runs)
        starts.append(offset)
        runs.append(flat)
    _join(small, starts, runs)
    return starts, runs


def _flat(part: Any) -> ByteArray:
    if isinstance(part, np.ndarray):
        return np.ascontiguousarray(part).reshape(-1).view(np.uint8)
    return np.frombuffer(part, np.uint8)


def _join(small: list[tuple[int, ByteArray]], starts: list[int], runs: list[ByteArray]) -> None:
    """Join adjacent small parts into one buffer."""
    if not small:
        return
    first, (last, flat) = small[0][0], small[-1]
    run = np.zeros(last + flat.size - first, np.uint8)
    for offset, flat in small:
        run[offset - first : offset - first + flat.size] = flat
    starts.append(first)
    runs.append(run)
    small.clear()


def decode_buffers(
    starts: Sequence[int], runs: Sequence[ByteArray], objects: ObjectCodec | None = None
) -> tuple[Chunk, bytes]:
    """Decode the chunk and the extra bytes; large columns are views of their buffers.

    >>> from millrace._src.data.engine.transport.chunk_codec import encode_chunk
    >>> chunk = Chunk({"x": np.arange(40_000.0)}, np.arange(40_000, dtype=np.uint64))
    >>> decode_buffers(*split_buffers(encode_chunk(chunk, b"more")))[1]
    b'more'
    """
    if not runs or len(starts) != len(runs) or starts[0] != 0:
        raise FormatError("a packed chunk without a beginning")
    return read_from(runs[0], _ScatteredSource(starts, runs), objects)


class _ScatteredSource(ByteSource):
    def __init__(self, starts: Sequence[int], runs: Sequence[ByteArray]) -> None:
        super().__init__(runs[0])
        self.starts, self.runs = starts, runs
        self.size = starts[-1] + runs[-1].size

    def raw(self, offset: int, size: int) -> ByteArray:
        start = self.base + offset
        if offset < 0 or size < 0:
            raise ValueError(f"{size} bytes at {start} lie outside")
        if not size:
            return self.runs[0][:0]
        i = bisect_right(self.starts, start) - 1
        at, run = start - self.starts[i], self.runs[i]
        if at + size > run.size:
            raise ValueError(f"{size} bytes at {start} lie outside")
        return run[at : at + size]
