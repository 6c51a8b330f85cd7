"""Multi-input stages: concat and zip."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import PlanError
from millrace._src.core.random.rng import derive_row_ids, hash_integers
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.plan.nodes import order_ops as ops

from .base import END_OF_DATA, END_OF_EPOCH, Stage, StageOutput, State
from .rebatch import RowBuffer
from .row_provenance import first_row_numbers
from .stage_registry import StageContext, register_stage

__all__ = ["SchemaConsistencyCheck", "ConcatStage", "MultiInputStage", "ZipStage"]


class MultiInputStage(Stage):
    """A stage with several upstream stages."""

    def __init__(self, context: StageContext) -> None:
        self.upstreams, self.stats = context.upstreams, context.stats
        # number of each input's first row, computed when needed
        self._starts: list[int] | None = None
        self._find_starts = partial(first_row_numbers, context.node)

    def numbered(self, chunk: Chunk, number: int) -> npt.NDArray[np.int64]:
        """The row numbers of this input's rows in the output; errors refer to rows and files by them."""
        if not number:
            return chunk.origin
        if self._starts is None:
            self._starts = self._find_starts()
        return chunk.origin + self._starts[number]

    def is_ready(self) -> bool:
        return all(upstream.is_ready() for upstream in self.upstreams)

    def interrupt(self) -> None:
        super().interrupt()
        for upstream in self.upstreams:
            upstream.interrupt()

    def close(self) -> None:
        for upstream in self.upstreams:
            upstream.close()


class SchemaConsistencyCheck:
    """Checks that rows of all inputs agree in columns, dtypes and ranks, with the first row of each chunk."""

    def __init__(self, name: str, participle: str) -> None:
        self.name, self.participle = name, participle
        self._names: list[str] | None = None
        self._samples: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = {}

    def check(self, chunk: Chunk) -> None:
        first = {n: c[0] for n, c in chunk.columns.items() if isinstance(c[0], (np.ndarray, np.generic))}
        if self._names is None:
            self._names = list(chunk.columns)
            self._samples = {n: np.asarray(v) for n, v in first.items()}
            return
        if list(chunk.columns) != self._names:
            raise PlanError(
                f"Invalid columns, 'column name' or 'column order' of {self.name.lower()} datasets should be the same."
                f" Got {self._names} and {list(chunk.columns)}."
            )
        for name, value in first.items():
            before = self._samples.get(name)
            if before is None:
                continue
            if before.dtype != value.dtype and before.dtype.kind not in "US":
                raise PlanError(
                    f"{self.name}: the data types of the two datasets to be {self.participle} should be the same, but "
                    f"got: {before.dtype} and {value.dtype}. The column is {name!r}."
                )
            if before.ndim != value.ndim:
                raise PlanError(
                    f"{self.name}: the data tensor rank of the two datasets to be {self.participle} should be the same,"
                    f" but got: {before.ndim} and {value.ndim}. The column is {name!r}."
                )


class ConcatStage(MultiInputStage):
    """Concatenation. Row ids are derived with the input's index, so rows of equal sources have different ids."""

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        self.child, self.epoch, self.rows = 0, 0, 0
        self._consistency = SchemaConsistencyCheck("Concat", "concatenated")
        # rows of each input per epoch, if known
        self.sizes = [partial(context.rows_of, child) for child in context.node.inputs]

    def is_ready(self) -> bool:
        return self.upstreams[min(self.child, len(self.upstreams) - 1)].is_ready()

    def pull(self) -> StageOutput:
        while self.child < len(self.upstreams):
            got = self.upstreams[self.child].pull()
            if got is END_OF_DATA:
                return END_OF_DATA
            if isinstance(got, Chunk):
                self._consistency.check(got)
                ids = derive_row_ids(got.ids, self.child) if self.child else got.ids
                chunk = Chunk(got.columns, ids, self.numbered(got, self.child), self.epoch, self.rows)
                self.rows += len(got)
                self.stats.rows += len(got)
                return chunk
            self.child += 1
        self.child, self.rows, self.epoch = 0, 0, self.epoch + 1
        return END_OF_EPOCH

    def skip(self, rows: int) -> int:
        """Skip whole inputs without reading, then part of the next; an input of unknown size ends the skipping."""
        skipped = 0
        if self.rows:
            return 0
        while skipped < rows and self.child < len(self.upstreams):
            size, upstream = self.sizes[self.child](), self.upstreams[self.child]
            if size is None or rows - skipped < size:
                skipped += upstream.skip(rows - skipped)
                break
            upstream.skip_epoch()
            self.child += 1
            skipped += size
        self.rows += skipped
        return skipped

    def skip_epoch(self) -> None:
        for upstream in self.upstreams[self.child :]:
            upstream.skip_epoch()
        self.child, self.rows, self.epoch = 0, 0, self.epoch + 1

    def state(self) -> State:
        upstreams = [upstream.state() for upstream in self.upstreams]
        return {"ups": upstreams, "child": self.child, "epoch": self.epoch, "rows": self.rows}

    def restore(self, state: State) -> None:
        for upstream, inner in zip(self.upstreams, state["ups"], strict=True):
            upstream.restore(inner)
        self.child, self.epoch, self.rows = state["child"], state["epoch"], state["rows"]


class ZipStage(MultiInputStage):
    """Zip of several inputs. It ends with the shortest input; the others skip their remaining rows."""

    def __init__(self, context: StageContext) -> None:
        super().__init__(context)
        # rows per epoch, if known
        self.size = partial(context.rows_of, context.node)
        self.sides = [RowBuffer(upstream) for upstream in self.upstreams]
        self.epoch, self.position = 0, 0

    def pull(self) -> StageOutput:
        signals = [side.fill(1) for side in self.sides]
        ended = [s for s in signals if s is not None]
        if END_OF_DATA in ended:
            return END_OF_DATA
        if ended:
            for side, signal in zip(self.sides, signals, strict=True):
                if signal is None:
                    side.skip_rest()
                else:
                    side.take_signal()
            self.epoch, self.position = self.epoch + 1, 0
            return END_OF_EPOCH
        n = min(side.num_rows for side in self.sides)
        parts = [side.take(n) for side in self.sides]
        columns = {name: column for part in parts for name, column in part.columns.items()}
        ids = parts[0].ids
        for number, part in enumerate(parts[1:], start=1):
            ids = derive_row_ids(ids ^ part.ids, hash_integers(number, 0x21))
        chunk = Chunk(columns, ids, parts[0].origin, self.epoch, self.position)
        self.position += n
        self.stats.rows += n
        return chunk

    def skip(self, rows: int) -> int:
        """Skip the same number of rows on each side; a side that cannot skip reads and drops them."""
        size = None if self.position else self.size()
        if size is None:
            return 0
        self.position = min(rows, size)
        for side in self.sides:
            side.drop(self.position)
        return self.position

    def skip_epoch(self) -> None:
        for side in self.sides:
            side.skip_rest()
        self.epoch, self.position = self.epoch + 1, 0

    def state(self) -> State:
        sides = [side.state() for side in self.sides]
        return {"sides": sides, "epoch": self.epoch, "position": self.position}

    def restore(self, state: State) -> None:
        for side, inner in zip(self.sides, state["sides"], strict=True):
            side.restore(inner)
        self.epoch, self.position = state["epoch"], state["position"]


@register_stage(ops.Concat)
def _concat(context: StageContext) -> Stage:
    return ConcatStage(context)


@register_stage(ops.Zip)
def _zip(context: StageContext) -> Stage:
    return ZipStage(context)
