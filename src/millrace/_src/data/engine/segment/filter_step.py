"""Filter step: keeps rows for which the user's predicate is true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from millrace._src.core.random.rng import RandomStream, hash_integers, rng_parameter_index, with_rng
from millrace._src.core.settings import Settings
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.plan.nodes.order_ops import Filter

from .failures import RowErrors
from .map_step import row_values
from .step_registry import SegmentStep, register_step

__all__ = ["FilterStep"]


class FilterStep:
    def __init__(self, op: Filter, seed: int) -> None:
        self.predicate = op.predicate
        self.seed, self.key, self.takes_rng = (
            seed,
            hash_integers(op.op_id, 0),
            rng_parameter_index(op.predicate) is not None,
        )
        self.columns = op.input_columns
        self.name = f"filter({op.details()['predicate']}) at {op.call_site}"

    def __call__(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        columns = list(self.columns or chunk.columns)
        rows = list(zip(*(row_values(chunk.columns[name]) for name in columns), strict=True))
        keep = np.zeros(len(rows), np.bool_)
        predicate = self._bind_rng(chunk)
        failed: list[int] = []
        for i, values in enumerate(rows):
            try:
                keep[i] = bool(predicate(i, *values) if self.takes_rng else predicate(*values))
            except Exception as error:
                if not failures.record(chunk, i, error, self.name, "filter operation: [PyFunc]", columns):
                    return chunk.slice(0, i).take(keep[:i])
                failed.append(i)
        kept = chunk if keep.all() else chunk.take(keep)
        if not failed:
            return kept
        # a row whose predicate failed is replaced by the last kept row before it
        before = np.cumsum(keep)
        return failures.fill_replacements(kept, [int(before[i]) + number for number, i in enumerate(failed)])

    def _bind_rng(self, chunk: Chunk) -> Callable[..., Any]:
        """The predicate; called with (i, *values) if it takes random numbers of the row."""
        if not self.takes_rng:
            return self.predicate
        return with_rng(
            self.predicate, RandomStream.for_rows(chunk.ids, seed=self.seed, epoch=chunk.epoch, op=self.key)
        )

    def close(self) -> None: ...


@register_step(Filter)
def _filter(op: Filter, seed: int, settings: Settings, aligned: bool) -> SegmentStep:
    return FilterStep(op, seed)
