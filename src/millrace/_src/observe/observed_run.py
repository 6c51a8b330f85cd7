"""Interface of runs for the monitor: counters and the plan, read-only."""

from __future__ import annotations

from collections.abc import Sized
from typing import Protocol

from millrace._src.core.statistics import RunStats
from millrace._src.data.plan.bind import Plan

__all__ = ["ObservedRun"]


class MemoryUsage(Protocol):
    """Memory of a run in bytes: current, peak, and limit."""

    @property
    def used(self) -> int: ...

    @property
    def peak(self) -> int: ...

    @property
    def limit(self) -> int: ...


class ObservedRun(Protocol):
    """A run; ``PipelineRun`` of the engine implements it."""

    @property
    def stats(self) -> RunStats: ...

    @property
    def plan(self) -> Plan: ...

    @property
    def budget(self) -> MemoryUsage: ...

    @property
    def failed_rows(self) -> Sized:
        """Rows that were skipped or replaced."""

    @property
    def padded_rows(self) -> int: ...

    @property
    def closed(self) -> bool: ...
