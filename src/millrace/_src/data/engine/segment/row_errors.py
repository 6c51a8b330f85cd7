"""Row-wise functions that may fail, with the row error policy, for stages outside a segment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from millrace._src.core.values.chunk import Chunk

from .failures import RowErrors
from .map_step import row_values

__all__ = ["map_rows"]


def map_rows(
    chunk: Chunk, failures: RowErrors, columns: list[str], work: Callable[..., Any], op: str, what: str
) -> tuple[Chunk, list[Any], list[int]]:
    """Call ``work`` with these columns of each row. Returns the remaining rows, the results, and the positions of
    failed rows.
    """
    results: list[Any] = []
    bad: list[int] = []
    for i, values in enumerate(zip(*(row_values(chunk.columns[name]) for name in columns), strict=True)):
        try:
            results.append(work(*values))
        except Exception as error:
            if not failures.record(chunk, i, error, op, what, columns):
                chunk = chunk.slice(0, i)
                break
            bad.append(i)
    if not bad:
        return chunk, results, bad
    keep = np.ones(len(chunk), np.bool_)
    keep[bad] = False
    return chunk.take(keep), results, bad
