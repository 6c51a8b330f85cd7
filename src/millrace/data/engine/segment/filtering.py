"""filter: rows for which the user's predicate is true."""

from __future__ import annotations

import numpy as np

from millrace.core.chunk import Chunk
from millrace.core.settings import Settings
from millrace.data.plan.ops import Filter

from .failures import Failures
from .mapping import row_values
from .table import Step, step_for

__all__ = ["FilterStep"]


class FilterStep:
    def __init__(self, op: Filter) -> None:
        self.predicate = op.predicate
        self.columns = op.input_columns
        self.name = f"filter({op.details()['predicate']}) at {op.where}"

    def __call__(self, chunk: Chunk, failures: Failures) -> Chunk:
        columns = list(self.columns or chunk.columns)
        rows = list(zip(*(row_values(chunk.columns[name]) for name in columns), strict=True))
        keep = np.zeros(len(rows), np.bool_)
        bad: list[int] = []
        for i, values in enumerate(rows):
            try:
                keep[i] = bool(self.predicate(*values))
            except Exception as error:
                if not failures.row(chunk, i, error, self.name, "filter operation: [PyFunc]", columns):
                    return chunk.slice(0, i).take(keep[:i])
                bad.append(i)
        kept = chunk if keep.all() else chunk.take(keep)
        if not bad:
            return kept
        # a row that could not be judged stays: as the last one before it that was kept
        before = np.cumsum(keep)
        return failures.filled(kept, [int(before[i]) + number for number, i in enumerate(bad)])

    def close(self) -> None: ...


@step_for(Filter)
def _filter(op: Filter, seed: int, settings: Settings, aligned: bool) -> Step:
    return FilterStep(op)
