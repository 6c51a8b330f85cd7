"""Token-budget batching: as many rows per batch as fit into `max_tokens`, padding included."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError
from millrace._src.core.statistics import StageStats
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.segment.failures import RowErrors
from millrace._src.data.engine.segment.row_errors import map_rows
from millrace._src.data.plan.explain import describe
from millrace._src.data.plan.nodes import physical
from millrace._src.data.plan.nodes.batch_ops import HIDDEN_PREFIX

from .base import Stage
from .rebatch import RebatchStage
from .sequential_step import SequentialStepStage
from .stage_registry import StageContext, register_stage

__all__ = ["TokenCountStep", "TokenBatchStage"]

# The column with the number of tokens of a row.
LENGTH = "_length"


class TokenCountStep:
    """Computes the number of tokens of each row."""

    def __init__(self, node: physical.RebatchByTokens) -> None:
        self.node, self.name = node, f"batch(max_tokens={node.max_tokens}) at {node.call_site}"
        # padded length of a column's first axis, if fixed
        self.padded = {name: (shape or [None])[0] for name, (shape, _) in (node.pad_info or {}).items()}

    def __call__(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        names = self._measured([name for name in chunk.columns if not name.startswith(HIDDEN_PREFIX)])
        what = "batch operation: [length_of]"
        good, lengths, bad = map_rows(chunk, failures, names, partial(self._length, names), self.name, what)
        return failures.fill_replacements(
            good.with_columns({**good.columns, LENGTH: np.array(lengths, np.int64)}), bad
        )

    def _measured(self, columns: list[str]) -> list[str]:
        return [self.node.length_of] if isinstance(self.node.length_of, str) else columns

    def _length(self, names: list[str], *values: Any) -> int:
        max_tokens, column = self.node.max_tokens, ""
        if callable(self.node.length_of):
            length = int(self.node.length_of(*values))
            if length < 0:
                raise DataError(f"length_of should give 0 or more, but gave {length}")
        else:
            lengths = [
                self.padded.get(name) or (np.shape(value)[0] if np.ndim(value) else 1)
                for name, value in zip(names, values, strict=True)
            ]
            length = max(lengths)
            column = names[lengths.index(length)]
        if length > max_tokens:
            raise DataError(
                f"a row of {length} tokens exceeds max_tokens={max_tokens}; truncate it in map(), remove it with "
                "filter(), or raise max_tokens",
                **({"column": column} if column else {}),
            )
        return max(1, length)  # an empty row counts as one token


class TokenBatchStage(RebatchStage):
    """A batch is full when no further row can fit, or when the next one does not."""

    def __init__(self, upstream: Stage, stats: StageStats, node: physical.RebatchByTokens) -> None:
        super().__init__(upstream, stats, 1, node.drop_remainder, node.passes, describe(node))
        self.max_tokens, self.max_rows = node.max_tokens, node.max_rows

    def _next_batch_size(self) -> tuple[int, bool]:
        while True:
            lengths = self.rows.values(LENGTH)[: self.max_rows]
            # rows times maximum length increases with each row
            tokens = np.maximum.accumulate(lengths) * np.arange(1, len(lengths) + 1)
            rows = int(np.searchsorted(tokens, self.max_tokens, side="right"))
            longest = int(lengths[:rows].max())
            if rows < len(lengths) or rows == self.max_rows or (rows + 1) * longest > self.max_tokens:
                return rows, True
            have = self.rows.num_rows
            self.rows.fill(have + 1)
            if self.rows.num_rows == have:
                return rows, False

    def _take_batch(self, rows: int) -> Chunk:
        chunk = super()._take_batch(rows)
        return chunk.with_columns({name: c for name, c in chunk.columns.items() if name != LENGTH})

    def skip(self, rows: int) -> int:
        return 0  # the number of rows of a batch depends on their lengths


@register_stage(physical.RebatchByTokens)
def _token_batch(context: StageContext) -> Stage:
    node, stats = context.node, context.stats
    counted = SequentialStepStage(
        context.upstream, stats, TokenCountStep(node), context.row_error_handler(context.upstream), whole=True
    )
    return TokenBatchStage(counted, stats, node)
