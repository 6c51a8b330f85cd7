"""Bucket-by-length batching: groups rows of similar length into batches.

Rows collect in buckets; a full bucket becomes a batch.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError
from millrace._src.core.machine.host_allocator import HostAllocator
from millrace._src.core.statistics import StageStats
from millrace._src.core.values.chunk import Chunk, Column
from millrace._src.data.engine.segment.batch_step import add_row_context
from millrace._src.data.engine.segment.collate import collate_column, pad_columns
from millrace._src.data.engine.segment.failures import RowErrors
from millrace._src.data.engine.segment.row_errors import map_rows
from millrace._src.data.plan.nodes.order_ops import BucketBatch

from .base import END_OF_DATA, END_OF_EPOCH, Stage, StageOutput, State, UnaryStage
from .rebatch import RowBuffer
from .sequential_step import SequentialStepStage
from .stage_registry import StageContext, register_stage

__all__ = ["BucketStage", "BucketCollateStep", "AssignBucketStep"]

# The column with the bucket index of a row; later it holds the rows of a batch.
BUCKET = "_bucket"


class AssignBucketStep:
    """Computes the bucket of each row."""

    def __init__(self, node: BucketBatch) -> None:
        self.node, self.name = node, f"bucket_batch_by_length at {node.call_site}"
        self.boundaries = np.asarray(node.boundaries)

    def __call__(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        columns = list(self.node.inputs_of(list(chunk.columns)))
        what = "bucket_batch_by_length operation: [element_length_function]"
        measure = partial(self._bucket, columns[0])
        good, buckets, bad = map_rows(chunk, failures, columns, measure, self.name, what)
        return failures.fill_replacements(
            good.with_columns({**good.columns, BUCKET: np.array(buckets, np.int64)}), bad
        )

    def _bucket(self, column: str, *values: Any) -> int:
        return int(np.searchsorted(self.boundaries, self._length(values, column), side="right"))

    def _length(self, values: tuple[Any, ...], column: str) -> int:
        if self.node.length_function is None:
            if not getattr(values[0], "shape", ()):
                raise DataError(
                    "bucket_batch_by_length measures the first axis, and this value is a scalar; "
                    "give element_length_function",
                    column=column,
                )
            return int(values[0].shape[0])
        length = int(self.node.length_function(*values))
        if length < 0:
            raise DataError(
                "Invalid element_length_function, element_length_function must return an integer greater than or "
                f"equal to 0, but got{length}"
            )
        return length


class BucketCollateStep:
    """Collates the rows of a full bucket into a batch."""

    def __init__(self, node: BucketBatch, allocator: HostAllocator | None = None) -> None:
        self.node, self.allocator, self.name = node, allocator, f"bucket_batch_by_length at {node.call_site}"

    def __call__(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        number, rows = chunk.columns[BUCKET][0]
        try:
            columns = pad_columns(
                rows.columns, self.node.pad_info or {}, self._boundary_length(number, rows), self.allocator
            )
            batch: dict[str, Column] = {
                n: [collate_column(c, n, i, self.allocator)] for i, (n, c) in enumerate(columns.items())
            }
        except DataError as error:
            add_row_context(error, rows, self.name)
            if not failures.record_batch(rows, error, self.name):
                raise
            return failures.fill_replacements(chunk.slice(0, 0), [0])
        return chunk.with_columns(batch)

    def _boundary_length(self, number: int, rows: Chunk) -> int | None:
        if not self.node.pad_to_boundary:
            return None
        if number < len(self.node.boundaries):
            return self.node.boundaries[number] - 1
        # the last bucket has no boundary, which matters only if a padded length is not given
        if any(None in (shape or ()) for shape, _ in (self.node.pad_info or {}).values()):
            raise DataError(
                "Invalid data, requested to pad to bucket boundary failed, bucket index should be less than "
                f"{len(self.node.batch_sizes)}, but got {number}. Row {int(rows.origin[0])} is longer than the last "
                "boundary: add a larger one.",
            )
        return None


class BucketStage(UnaryStage):
    """Collects rows in buckets. The state lists the rows in each bucket, and how to return to the oldest of them."""

    def __init__(self, upstream: Stage, stats: StageStats, node: BucketBatch) -> None:
        super().__init__(upstream, stats)
        self.node, self.rows = node, RowBuffer(upstream)
        self.buckets: list[list[tuple[int, State, Chunk]]] = [[] for _ in node.batch_sizes]
        self.position, self.batch, self.epoch = 0, 0, 0
        self._ended = False

    def pull(self) -> StageOutput:
        while not self._ended:
            signal = self.rows.fill(1)
            if signal is END_OF_DATA:
                return END_OF_DATA
            if signal is END_OF_EPOCH:
                self._ended = True
                break
            before = self.rows.state()
            number, row = self._take_row()
            self.buckets[number].append((self.position, before, row))
            self.position += 1
            if len(self.buckets[number]) == self.node.batch_sizes[number]:
                return self._emit(number)
        if not self.node.drop_remainder:
            for number, waiting in enumerate(self.buckets):
                if waiting:
                    return self._emit(number)
        self.rows.take_signal()
        self._next_epoch()
        return END_OF_EPOCH

    def _take_row(self) -> tuple[int, Chunk]:
        """The bucket index and the next row."""
        row = self.rows.take(1)
        columns = dict(row.columns)
        return int(columns.pop(BUCKET)[0]), row.with_columns(columns)

    def _emit(self, number: int) -> Chunk:
        waiting, self.buckets[number] = self.buckets[number], []
        rows = Chunk.concat([row for _, _, row in waiting])
        self.batch += 1
        self.stats.rows += len(rows)
        self.stats.chunks += 1
        # one row that holds the rows of a batch; the next step collates them
        inside: dict[str, Column] = {BUCKET: [(number, rows)]}
        return Chunk(inside, rows.ids[:1], rows.origin[:1], self.epoch, self.batch - 1)

    def _next_epoch(self) -> None:
        self.buckets = [[] for _ in self.buckets]
        self.position, self.batch, self.epoch, self._ended = 0, 0, self.epoch + 1, False

    def skip_epoch(self) -> None:
        self.rows.skip_rest()
        self._next_epoch()

    def state(self) -> State:
        waiting = [[position for position, _, _ in bucket] for bucket in self.buckets]
        oldest = min((b[0] for b in self.buckets if b), key=lambda entry: entry[0], default=None)
        back = self.rows.state() if oldest is None else oldest[1]
        base = self.position if oldest is None else oldest[0]
        counters = {"position": self.position, "batch": self.batch, "epoch": self.epoch}
        return {"rows": back, "base": base, "waiting": waiting, **counters}

    def restore(self, state: State) -> None:
        self.rows.restore(state["rows"])
        self.batch, self.epoch, self.position = state["batch"], state["epoch"], state["position"]
        waiting = {position for bucket in state["waiting"] for position in bucket}
        for position in range(state["base"], self.position):
            self.rows.fill(1)
            before: Any = self.rows.state()
            number, row = self._take_row()
            if position in waiting:
                self.buckets[number].append((position, before, row))


@register_stage(BucketBatch)
def _bucket(context: StageContext) -> Stage:
    node, stats = context.node, context.stats
    stats.batches = True
    assigned = SequentialStepStage(
        context.upstream,
        stats,
        AssignBucketStep(node),
        context.row_error_handler(context.upstream.state()),
        whole=True,
    )
    buckets = BucketStage(assigned, stats, node)
    return SequentialStepStage(
        buckets,
        stats,
        BucketCollateStep(node, context.settings.allocator),
        context.row_error_handler(buckets.state()),
    )
