"""Cached read step: reads rows from the cache and computes and stores the missing ones.

It runs a source and the ops up to a cache as one step. A chunk with a problem (a row fails, or a damaged file decodes
with a warning) is computed as without a cache, and none of its rows are stored: errors, skipped rows and messages are
the same, and no bad row is ever stored. Rows that are cheaper to compute than to fetch are not stored; this is measured
on the first chunks.
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

__all__ = ["CachedReadStep", "CacheBenefit", "open_row_store", "cost_seconds", "warn_cache_lost"]

# Number of chunks after which the benefit of caching is decided; the first one also opens files and does not count.
TRIAL_CHUNKS = 4
# A row waits for I/O when its CPU time is less than wall time divided by this.
WAIT_FACTOR = 4


def cost_seconds(clock: float, cpu: float) -> float:
    """Cost of rows: CPU time, which other processes do not affect, or wall time if most of it was spent waiting."""
    return cpu if cpu * WAIT_FACTOR > clock else clock


class CacheBenefit:
    """Whether fetching a row is faster than computing it, measured on the first chunks.

    >>> benefit = CacheBenefit()
    >>> for _ in range(4):
    ...     benefit.record(10, compute_seconds=1.0, fetch_seconds=0.1)
    >>> benefit.is_worthwhile
    True
    """

    def __init__(self) -> None:
        # None until it is known
        self.is_worthwhile: bool | None = None
        self._compute_times: list[float] = []
        self._fetch_times: list[float] = []

    def record(self, rows: int, compute_seconds: float, fetch_seconds: float) -> None:
        self._compute_times.append(compute_seconds / rows)
        self._fetch_times.append(fetch_seconds / rows)
        if len(self._compute_times) >= TRIAL_CHUNKS:
            self.is_worthwhile = min(self._fetch_times[1:]) < min(self._compute_times[1:])

    @property
    def reason(self) -> str:
        compute_time, fetch_time = min(self._compute_times[1:]) * 1e6, min(self._fetch_times[1:]) * 1e6
        return (
            f"a row takes {compute_time:.1f} us to compute and {fetch_time:.1f} us to fetch: rows are computed, "
            "not cached"
        )


def open_row_store(cache: CacheProtocol, key: str, rows: int | None) -> Any:
    """Open the row store in the user's process before the first row; an unusable cache raises its error here.

    None if the machine lacks space for it, or if this process has used the cache before and it is gone now: rows are
    then computed as without a cache.
    """
    try:
        cache.resolve()
        return cache.open(key, rows)
    except (ResourceError, OSError) as error:
        warn_once("cache-full", f"nothing can be cached ({error}); rows are computed as without a cache")
    except CacheError as error:
        if not cache.used:
            raise
        warn_cache_lost(error)
    return None


def warn_cache_lost(error: Exception) -> None:
    warn_once(
        "cache-gone",
        f"the cache cannot be used any more ({error}); rows are computed as without one, and they are the same",
    )


class CachedReadStep:
    """Opens its row store once per process; in the user's process it is open from the start."""

    _store: Any

    def __init__(self, op: CachedRead, seed: int, settings: Settings) -> None:
        self.op, self.seed, self.settings = op, seed, settings
        self.key = cache_key(op.logical_input, settings, ordered=False)
        self._begin()
        self._store = open_row_store(op.cache, self.key, op.source.size())
        self._unavailable = self._store is None

    def _begin(self) -> None:
        inner = optimize_cached_segment(
            self.op.compute_segment, self.settings.replace(executor=INLINE), self.op.batch_rows
        )
        assert not inner.inputs
        self.assembler = (
            BatchAssembler(self.op.batch_rows, self.settings.allocator) if self.op.batch_rows else None
        )
        self.steps: list[SegmentStep] = [make_step(op, self.seed, self.settings, True) for op in inner.ops]
        self.fast: FastPath | None = None
        if inner.fast_path_ops:
            fast = [make_step(op, self.seed, self.settings, True) for op in inner.fast_path_ops]
            self.fast = FastPath(fast, inner.fast_path_positions, inner.fast_path_length)
        for step in (*self.steps, *(self.fast.steps if self.fast else ())):
            if isinstance(step, MapStep) and step.assembler is not None:
                step.assembler = self.assembler  # computed and fetched rows share one batch buffer
        self._store = None
        self._unavailable = False
        self._open_lock = threading.Lock()
        self._benefit = CacheBenefit()

    def __getstate__(self) -> dict[str, Any]:
        return {"op": self.op, "seed": self.seed, "settings": self.settings, "key": self.key}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._begin()

    def _get_store(self) -> Any:
        with self._open_lock:
            if self._store is None and not self._unavailable:
                self._store = self.op.cache.open(self.key, self.op.source.size())
            return self._store

    # chunks -----------------------------------------------------------------------------------------

    def __call__(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        if self._unavailable or self._benefit.is_worthwhile is False:
            return self._select_columns(self._compute(chunk, failures))
        try:
            store = self._store or self._get_store()
            rows = self._read_through(store, chunk, failures)
        except (CacheError, ResourceError, OSError) as error:
            self._unavailable = True
            warn_cache_lost(error)
            rows = None
        return self._select_columns(self._compute(chunk, failures)) if rows is None else rows

    def _read_through(self, store: Any, chunk: Chunk, failures: RowErrors) -> Chunk | None:
        """Fetch the cached rows, compute and store the missing ones. None if the chunk must be computed without the
        cache.
        """
        numbers = chunk.origin.view(np.uint64)
        slots = store.find(numbers)
        hits = np.flatnonzero(slots)
        if len(hits) == len(chunk):
            columns = self._fetch_rows(store, numbers, slots, failures, self._row_destination(chunk))
            return None if columns is None else chunk.with_columns(columns)
        misses = np.flatnonzero(slots == 0) if len(hits) else None
        part = chunk if misses is None else _take_separate_rows(chunk, misses)
        computed = self._compute_and_store(part, store, failures)
        if computed is None:
            return None
        computed = self._select_columns(computed)
        if misses is None:
            return computed
        into = self._row_destination(chunk, hits)
        columns = self._fetch_rows(store, numbers[hits], slots[hits], failures, into)
        if columns is None:
            return None
        if into is not None:
            computed = self._move_to_batch(computed, chunk, misses)
        fetched = chunk.take(hits).with_columns(columns)
        order = np.empty(len(chunk), np.int64)
        order[np.concatenate([hits, misses])] = np.arange(len(chunk))
        joined = Chunk.concat([fetched, computed]).take(order)
        return chunk.with_columns(joined.columns)

    def _row_destination(self, chunk: Chunk, rows: npt.NDArray[np.int64] | None = None) -> Any:
        """The destination in the batch buffer for these rows of the chunk, or for all; None if rows are not part of a
        batch.
        """
        if self.assembler is None:
            return None
        reserve_row, epoch, start = self.assembler.reserve_row, chunk.epoch, chunk.start
        if rows is None:
            return lambda name, i, shape, dtype: reserve_row(name, epoch, start + i, shape, dtype)
        positions = (start + rows).tolist()
        return lambda name, i, shape, dtype: reserve_row(name, epoch, positions[i], shape, dtype)

    def _move_to_batch(self, computed: Chunk, chunk: Chunk, rows: npt.NDArray[np.int64]) -> Chunk:
        """Move separately computed rows to the buffer of their batch."""
        assert self.assembler is not None
        put, epoch, positions = self.assembler.put, chunk.epoch, (chunk.start + rows).tolist()
        columns = {
            name: [put(name, epoch, positions[i], value) for i, value in enumerate(column)]
            if isinstance(column, list)
            else column
            for name, column in computed.columns.items()
        }
        return computed.with_columns(columns)

    def _fetch_rows(
        self,
        store: Any,
        numbers: npt.NDArray[np.uint64],
        slots: npt.NDArray[np.uint64],
        failures: RowErrors,
        into: Any,
    ) -> dict[str, Column] | None:
        clock, cpu = time.perf_counter(), time.thread_time()
        columns: dict[str, Column] | None = store.read(numbers, slots, self.op.columns, into)
        if columns is None:
            return None
        spent = cost_seconds(time.perf_counter() - clock, time.thread_time() - cpu)
        saved = max(0.0, (store.cost or 0.0) * len(numbers) - spent)
        failures.cached = CacheCounts(hits=len(numbers), saved=saved) + failures.cached
        store.note(hits=len(numbers))
        return columns

    def _compute_and_store(self, missing: Chunk, store: Any, failures: RowErrors) -> Chunk | None:
        """Compute and store the missing rows; None if one of them has a problem."""
        trial = DetectOnlyErrors()
        clock, cpu = time.perf_counter(), time.thread_time()
        try:
            computed = self._compute(missing, trial)
        except Exception:  # raised again, with its context, when the chunk is computed without the cache
            return None
        if trial.has_errors or len(computed) != len(missing):
            return None
        spent = cost_seconds(time.perf_counter() - clock, time.thread_time() - cpu)
        numbers = missing.origin.view(np.uint64)
        disk = store.on_disk
        stored = store.put(computed, numbers) if store.refused is None else 0
        store.cost = spent / len(missing) if store.cost is None else store.cost
        store.note(made=len(missing), seconds=spent)
        failures.cached = failures.cached + CacheCounts(
            misses=len(missing),
            stored=stored,
            bytes=computed.nbytes if stored else 0,
            reason=store.refused or "",
            on_disk=store.on_disk - disk,
        )
        if stored and self._benefit.is_worthwhile is None:
            self._measure_benefit(store, numbers, spent, failures)
        return computed

    def _measure_benefit(
        self, store: Any, numbers: npt.NDArray[np.uint64], spent: float, failures: RowErrors
    ) -> None:
        """Fetch the stored rows, as a later epoch would, and compare the times."""
        clock, cpu = time.perf_counter(), time.thread_time()
        try:
            store.read(numbers, store.find(numbers), self.op.columns)
        except FormatError:
            return
        fetched = cost_seconds(time.perf_counter() - clock, time.thread_time() - cpu)
        self._benefit.record(len(numbers), spent, fetched)
        if self._benefit.is_worthwhile is False:
            failures.cached = failures.cached + CacheCounts(reason=self._benefit.reason)

    # without the cache ------------------------------------------------------------------------------

    def _compute(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        first_step = 0
        if self.fast is not None:
            fast_result = self.fast(chunk)
            if fast_result is not None:
                chunk, first_step = fast_result[0], self.fast.count
        if failures.policy == "replace":
            return self._compute_replacing(self.steps[first_step:], chunk, failures)
        for step in self.steps[first_step:]:
            chunk = step(chunk, failures)
            if not len(chunk):
                break
        return chunk

    def _compute_replacing(self, steps: list[SegmentStep], chunk: Chunk, failures: RowErrors) -> Chunk:
        """Run the steps with error mode 'replace': each step replaces its failed rows itself, as separate stages would.

        Failed rows at the beginning of the chunk that need the last good row of the previous chunk are dropped from
        there on.
        """
        head: list[FailedRow] = []
        tail: list[FailedRow] = []
        for step in steps:
            step_errors = failures.empty_copy()
            output = step(chunk, step_errors)
            head += step_errors.failed_rows[: step_errors.leading_failures]
            tail += step_errors.failed_rows[step_errors.leading_failures :]
            failures.cached = failures.cached + step_errors.cached
            chunk = output.slice(step_errors.leading_failures, len(output)) if len(output) else output
            if not len(chunk):
                break
        failures.failed_rows += [*head, *tail]
        failures.leading_failures = len(head)
        if not head or not len(chunk):
            return chunk
        whole = Chunk.concat([replacement_rows(chunk.slice(0, 1), len(head), before=True), chunk])
        return Chunk(whole.columns, whole.ids, whole.origin, chunk.epoch, chunk.start - len(head))

    def _select_columns(self, chunk: Chunk) -> Chunk:
        names = self.op.columns
        if names is None or not chunk.columns:
            return chunk
        return chunk.with_columns({name: chunk.columns[name] for name in names})

    def close(self) -> None:
        with self._open_lock:
            store, self._store = self._store, None
        if store is not None:
            store.close()
        for step in self.steps:
            step.close()
        if self.fast is not None:
            self.fast.close()


def _take_separate_rows(chunk: Chunk, rows: npt.NDArray[np.int64]) -> Chunk:
    """Non-contiguous rows of a chunk, as a chunk without a start position."""
    part = chunk.take(rows)
    return Chunk(part.columns, part.ids, part.origin, part.epoch, -1)


@register_step(CachedRead)
def _cached_read(op: CachedRead, seed: int, settings: Settings, aligned: bool) -> SegmentStep:
    return CachedReadStep(op, seed, settings)
