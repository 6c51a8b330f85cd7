"""flat_map: each row becomes a dataset of its own, run in place; their rows follow one another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from millrace.core.chunk import Chunk
from millrace.core.errors import ArgumentTypeError
from millrace.core.rng import mix_into
from millrace.core.stats import StageStats
from millrace.data.engine.segment.failures import data_error
from millrace.data.plan.node import Node
from millrace.data.plan.ops import FlatMap

from .base import DONE, END, Pulled, Signal, Stage, State, Through
from .regroup import Rows

__all__ = ["FlatMapStage"]


class FlatMapStage(Through):
    def __init__(self, up: Stage, stats: StageStats, node: FlatMap, build: Callable[[Node], Stage]) -> None:
        super().__init__(up, stats)
        self.node, self.rows, self._build = node, Rows(up), build
        self.epoch, self.position = 0, 0
        self._inner: Stage | None = None
        self._before: State = None
        self._id = 0

    def pull(self) -> Pulled:
        while True:
            if self._inner is None:
                signal = self.rows.fill(1)
                if signal is DONE:
                    return DONE
                if signal is END:
                    self.rows.take_signal()
                    self.epoch, self.position = self.epoch + 1, 0
                    return END
                self._before = self.rows.state()
                self._open(self.rows.take(1))
            assert self._inner is not None
            got = self._inner.pull()
            if isinstance(got, Signal):
                self._close_inner()
                continue
            ids = mix_into(got.ids, self._id)
            chunk = Chunk(got.columns, ids, got.origin, self.epoch, self.position)
            self.position += len(got)
            self.stats.rows += len(got)
            return chunk

    def _open(self, row: Chunk) -> None:
        values = list(row.row(0).values())
        try:
            made = self.node.function(*values)
        except Exception as error:
            raise data_error(
                error,
                "flat_map operation: [PyFunc]",
                op=f"flat_map at {self.node.where}",
                row=int(row.origin[0]),
                columns=list(row.columns),
            ) from error
        node: Any = getattr(made, "_node", None)
        if not isinstance(node, Node):
            raise ArgumentTypeError("flat_map must return a Dataset object.")
        self._id = int(row.ids.view(np.int64)[0])
        self._inner = self._build(node)

    def _close_inner(self) -> None:
        inner, self._inner = self._inner, None
        if inner is not None:
            inner.close()

    def skip_rest(self) -> None:
        self._close_inner()
        self.rows.skip_rest()
        self.epoch, self.position = self.epoch + 1, 0

    def state(self) -> State:
        place = {"epoch": self.epoch, "position": self.position}
        if self._inner is None:
            return {"rows": self.rows.state(), "inner": None, **place}
        return {"rows": self._before, "inner": self._inner.state(), **place}

    def restore(self, state: State) -> None:
        self.rows.restore(state["rows"])
        self.epoch, self.position = state["epoch"], state["position"]
        if state["inner"] is not None:
            self.rows.fill(1)
            self._before = self.rows.state()
            self._open(self.rows.take(1))
            assert self._inner is not None
            self._inner.restore(state["inner"])

    def close(self) -> None:
        self._close_inner()
        super().close()
