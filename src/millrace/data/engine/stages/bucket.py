"""bucket_batch_by_length: rows of similar length gather in buckets; a full bucket leaves as a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace.core.chunk import Chunk, Column
from millrace.core.errors import DataError
from millrace.core.stats import StageStats
from millrace.data.engine.segment.collate import collate_column, pad_columns
from millrace.data.engine.segment.failures import data_error
from millrace.data.plan.ops import BucketBatch

from .base import DONE, END, Pulled, Stage, State, Through
from .regroup import Rows

__all__ = ["BucketStage"]


class BucketStage(Through):
    """The state lists which rows wait in which bucket, and leads back to the oldest of them."""

    def __init__(self, up: Stage, stats: StageStats, node: BucketBatch) -> None:
        super().__init__(up, stats)
        self.node, self.rows = node, Rows(up)
        self.buckets: list[list[tuple[int, State, Chunk]]] = [[] for _ in node.batch_sizes]
        self.position, self.batch, self.epoch = 0, 0, 0
        self._ended = False

    def pull(self) -> Pulled:
        while not self._ended:
            signal = self.rows.fill(1)
            if signal is DONE:
                return DONE
            if signal is END:
                self._ended = True
                break
            before = self.rows.state()
            row = self.rows.take(1)
            number = self._bucket(row)
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
        return END

    def _bucket(self, row: Chunk) -> int:
        length = self._length(row)
        return int(np.searchsorted(np.asarray(self.node.boundaries), length, side="right"))

    def _length(self, row: Chunk) -> int:
        values = [row.row(0)[name] for name in self.node.column_names]
        if self.node.length_function is None:
            if not getattr(values[0], "shape", ()):
                raise DataError(
                    "bucket_batch_by_length measures the first axis, and this value is a scalar; "
                    "give element_length_function",
                    op="bucket_batch_by_length",
                    row=int(row.origin[0]),
                    column=self.node.column_names[0],
                )
            return int(values[0].shape[0])
        try:
            length = int(self.node.length_function(*values))
        except Exception as error:
            raise data_error(
                error,
                "bucket_batch_by_length operation: [element_length_function]",
                op=f"bucket_batch_by_length at {self.node.where}",
                row=int(row.origin[0]),
                columns=list(self.node.column_names),
            ) from error
        if length < 0:
            raise DataError(
                "Invalid element_length_function, element_length_function must return an integer greater than or "
                f"equal to 0, but got{length}",
                op="bucket_batch_by_length",
                row=int(row.origin[0]),
            )
        return length

    def _emit(self, number: int) -> Chunk:
        waiting, self.buckets[number] = self.buckets[number], []
        rows = Chunk.concat([row for _, _, row in waiting])
        free = None
        if self.node.pad_to_boundary:
            if number == len(self.node.boundaries):
                raise DataError(
                    "Invalid data, requested to pad to bucket boundary failed, bucket index should be less than "
                    f"{len(self.buckets)}, but got {number}. Row {int(rows.origin[0])} is longer than the last "
                    "boundary: add a larger one.",
                    op="bucket_batch_by_length",
                )
            free = self.node.boundaries[number] - 1
        columns = pad_columns(rows.columns, self.node.pad_info or {}, free)
        made: dict[str, Column] = {n: [collate_column(c, n, i)] for i, (n, c) in enumerate(columns.items())}
        chunk = Chunk(made, rows.ids[:1], rows.origin[:1], self.epoch, self.batch)
        self.batch += 1
        self.stats.rows += len(rows)
        self.stats.chunks += 1
        return chunk

    def _next_epoch(self) -> None:
        self.buckets = [[] for _ in self.buckets]
        self.position, self.batch, self.epoch, self._ended = 0, 0, self.epoch + 1, False

    def skip_rest(self) -> None:
        self.rows.skip_rest()
        self._next_epoch()

    def state(self) -> State:
        waiting = [[position for position, _, _ in bucket] for bucket in self.buckets]
        oldest = min((b[0] for b in self.buckets if b), key=lambda entry: entry[0], default=None)
        back = self.rows.state() if oldest is None else oldest[1]
        base = self.position if oldest is None else oldest[0]
        place = {"position": self.position, "batch": self.batch, "epoch": self.epoch}
        return {"rows": back, "base": base, "waiting": waiting, **place}

    def restore(self, state: State) -> None:
        self.rows.restore(state["rows"])
        self.batch, self.epoch, self.position = state["batch"], state["epoch"], state["position"]
        places: dict[int, int] = {p: b for b, bucket in enumerate(state["waiting"]) for p in bucket}
        for position in range(state["base"], self.position):
            self.rows.fill(1)
            before: Any = self.rows.state()
            row = self.rows.take(1)
            if position in places:
                self.buckets[places[position]].append((position, before, row))
