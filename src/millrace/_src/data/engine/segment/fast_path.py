"""Optimized replacement for the first steps of a segment, with fallback to the original steps when a row needs
attention.

If a row has a problem (it fails, or a damaged file decodes with a warning), the result is dropped and the original
steps run instead. All steps are Millrace's own and pure, so rows, errors and messages are the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from millrace._src.core.values.chunk import Chunk

from .failures import RowErrors
from .step_registry import SegmentStep

__all__ = ["FastPath", "DetectOnlyErrors"]


class _FallbackNeeded(Exception):
    """A warning about a row would have been reported."""


class DetectOnlyErrors(RowErrors):
    """Records only whether a row has a problem."""

    has_errors = False

    def __init__(self) -> None:
        super().__init__("return")

    def record(self, chunk: Chunk, i: int, error: Exception, op: str, what: str, columns: list[str]) -> bool:
        self.has_errors = True
        return False

    def describe_row(self, chunk: Chunk, i: int) -> str:
        raise _FallbackNeeded


class FastPath:
    """Runs steps in place of the first ``count`` steps of a segment; ``positions`` maps each to the original step it
    replaces.
    """

    def __init__(self, steps: Sequence[SegmentStep], positions: Sequence[int], count: int) -> None:
        self.steps, self.positions, self.count = steps, positions, count

    def __call__(self, chunk: Chunk) -> tuple[Chunk, list[float], list[float]] | None:
        """The chunk, and wall and CPU seconds of each replaced step; None if a row has a problem."""
        seconds, cpu = [0.0] * self.count, [0.0] * self.count
        trial = DetectOnlyErrors()
        clock, work = time.perf_counter, time.thread_time
        began, worked = clock(), work()
        for step, position in zip(self.steps, self.positions, strict=True):
            try:
                chunk = step(chunk, trial)
            except Exception:
                return None
            if trial.has_errors:
                return None
            now, used = clock(), work()
            seconds[position] += now - began
            cpu[position] += used - worked
            began, worked = now, used
        return chunk, seconds, cpu

    def close(self) -> None:
        for step in self.steps:
            step.close()
