"""Truncation of the rows of a column."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.values.columns import RaggedColumn, StringColumn, offsets_of

__all__ = ["truncate_rows", "row_lengths"]


def row_lengths(column: Any) -> npt.NDArray[np.int64]:
    """Number of values in each row."""
    if isinstance(column, np.ndarray):
        return np.full(len(column), column.shape[1], np.int64)
    lengths: npt.NDArray[np.int64] = column.lengths
    return lengths


def truncate_rows(column: Any, lengths: npt.NDArray[np.int64]) -> Any:
    """Truncate each row to its length; no row is shorter than that.

    >>> truncate_rows(RaggedColumn(np.arange(5), np.array([0, 2, 5])), np.array([1, 2])).values.tolist()
    [0, 2, 3]
    """
    if isinstance(column, np.ndarray):
        if len(lengths) and (lengths == lengths[0]).all():
            return column[:, : lengths[0]]
        column = RaggedColumn(column.reshape(-1), np.arange(len(column) + 1) * column.shape[1])
    rows = offsets_of(lengths)
    if isinstance(column, StringColumn):
        pairs = itertools.pairwise(column.rows.tolist())  # type: ignore[union-attr]
        kept = [column.strings[a : a + n] for (a, _), n in zip(pairs, lengths.tolist(), strict=True)]
        return StringColumn.of(list(itertools.chain.from_iterable(kept)), rows)
    indices = np.repeat(column.rows[:-1] - rows[:-1], lengths) + np.arange(rows[-1])
    return RaggedColumn(column.values[indices], rows)
