"""What the monitor reads of a run: counters and the plan. It steers nothing, so that is all it knows of the engine."""

from __future__ import annotations

from collections.abc import Sized
from typing import Protocol

from millrace._src.core.statistics import RunStats
from millrace._src.data.plan.bind import Plan

__all__ = ["ObservedRun"]


class MemoryUsage(Protocol):
    """Bytes in the hands of a run: now, at most so far, and allowed."""

    @property
    def used(self) -> int: ...

    @property
    def peak(self) -> int: ...

    @property
    def limit(self) -> int: ...


class ObservedRun(Protocol):
    """A run, as the engine's ``Run`` is one."""

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
