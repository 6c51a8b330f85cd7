"""Segment runner: runs all steps of a segment on a chunk, as one picklable callable for any executor."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from millrace._src.core.args import UINT32_MAX
from millrace._src.core.errors import DataError
from millrace._src.core.log import pop_collected_warnings
from millrace._src.core.random.rng import seed_globals
from millrace._src.core.settings import Settings, current, restore, use_settings
from millrace._src.core.statistics import CacheCounts
from millrace._src.core.values.chunk import Chunk
from millrace._src.core.values.schema import Schema
from millrace._src.data.engine.failed_rows import FailedRow
from millrace._src.data.plan.explain import describe
from millrace._src.data.plan.nodes.physical import CachedRead, Segment

from .failures import RowErrors
from .fast_path import FastPath
from .fused_read_map import make_fused_read_map
from .step_registry import SegmentStep, make_step

__all__ = ["ChunkReport", "SegmentRunner"]


class ChunkReport(NamedTuple):
    """Statistics and errors of a chunk, returned to the stage; crosses process boundaries."""

    rows: int
    # bytes held at the peak
    peak_bytes: int
    # output rows of each step
    rows_out: list[int]
    # seconds per step, and processor seconds of the thread
    seconds: list[float]
    cpu: list[float]
    # failed rows under error modes 'skip' and 'replace'
    failed_rows: list[FailedRow]
    # rows at its beginning that need the last good row of the previous chunk (error mode REPLACE)
    leading_failures: int
    # raised after the rows of the chunk were delivered
    error: DataError | None
    # warnings of a worker process, to be issued in the user's process
    warnings: list[tuple[str, str]]
    # cache counts of the chunk, if there is a cache
    cached: CacheCounts | None = None


class SegmentRunner:
    """Runs the steps of a segment on a chunk; pure except for side effects of user functions.

    Returns the chunk and a report.
    """

    def __init__(self, segment: Segment, seed: int, settings: Settings) -> None:
        ops = segment.ops
        self.policy = settings.error_samples_mode
        # ``config`` for transforms and user functions while they run; hooks stay in the user's process
        self.settings = settings.replace(debug_hooks=(), allocator=None)
        self.names = [describe(op) for op in ops]
        self.source = getattr(ops[0], "source", None)
        self.where = None if self.source is None else self.source.row_location
        self.leaves_input_unmodified = not any(op.user_code for op in ops)
        aligned = ops[0].random_access
        # columns that are unknown before the run (those of flat_map) are checked with the first rows
        self._unchecked = None if aligned else ops
        self.steps: list[SegmentStep] = [make_step(op, seed, settings, aligned) for op in ops]
        self.caches = any(isinstance(op, CachedRead) for op in ops)
        self.fused_read_map = make_fused_read_map(self.steps, self.policy)
        self.fast: FastPath | None = None
        if segment.fast_path_ops:
            steps = [make_step(op, seed, settings, aligned) for op in segment.fast_path_ops]
            self.fast = FastPath(steps, segment.fast_path_positions, segment.fast_path_length)

    def __call__(self, chunk: Chunk) -> tuple[Chunk, ChunkReport]:
        if self.settings == current():
            return self._run(chunk)
        with use_settings(self.settings):
            return self._run(chunk)

    def init_worker(self, worker: int) -> None:
        """In a worker process: apply the run's settings, and seed Python and NumPy as MindSpore does."""
        seed = self.settings.seed
        if seed is not None:
            seed = (seed + worker) % (UINT32_MAX + 1)
            seed_globals(seed)
        self.settings = self.settings.replace(seed=seed, seed_generation=self.settings.seed_generation + 1)
        restore(self.settings)

    def _run(self, chunk: Chunk) -> tuple[Chunk, ChunkReport]:
        failures = RowErrors(self.policy, self.where)
        if self._unchecked is not None:
            self._check(Schema(list(chunk.columns)))
        rows = len(chunk)
        kept: list[int] = []
        seconds: list[float] = []
        cpu: list[float] = []
        clock, work = time.perf_counter, time.thread_time
        began, worked = clock(), work()
        if self.fast is not None:
            fast_result = self.fast(chunk)
            if fast_result is not None:
                chunk, seconds, cpu = fast_result
                kept = [len(chunk)] * self.fast.count
                began, worked = clock(), work()
        input_chunk, fused = chunk, self.fused_read_map
        if fused is not None and not kept:
            fused_result = fused(chunk, failures)
            if fused_result is not None:
                chunk, seconds, cpu = fused_result
                kept = [len(chunk)] * 2
                fused = None
                began, worked = clock(), work()
        for step in self.steps[len(kept) :] if len(chunk) or not kept else ():
            chunk = step(chunk, failures)
            now, used = clock(), work()
            seconds.append(now - began)
            cpu.append(used - worked)
            began, worked = now, used
            kept.append(len(chunk))
            if fused is not None and len(kept) == 2:
                fused.record_chunk(input_chunk, chunk, seconds)
            if not len(chunk):
                break
        held = chunk.nbytes
        if len(self.steps) > 1:
            held *= 2  # the input of the last step is alive together with its result
        if failures.error is not None and not len(chunk):
            raise failures.error
        return chunk, ChunkReport(
            rows,
            held,
            kept,
            seconds,
            cpu,
            failures.failed_rows,
            failures.leading_failures,
            failures.error,
            pop_collected_warnings(),
            failures.cached if self.caches else None,
        )

    def _check(self, schema: Schema | None) -> None:
        for op in self._unchecked or ():
            schema = op.schema((schema,))
        self._unchecked = None

    def paths(self) -> list[str]:
        """Existing paths among the source's arguments, and the files of its first and last row."""
        if self.source is None or not self.source.random_access:
            return []
        paths = {path for value in self.source.arguments().values() for path in _paths_in(value)}
        rows = self.source.size() or 0
        ends = [self.source.row_location(row) for row in {0, rows - 1}] if rows else []
        return sorted(paths | {path for path in ends if path is not None and os.path.exists(path)})

    def describe(self) -> str:
        return " -> ".join(self.names)

    def close(self) -> None:
        for step in self.steps:
            step.close()
        if self.fast is not None:
            self.fast.close()


def _paths_in(value: Any) -> Iterator[str]:
    """Names of existing files and folders in a value; other strings are ignored."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _paths_in(item)
    elif isinstance(value, (str, os.PathLike)):
        path = os.fspath(value)
        if isinstance(path, str) and path and "\0" not in path and os.path.exists(path):
            yield path
