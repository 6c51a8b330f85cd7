"""How many rows travel together. Users never see it; results never depend on it.

Light rows want large chunks (hand-over cost is shared), heavy rows small ones (all workers busy with one
batch). Row sizes known from the schema bound a chunk by bytes; otherwise the stage adapts while it runs.
"""

from __future__ import annotations

import math

from millrace.core.executors import traits_of
from millrace.core.settings import Settings
from millrace.data.plan.node import Node, rewrite, schema_of
from millrace.data.plan.ops import Read
from millrace.data.plan.physical import Segment

__all__ = ["CHUNK_BYTES", "size_chunks"]

CHUNK_BYTES = 1 << 20
LIGHT_ROWS = 512
HEAVY_ROWS = 8


def size_chunks(root: Node, settings: Settings) -> Node:
    return rewrite(root, lambda node: _size(node, settings) if isinstance(node, Segment) else node)


def _size(segment: Segment, settings: Settings) -> Segment:
    unit = segment.unit
    if settings.debug_mode:
        rows, fixed = unit, True
    elif settings.chunk_rows is not None:
        rows, fixed = max(unit, settings.chunk_rows - settings.chunk_rows % unit), True
    else:
        most = _most_rows(segment)
        rows, fixed = max(1, most // unit) * unit, False
    has_batch = any(op.batches for op in segment.ops)
    # prefetch_size counts what the user sees: batches where the segment makes them, else rows
    per_chunk = max(1, rows // unit) if has_batch else rows
    window = max(segment.workers + 1, math.ceil(settings.prefetch_size / per_chunk))
    if not traits_of(segment.executor).background:
        window = 1
    return segment.replace(rows=rows, fixed=fixed, window=window)


def _most_rows(segment: Segment) -> int:
    if segment.heavy:
        return HEAVY_ROWS
    first = segment.ops[0]
    row_bytes = None
    if isinstance(first, Read):
        schema = schema_of(first)
        row_bytes = None if schema is None else schema.row_bytes
    if row_bytes is None:
        return LIGHT_ROWS
    return max(1, min(LIGHT_ROWS, CHUNK_BYTES // max(1, row_bytes)))
