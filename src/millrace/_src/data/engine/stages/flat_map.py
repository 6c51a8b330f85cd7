"""Flat-map stage: runs the dataset that a user function returns for each row.

The rows of these datasets follow one another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.random.rng import derive_row_ids
from millrace._src.core.statistics import StageStats
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.segment.failures import RowErrors
from millrace._src.data.plan.node import Node
from millrace._src.data.plan.nodes.cache_ops import check_cacheable_inner
from millrace._src.data.plan.nodes.order_ops import FlatMap

from .base import END_OF_DATA, END_OF_EPOCH, Signal, Stage, StageOutput, State, UnaryStage
from .rebatch import RowBuffer
from .sequential_step import SequentialStepStage
from .stage_registry import StageContext, register_stage

__all__ = ["FlatMapStage", "OpenInnerDatasetStep"]


# The only column of the rows that hold the returned datasets.
DATASET = "_dataset"


class OpenInnerDatasetStep:
    """Calls the user function, which returns a dataset for a row."""

    def __init__(self, node: FlatMap) -> None:
        self.node, self.name = node, f"flat_map at {node.call_site}"

    def __call__(self, row: Chunk, failures: RowErrors) -> Chunk:
        try:
            dataset = self.node.function(*row.row(0).values())
            node: Any = getattr(dataset, "_node", None)
            if not isinstance(node, Node):
                raise ArgumentTypeError("flat_map must return a Dataset object.")
        except Exception as error:
            if isinstance(error, ArgumentTypeError) and failures.policy == "return":
                raise
            failures.record(row, 0, error, self.name, "flat_map operation: [PyFunc]", list(row.columns))
            return failures.fill_replacements(row.slice(0, 0), [0])
        datasets: list[Any] = [node]
        return row.with_columns({DATASET: datasets})


class FlatMapStage(UnaryStage):
    """Runs the dataset in each upstream row, in the calling thread."""

    def __init__(self, upstream: Stage, stats: StageStats, build: Callable[[Node], Stage]) -> None:
        super().__init__(upstream, stats)
        self.rows, self._build = RowBuffer(upstream), build
        self.epoch, self.position = 0, 0
        self._inner: Stage | None = None
        self._before: State = None
        self._id, self._origin = 0, 0

    def pull(self) -> StageOutput:
        while True:
            if self._inner is None:
                signal = self.rows.fill(1)
                if signal is END_OF_DATA:
                    return END_OF_DATA
                if signal is END_OF_EPOCH:
                    self.rows.take_signal()
                    self.epoch, self.position = self.epoch + 1, 0
                    return END_OF_EPOCH
                self._before = self.rows.state()
                self._open(self.rows.take(1))
            assert self._inner is not None
            got = self._inner.pull()
            if isinstance(got, Signal):
                self._close_inner()
                continue
            ids = derive_row_ids(got.ids, self._id)
            origin = np.full(len(got), self._origin, np.int64)
            chunk = Chunk(got.columns, ids, origin, self.epoch, self.position)
            self.position += len(got)
            self.stats.rows += len(got)
            return chunk

    def _open(self, row: Chunk) -> None:
        self._id, self._origin = int(row.ids.view(np.int64)[0]), int(row.origin[0])
        dataset: Any = row.columns[DATASET][0]
        self._inner = self._build(dataset)
        self.raise_if_interrupted()

    def _close_inner(self) -> None:
        inner, self._inner = self._inner, None
        if inner is not None:
            inner.close()

    def skip_epoch(self) -> None:
        self._close_inner()
        self.rows.skip_rest()
        self.epoch, self.position = self.epoch + 1, 0

    def state(self) -> State:
        position = {"epoch": self.epoch, "position": self.position}
        if self._inner is None:
            return {"rows": self.rows.state(), "inner": None, **position}
        return {"rows": self._before, "inner": self._inner.state(), **position}

    def restore(self, state: State) -> None:
        self.rows.restore(state["rows"])
        self.epoch, self.position = state["epoch"], state["position"]
        if state["inner"] is not None:
            self.rows.fill(1)
            self._before = self.rows.state()
            self._open(self.rows.take(1))
            assert self._inner is not None
            self._inner.restore(state["inner"])

    def interrupt(self) -> None:
        super().interrupt()
        inner = self._inner
        if inner is not None:
            inner.interrupt()

    def close(self) -> None:
        self._close_inner()
        super().close()


@register_stage(FlatMap)
def _flat_map(context: StageContext) -> Stage:
    node, stats = context.node, context.stats
    datasets = SequentialStepStage(
        context.upstream,
        stats,
        OpenInnerDatasetStep(node),
        context.row_error_handler(context.upstream.state()),
    )

    def build(inner: Node) -> Stage:
        if node.cache_call_site is not None:
            check_cacheable_inner(node, inner)
        return context.lower_nested(inner, node.op_id)

    return FlatMapStage(datasets, stats, build)
