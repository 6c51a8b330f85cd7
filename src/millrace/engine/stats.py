"""Counters of each stage: updated once per chunk, always on. Reports, dashboards and tuning only read them."""

from __future__ import annotations

import dataclasses
import time
from collections import deque

__all__ = ["OpStats", "RunStats", "StageStats"]


@dataclasses.dataclass
class OpStats:
    """One op inside a segment."""

    name: str
    where: str = ""
    # it runs the user's Python, which may hold the GIL
    python: bool = False
    rows: int = 0
    busy: float = 0.0


@dataclasses.dataclass
class StageStats:
    """One stage: what it did, what it waited for, and how full its queue was when asked."""

    name: str
    kind: str
    workers: int = 1
    window: int = 1
    rows: int = 0
    chunks: int = 0
    bytes: int = 0
    busy: float = 0.0
    wait_in: float = 0.0
    wait_out: float = 0.0
    ops: list[OpStats] = dataclasses.field(default_factory=list)
    fill: deque[float] = dataclasses.field(default_factory=lambda: deque(maxlen=64))

    @property
    def mean_fill(self) -> float:
        return sum(self.fill) / len(self.fill) if self.fill else 0.0


class RunStats:
    """All stages of one run, sources first, and the consumer's side of it."""

    def __init__(self) -> None:
        self.stages: list[StageStats] = []
        self.started = time.perf_counter()
        self.first_batch: float | None = None
        self.ended: float | None = None
        self.delivered = 0
        # seconds the consumer waited for us, and seconds it spent between two calls
        self.consumer_wait = 0.0
        self.consumer_busy = 0.0
        self.last_return: float | None = None

    @property
    def elapsed(self) -> float:
        return (self.ended or time.perf_counter()) - self.started

    def add(self, stats: StageStats) -> StageStats:
        self.stages.append(stats)
        return stats
