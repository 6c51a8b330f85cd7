"""History of a run: counters sampled a few times a second, in bounded memory."""

from __future__ import annotations

import itertools
import weakref
from typing import Any, NamedTuple

from millrace._src.core.statistics import RunStats

from .observed_run import ObservedRun

__all__ = ["CounterHistory", "CounterSample", "history_of", "start_history"]

# The maximum number of points; beyond it every second one is dropped and the interval doubled.
MOST_POINTS = 240


class CounterSample(NamedTuple):
    """Counters at one moment. All but ``held`` and the fill levels only increase, so points can be dropped."""

    at: float
    rows: int
    delivered: int
    held: int
    # per stage: queue fill level, rows, seconds busy, seconds that the next stage waited for it, seconds that it waited
    # for space in its queue
    fill: tuple[float, ...]
    stage_rows: tuple[int, ...]
    busy: tuple[float, ...]
    wait_in: tuple[float, ...]
    wait_out: tuple[float, ...]


class CounterHistory:
    """The points of one run. Written by one thread, read by any thread."""

    def __init__(self, interval: float = 0.25) -> None:
        self.interval = interval
        self.points: list[CounterSample] = []

    def look(self, run: RunStats, held: int) -> None:
        """Sample a point, unless the last one is too recent."""
        now = run.elapsed
        if self.points and now - self.points[-1].at < 0.9 * self.interval:
            return
        stages = run.stages
        self.points.append(
            CounterSample(
                now,
                run.rows,
                run.delivered,
                held,
                tuple(stage.last_fill for stage in stages),
                tuple(stage.num_outputs for stage in stages),
                tuple(stage.busy for stage in stages),
                tuple(stage.wait_in for stage in stages),
                tuple(stage.wait_out for stage in stages),
            )
        )
        if len(self.points) > MOST_POINTS:
            self.points = self.points[::2]
            self.interval *= 2

    def rates(self) -> list[tuple[float, float]]:
        """(seconds since the start, rows per second) between consecutive points."""
        points = self.points
        pairs = itertools.pairwise(points)
        return [(b.at, (b.rows - a.rows) / (b.at - a.at)) for a, b in pairs if b.at > a.at]

    def recent(self, seconds: float = 2.0) -> tuple[CounterSample, CounterSample] | None:
        """The last point and one about ``seconds`` before it; None if there are fewer than two."""
        points = self.points
        if len(points) < 2:
            return None
        last = points[-1]
        first = next((p for p in reversed(points[:-1]) if last.at - p.at >= seconds), points[0])
        return first, last

    def to_dict(self) -> dict[str, Any]:
        points = self.points
        return {
            "at": [p.at for p in points],
            "rows": [p.rows for p in points],
            "bytes_held": [p.held for p in points],
            "queue_fill": [list(p.fill) for p in points],
        }


# A run has no reference to its monitor; its history lives as long as the run.
_kept: weakref.WeakKeyDictionary[ObservedRun, CounterHistory] = weakref.WeakKeyDictionary()


def history_of(run: ObservedRun) -> CounterHistory | None:
    """The history of a run; None if it was not monitored."""
    return _kept.get(run)


def start_history(run: ObservedRun, interval: float) -> CounterHistory:
    """Start the history of a run with a first point; an existing one continues."""
    history = _kept.setdefault(run, CounterHistory(interval))
    history.look(run.stats, run.budget.used)
    return history
