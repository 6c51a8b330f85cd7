"""What handing a chunk over costs on this machine, apart from the work on its rows."""

from __future__ import annotations

import functools
import statistics

import numpy as np

from millrace.core.chunk import Chunk
from millrace.core.settings import Settings
from millrace.data.plan.ops import Map
from millrace.data.transforms.base import PyFunc

from .segment.runner import SegmentRunner

__all__ = ["BYTE_SECONDS", "PROCESS_SECONDS", "step_seconds"]

# Processor seconds to send a chunk to a worker process and its result back, and per byte of both.
PROCESS_SECONDS = 250e-6
BYTE_SECONDS = 1e-9


@functools.cache
def step_seconds() -> float:
    """Processor seconds that one op spends on a chunk before it comes to the rows; measured once, in a few ms.

    >>> 0 < step_seconds() < 0.01
    True
    """
    run = SegmentRunner((Map(operations=(PyFunc(_same),), input_columns=("x",)),), 0, Settings())
    few, many = _seconds(run, 1), _seconds(run, 33)
    return max(few / 4, (33 * few - many) / 32)


def _seconds(run: SegmentRunner, rows: int) -> float:
    ids = np.arange(rows, dtype=np.int64)
    chunk = Chunk({"x": ids.astype(np.float32)}, ids.astype(np.uint64), ids, 0, 0)
    # the quietest of a few tries: a disturbance only ever adds
    return min(statistics.median(run(chunk)[1].cpu[0] for _ in range(16)) for _ in range(8))


def _same(value: object) -> object:
    return value
