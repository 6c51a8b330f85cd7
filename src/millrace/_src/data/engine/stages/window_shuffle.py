"""Window shuffle: shuffles a stream in windows of `buffer_size` rows with a small resumable state, spilling to disk
when needed.

Each window is emitted in random order while the next one fills. Unlike a sliding buffer, a window is a function of
(seed, epoch, window number), so the state is two numbers and the state that leads back to the window's first row,
whatever the buffer size. A window has exactly ``buffer_size`` rows (the last one of an epoch has the rest). Rows beyond
its share of the memory budget are stored on disk: the budget never changes the order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import ResourceError
from millrace._src.core.random.rng import RandomPermutation, hash_integers
from millrace._src.core.statistics import StageStats
from millrace._src.core.values.chunk import Chunk, nbytes_of
from millrace._src.core.values.columns import VariableLengthColumn
from millrace._src.data.engine.thread_limits import MemoryBudget
from millrace._src.data.engine.transport.spill import SpillFile, free_bytes, spill_folder
from millrace._src.data.plan.node import UNKNOWN, size_of
from millrace._src.data.plan.nodes import order_ops as ops

from .base import END_OF_DATA, END_OF_EPOCH, Signal, Stage, StageOutput, State, UnaryStage
from .rebatch import RowBuffer
from .stage_registry import StageContext, register_stage

__all__ = ["WindowShuffleStage"]

EMIT_ROWS = 64
EMIT_BYTES = 1 << 20
JOIN_BYTES = 4 << 20


class _SpilledRows:
    """Rows of one chunk that were spilled to the window's file."""

    def __init__(self, spill: SpillFile, offsets: list[tuple[int, int]]) -> None:
        self._spill, self._offsets = spill, offsets

    def __len__(self) -> int:
        return len(self._offsets)

    def slice(self, start: int, stop: int) -> Chunk:
        return Chunk.concat([self._spill.row(offset) for offset in self._offsets[start:stop]])


class _Window:
    """The rows of a window, in their original chunks. Small windows are joined; joining large ones would double the
    memory.
    """

    def __init__(self, start: State) -> None:
        self.start = start
        self.parts: list[Chunk | _SpilledRows] = []
        self.rows = 0
        # bytes of all its rows, and the part that is in memory
        self.bytes = 0
        self.held = 0
        self.spill: SpillFile | None = None
        self._ends: npt.NDArray[np.int64] = np.zeros(0, np.int64)

    def put(self, chunk: Chunk, size: int, share: int) -> int:
        """Add rows, on disk if the share of memory is used up. Returns the bytes held in memory."""
        self.rows += len(chunk)
        self.bytes += size
        if self.held + size > share:
            self.spill = self.spill or SpillFile()
            offsets = self.spill.add(chunk)
            if offsets is not None:
                self.parts.append(_SpilledRows(self.spill, offsets))
                return 0
        self.parts.append(chunk)
        self.held += size
        return size

    def seal(self) -> None:
        if self.spill is None and self.bytes <= JOIN_BYTES:
            self.parts = [Chunk.concat([part for part in self.parts if isinstance(part, Chunk)])]
        self._ends = np.cumsum([len(part) for part in self.parts])

    def take(self, picks: npt.NDArray[np.int64]) -> Chunk:
        first = self.parts[0]
        if len(self.parts) == 1 and isinstance(first, Chunk):
            return first.take(picks)
        which = np.searchsorted(self._ends, picks, side="right")
        rows = []
        for pick, number in zip(picks.tolist(), which.tolist(), strict=True):
            part = self.parts[number]
            at = pick - int(self._ends[number]) + len(part)
            rows.append(part.slice(at, at + 1))
        return Chunk.concat(rows)

    def emit_rows(self, most: int) -> int:
        """Number of rows per emitted chunk within this many bytes: few when rows are large."""
        return max(1, min(EMIT_ROWS, most * self.rows // max(1, self.bytes)))

    def close(self) -> None:
        self.parts.clear()
        if self.spill is not None:
            self.spill.close()


class WindowShuffleStage(UnaryStage):
    def __init__(
        self,
        upstream: Stage,
        stats: StageStats,
        size: int,
        seed: int,
        op: int,
        key: int | None,
        budget: MemoryBudget,
        expected: int | None = None,
    ) -> None:
        super().__init__(upstream, stats)
        # rows of the first window, if known
        self.expected = expected
        self.rows = RowBuffer(upstream)
        self.size, self.seed, self.op, self.key, self.budget = size, seed, op, key, budget
        # the current window and the next one together use half of the memory budget
        self.share = max(1, budget.limit // 4)
        self.emit = min(EMIT_BYTES, budget.limit // 16)
        self.epoch, self.number, self.offset, self.position = 0, 0, 0, 0
        self._current: _Window | None = None
        self._next: _Window | None = None
        self._order: RandomPermutation | None = None
        self._signal: Signal | None = None

    def _fill(self, window: _Window, rows: int) -> None:
        """Pull until the window has this many rows, or the epoch ends."""
        while window.rows < rows and self._signal is None:
            self._signal = self.rows.fill(1)
            if self._signal is not None:
                return
            head = self.rows.peek()
            costs = np.cumsum(_row_bytes(head))
            # rows that fit into memory first; the rest of the chunk follows, for the disk
            fits = int(np.searchsorted(costs, self.share - window.held, side="right"))
            n = min(len(head), rows - window.rows)
            n = min(n, fits) if fits else n
            before = 0 if window.spill is None else window.spill.bytes
            try:
                if window.spill is None and n > fits:
                    self._check_disk(window, int(costs[n - 1]) / n)
                held = window.put(self.rows.take(n), int(costs[n - 1]), self.share)
            except ResourceError as error:
                raise self._space_error(window, error) from error
            self.budget.try_reserve(held, must=True)
            self.stats.spilled += 0 if window.spill is None else window.spill.bytes - before

    def _check_disk(self, window: _Window, row_bytes: float) -> None:
        """Check the free disk space before the first row is emitted, if the number of rows is known."""
        if self.expected is None:
            return
        needed, free = int(row_bytes * (self.expected - window.rows)), free_bytes(spill_folder())
        if needed > free:
            raise ResourceError(
                f"{spill_folder()} has {free} bytes free, {needed} are needed. Name another in TMPDIR"
            )

    def _space_error(self, window: _Window, error: ResourceError) -> ResourceError:
        mean = -(-window.bytes // max(1, window.rows))
        return ResourceError(
            f"{self.stats.name}: {self.size} rows of about {mean} bytes take {mean * self.size} bytes, the memory "
            f"budget of {self.budget.limit} bytes lets a window hold {self.share}, and the rest cannot be spilled: "
            f"{error}; or raise config.set_memory_budget, or shuffle fewer rows."
        )

    def _begin(self) -> bool:
        """Make the next window the current one; False if there is none."""
        window = self._next = self._next or _Window(self.rows.state())
        self._fill(window, self.size)  # if it fails, close() still closes the window
        self._next = None
        if not window.rows:
            return False
        self._current, self.offset = window, 0
        key = (
            hash_integers(self.seed, self.epoch, self.op, self.number)
            if self.key is None
            else hash_integers(self.key, self.number)
        )
        self._order = RandomPermutation(window.rows, key)
        window.seal()
        return True

    def pull(self) -> StageOutput:
        if self._current is None and not self._begin():
            if self._signal is END_OF_DATA:
                return END_OF_DATA
            self._next_epoch()
            self.rows.take_signal()
            return END_OF_EPOCH
        window, order = self._current, self._order
        assert window is not None
        assert order is not None
        picks = order.at(self.offset, self.offset + window.emit_rows(self.emit))
        chunk = window.take(picks)
        chunk = Chunk(chunk.columns, chunk.ids, chunk.origin, self.epoch, self.position)
        self.offset += len(picks)
        self.position += len(picks)
        if self._next is None:
            self._next = _Window(self.rows.state())
        self._fill(self._next, min(self.offset, self.size))
        if self.offset >= window.rows:
            self._release(window)
            self._current, self._order = None, None
            self.number, self.offset = self.number + 1, 0
        self.stats.rows += len(chunk)
        self.stats.chunks += 1
        return chunk

    def _next_epoch(self) -> None:
        self.epoch, self.number, self.offset, self.position, self._signal = self.epoch + 1, 0, 0, 0, None
        self._drop()

    def _release(self, window: _Window) -> None:
        self.budget.release(window.held)
        window.close()

    def _drop(self) -> None:
        for window in (self._current, self._next):
            if window is not None:
                self._release(window)
        self._current = self._next = self._order = None

    def skip_epoch(self) -> None:
        self.rows.skip_rest()
        self._next_epoch()

    def state(self) -> State:
        window = self._current or self._next
        start = self.rows.state() if window is None else window.start
        position = {"epoch": self.epoch, "number": self.number, "offset": self.offset}
        return {"rows": start, "position": self.position, **position}

    def restore(self, state: State) -> None:
        self.rows.restore(state["rows"])
        self.epoch, self.number, self.position = state["epoch"], state["number"], state["position"]
        if state["offset"]:
            self._begin()
            self.offset = state["offset"]

    def close(self) -> None:
        self._drop()
        super().close()


def _row_bytes(chunk: Chunk) -> npt.NDArray[np.int64]:
    """Bytes of each row; independent of chunk boundaries."""
    total = np.zeros(len(chunk), np.int64)
    for column in chunk.columns.values():
        if isinstance(column, VariableLengthColumn):
            total += column.row_bytes() + 64
        elif not isinstance(column, np.ndarray):
            total += np.array([_value_bytes(value) for value in column], np.int64)
        elif column.dtype.kind in "US":
            total += np.char.str_len(column).reshape(len(column), -1).sum(axis=1) * 4 + 64
        else:
            total += column.nbytes // max(1, len(column)) + 64
    return total


def _value_bytes(value: Any) -> int:
    if isinstance(value, np.ndarray) and value.dtype.kind in "US":
        return int(np.char.str_len(value).sum()) * 4 + 64
    return nbytes_of(value) + 64


@register_stage(ops.Shuffle)
def _shuffle(context: StageContext) -> Stage:
    node = context.node
    context.stats.buffer = node.buffer_size
    known = size_of(node.inputs[0])
    expected = None if known is UNKNOWN else int(min(node.buffer_size, known))
    return WindowShuffleStage(
        context.upstream,
        context.stats,
        node.buffer_size,
        context.seed,
        node.op_id,
        node.key,
        context.budget,
        expected,
    )
