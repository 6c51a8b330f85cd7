"""The first steps of a segment done for less, as long as nothing is amiss with a row.

When something is (a row fails, a file is damaged and yet decodes), what was made is dropped and the steps as the user
wrote them run instead. All of them are ours and pure, so that nobody notices, and what is said is said as always.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from millrace._src.core.values.chunk import Chunk

from .failures import RowErrors
from .step_registry import SegmentStep

__all__ = ["FastPath", "DetectOnlyErrors"]


class _FallbackNeeded(Exception):
    """Something was about to be said of a row."""


class DetectOnlyErrors(RowErrors):
    """Notes only whether something is amiss."""

    has_errors = False

    def __init__(self) -> None:
        super().__init__("return")

    def record(self, chunk: Chunk, i: int, error: Exception, op: str, what: str, columns: list[str]) -> bool:
        self.has_errors = True
        return False

    def describe_row(self, chunk: Chunk, i: int) -> str:
        raise _FallbackNeeded


class FastPath:
    """Runs steps in place of the first ``count`` of a segment; ``places`` says which of those each stands for."""

    def __init__(self, steps: Sequence[SegmentStep], positions: Sequence[int], count: int) -> None:
        self.steps, self.positions, self.count = steps, positions, count

    def __call__(self, chunk: Chunk) -> tuple[Chunk, list[float], list[float]] | None:
        """The chunk, the seconds and the processor's seconds of each step it stands for; None if something is amiss."""
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
