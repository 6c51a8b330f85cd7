"""Rows that are kept are fetched, the others are made and kept: a source and the ops up to a cache as one step.

A chunk in which something is amiss (a row fails, a damaged file decodes with a warning) is made as without a cache, and
nothing of it is kept: errors, skipped rows and words are the same, and no bad row is ever stored. Rows that are cheaper
to make than to fetch are not kept; that is measured, on the first chunks.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import CacheError, FormatError, ResourceError
from millrace._src.core.executor_traits import INLINE
from millrace._src.core.log import warn_once
from millrace._src.core.settings import Settings
from millrace._src.core.statistics import CacheCounts
from millrace._src.core.values.batch_buffers import BatchAssembler
from millrace._src.core.values.chunk import Chunk, Column
from millrace._src.data.engine.failed_rows import FailedRow
from millrace._src.data.plan.fingerprint.plan_fingerprint import cache_key
from millrace._src.data.plan.nodes.cache_ops import CacheProtocol
from millrace._src.data.plan.nodes.physical import CachedRead
from millrace._src.data.plan.passes import optimize_cached_segment

from .failures import RowErrors, replacement_rows
from .fast_path import DetectOnlyErrors, FastPath
from .map_step import MapStep
from .step_registry import SegmentStep, make_step, register_step

__all__ = ["CachedReadStep", "CacheBenefit", "open_row_store", "seconds_of", "warn_cache_lost"]

# Chunks after which it is decided whether rows are worth keeping; the very first one also opens files.
TRIALS = 4
# A row waits for something (a disk, a network) when its processor time is less than this part of its time.
WAITS = 4


def seconds_of(clock: float, cpu: float) -> float:
    """What some rows cost: the processor's time, which neighbours do not change, unless they mostly waited."""
    return cpu if cpu * WAITS > clock else clock


class CacheBenefit:
    """Whether fetching a row takes less than making it, from the first chunks of both.

    >>> worth = CacheBenefit()
    >>> for _ in range(4):
    ...     worth.saw(10, made=1.0, fetched=0.1)
    >>> worth.while_
    True
    """

    def __init__(self) -> None:
        # None while it is not known
        self.while_: bool | None = None
        self._made: list[float] = []
        self._fetched: list[float] = []

    def saw(self, rows: int, made: float, fetched: float) -> None:
        self._made.append(made / rows)
        self._fetched.append(fetched / rows)
        if len(self._made) >= TRIALS:
            self.while_ = min(self._fetched[1:]) < min(self._made[1:])

    @property
    def reason(self) -> str:
        made, fetched = min(self._made[1:]) * 1e6, min(self._fetched[1:]) * 1e6
        return f"a row takes {made:.1f} us to make and {fetched:.1f} us to fetch: rows are made, not kept"


def open_row_store(keeper: CacheProtocol, key: str, rows: int | None) -> Any:
    """The shelf, in the user's process and before the first row: a cache that cannot be used says so here.

    None where the machine has no room for it, or the cache was of use to this process before and is gone now: then rows
    are made as without one.
    """
    try:
        keeper.resolve()
        return keeper.open(key, rows)
    except (ResourceError, OSError) as error:
        warn_once("cache-full", f"nothing can be kept ({error}); rows are made as without a cache")
    except CacheError as error:
        if not keeper.used:
            raise
        warn_cache_lost(error)
    return None


def warn_cache_lost(error: Exception) -> None:
    warn_once(
        "cache-gone",
        f"the cache cannot be used any more ({error}); rows are made as without one, and they are the same",
    )


class CachedReadStep:
    """Opens its shelf where it runs: once per process. In the user's process it is open from the start."""

    _shelf: Any

    def __init__(self, op: CachedRead, seed: int, settings: Settings) -> None:
        self.op, self.seed, self.settings = op, seed, settings
        self.key = cache_key(op.subject, settings, ordered=False)
        self._begin()
        self._shelf = open_row_store(op.cache, self.key, op.source.size())
        self._gone = self._shelf is None

    def _begin(self) -> None:
        inner = optimize_cached_segment(
            self.op.compute_segment, self.settings.replace(executor=INLINE), self.op.gather
        )
        assert not inner.inputs
        self.slots = BatchAssembler(self.op.gather, self.settings.allocator) if self.op.gather else None
        self.steps: list[SegmentStep] = [make_step(op, self.seed, self.settings, True) for op in inner.ops]
        self.fast: FastPath | None = None
        if inner.fast_path_ops:
            fast = [make_step(op, self.seed, self.settings, True) for op in inner.fast_path_ops]
            self.fast = FastPath(fast, inner.fast_path_positions, inner.fast_path_length)
        for step in (*self.steps, *(self.fast.steps if self.fast else ())):
            if isinstance(step, MapStep) and step.slots is not None:
                step.slots = self.slots  # rows that are made and rows that are fetched meet in one batch
        self._shelf = None
        self._gone = False
        self._opening = threading.Lock()
        self._worth = CacheBenefit()

    def __getstate__(self) -> dict[str, Any]:
        return {"op": self.op, "seed": self.seed, "settings": self.settings, "key": self.key}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def _opened(self) -> Any:
        with self._opening:
            if self._shelf is None and not self._gone:
                self._shelf = self.op.cache.open(self.key, self.op.source.size())
            return self._shelf

    # a chunk ----------------------------------------------------------------------------------------

    def __call__(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        if self._gone or self._worth.while_ is False:
            return self._wanted(self._make(chunk, failures))
        try:
            shelf = self._shelf or self._opened()
            made = self._through(shelf, chunk, failures)
        except (CacheError, ResourceError, OSError) as error:
            self._gone = True
            warn_cache_lost(error)
            made = None
        return self._wanted(self._make(chunk, failures)) if made is None else made

    def _through(self, shelf: Any, chunk: Chunk, failures: RowErrors) -> Chunk | None:
        """The rows by way of the shelf; None where they have to be made as without one."""
        numbers = chunk.origin.view(np.uint64)
        places = shelf.find(numbers)
        kept = np.flatnonzero(places)
        if len(kept) == len(chunk):
            columns = self._fetched(shelf, numbers, places, failures, self._into(chunk))
            return None if columns is None else chunk.with_columns(columns)
        missing = np.flatnonzero(places == 0) if len(kept) else None
        part = chunk if missing is None else _apart(chunk, missing)
        made = self._tried(part, shelf, failures)
        if made is None:
            return None
        made = self._wanted(made)
        if missing is None:
            return made
        into = self._into(chunk, kept)
        columns = self._fetched(shelf, numbers[kept], places[kept], failures, into)
        if columns is None:
            return None
        if into is not None:
            made = self._placed(made, chunk, missing)
        found = chunk.take(kept).with_columns(columns)
        order = np.empty(len(chunk), np.int64)
        order[np.concatenate([kept, missing])] = np.arange(len(chunk))
        joined = Chunk.concat([found, made]).take(order)
        return chunk.with_columns(joined.columns)

    def _into(self, chunk: Chunk, rows: npt.NDArray[np.int64] | None = None) -> Any:
        """Where rows go that are on their way into a batch: these of the chunk, or all."""
        if self.slots is None:
            return None
        place, epoch, start = self.slots.place, chunk.epoch, chunk.start
        if rows is None:
            return lambda name, i, shape, dtype: place(name, epoch, start + i, shape, dtype)
        at = (start + rows).tolist()
        return lambda name, i, shape, dtype: place(name, epoch, at[i], shape, dtype)

    def _placed(self, made: Chunk, chunk: Chunk, rows: npt.NDArray[np.int64]) -> Chunk:
        """Rows that were made apart, moved to where the others of their batch are."""
        assert self.slots is not None
        put, epoch, at = self.slots.put, chunk.epoch, (chunk.start + rows).tolist()
        columns = {
            name: [put(name, epoch, at[i], value) for i, value in enumerate(column)]
            if isinstance(column, list)
            else column
            for name, column in made.columns.items()
        }
        return made.with_columns(columns)

    def _fetched(
        self,
        shelf: Any,
        numbers: npt.NDArray[np.uint64],
        places: npt.NDArray[np.uint64],
        failures: RowErrors,
        into: Any,
    ) -> dict[str, Column] | None:
        clock, cpu = time.perf_counter(), time.thread_time()
        columns: dict[str, Column] | None = shelf.read(numbers, places, self.op.columns, into)
        if columns is None:
            return None
        spent = seconds_of(time.perf_counter() - clock, time.thread_time() - cpu)
        saved = max(0.0, (shelf.cost or 0.0) * len(numbers) - spent)
        failures.cached = CacheCounts(hits=len(numbers), saved=saved) + failures.cached
        shelf.note(hits=len(numbers))
        return columns

    def _tried(self, part: Chunk, shelf: Any, failures: RowErrors) -> Chunk | None:
        """Rows that are not kept yet, made and stored; None where something is amiss with one."""
        trial = DetectOnlyErrors()
        clock, cpu = time.perf_counter(), time.thread_time()
        try:
            made = self._make(part, trial)
        except (
            Exception
        ):  # it is raised again, in its place and with its words, when the chunk is made as without a cache
            return None
        if trial.amiss or len(made) != len(part):
            return None
        spent = seconds_of(time.perf_counter() - clock, time.thread_time() - cpu)
        numbers = part.origin.view(np.uint64)
        disk = shelf.on_disk
        stored = shelf.put(made, numbers) if shelf.refused is None else 0
        shelf.cost = spent / len(part) if shelf.cost is None else shelf.cost
        shelf.note(made=len(part), seconds=spent)
        failures.cached = failures.cached + CacheCounts(
            misses=len(part),
            stored=stored,
            bytes=made.nbytes if stored else 0,
            reason=shelf.refused or "",
            on_disk=shelf.on_disk - disk,
        )
        if stored and self._worth.while_ is None:
            self._judge(shelf, numbers, spent, failures)
        return made

    def _judge(self, shelf: Any, numbers: npt.NDArray[np.uint64], spent: float, failures: RowErrors) -> None:
        """Fetch what was just stored, as a later epoch would, and compare."""
        clock, cpu = time.perf_counter(), time.thread_time()
        try:
            shelf.read(numbers, shelf.find(numbers), self.op.columns)
        except FormatError:
            return
        fetched = seconds_of(time.perf_counter() - clock, time.thread_time() - cpu)
        self._worth.saw(len(numbers), spent, fetched)
        if self._worth.while_ is False:
            failures.cached = failures.cached + CacheCounts(reason=self._worth.reason)

    # without the shelf ------------------------------------------------------------------------------

    def _make(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        done = 0
        if self.fast is not None:
            made = self.fast(chunk)
            if made is not None:
                chunk, done = made[0], self.fast.count
        if failures.policy == "replace":
            return self._replacing(self.steps[done:], chunk, failures)
        for step in self.steps[done:]:
            chunk = step(chunk, failures)
            if not len(chunk):
                break
        return chunk

    def _replacing(self, steps: list[SegmentStep], chunk: Chunk, failures: RowErrors) -> Chunk:
        """Each op that fails replaces its rows itself, as where each is a stage of its own.

        Rows at the beginning of the chunk that want the last good one of the chunk before are left out from there on.
        """
        head: list[FailedRow] = []
        tail: list[FailedRow] = []
        for step in steps:
            own = failures.fresh()
            made = step(chunk, own)
            head += own.ledger[: own.lead]
            tail += own.ledger[own.lead :]
            failures.cached = failures.cached + own.cached
            chunk = made.slice(own.lead, len(made)) if len(made) else made
            if not len(chunk):
                break
        failures.ledger += [*head, *tail]
        failures.lead = len(head)
        if not head or not len(chunk):
            return chunk
        whole = Chunk.concat([replacement_rows(chunk.slice(0, 1), len(head), before=True), chunk])
        return Chunk(whole.columns, whole.ids, whole.origin, chunk.epoch, chunk.start - len(head))

    def _wanted(self, chunk: Chunk) -> Chunk:
        names = self.op.columns
        if names is None or not chunk.columns:
            return chunk
        return chunk.with_columns({name: chunk.columns[name] for name in names})

    def close(self) -> None:
        with self._opening:
            shelf, self._shelf = self._shelf, None
        if shelf is not None:
            shelf.close()
        for step in self.steps:
            step.close()
        if self.fast is not None:
            self.fast.close()


def _apart(chunk: Chunk, rows: npt.NDArray[np.int64]) -> Chunk:
    """Some rows of a chunk, which do not follow each other."""
    part = chunk.take(rows)
    return Chunk(part.columns, part.ids, part.origin, part.epoch, -1)


@register_step(CachedRead)
def _kept(op: CachedRead, seed: int, settings: Settings, aligned: bool) -> SegmentStep:
    return CachedReadStep(op, seed, settings)
