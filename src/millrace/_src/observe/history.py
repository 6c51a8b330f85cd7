"""How a run went over time: counters looked at a few times a second, kept in bounded memory."""

from __future__ import annotations

import itertools
import weakref
from typing import Any, NamedTuple

from millrace._src.core.statistics import RunStats

from .observed_run import ObservedRun

__all__ = ["CounterHistory", "CounterSample", "history_of", "start_history"]

# Points kept; when there are more, every second one goes and the next are taken half as often.
MOST_POINTS = 240


class CounterSample(NamedTuple):
    """Counters at one moment. All but ``held``, ``limit`` and the fills count up, so points can be left out."""

    at: float
    rows: int
    delivered: int
    held: int
    # per stage: how full its queue is, rows, seconds busy, seconds it was waited for, seconds it waited for room
    fill: tuple[float, ...]
    stage_rows: tuple[int, ...]
    busy: tuple[float, ...]
    wait_in: tuple[float, ...]
    wait_out: tuple[float, ...]


class CounterHistory:
    """The points of one run. Written by one thread, read by any."""

    def __init__(self, interval: float = 0.25) -> None:
        self.interval = interval
        self.points: list[CounterSample] = []

    def look(self, run: RunStats, held: int) -> None:
        """Take a point now, unless the last one is too young."""
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
        """(seconds since the start, rows per second) between each two points."""
        points = self.points
        pairs = itertools.pairwise(points)
        return [(b.at, (b.rows - a.rows) / (b.at - a.at)) for a, b in pairs if b.at > a.at]

    def recent(self, seconds: float = 2.0) -> tuple[CounterSample, CounterSample] | None:
        """The last point and one about so many seconds before it; None while there are not two."""
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


# A run knows nothing of who watches it; its history lives as long as it does.
_kept: weakref.WeakKeyDictionary[ObservedRun, CounterHistory] = weakref.WeakKeyDictionary()


def history_of(run: ObservedRun) -> CounterHistory | None:
    """What was kept of this run; None where nobody looked at it."""
    return _kept.get(run)


def start_history(run: ObservedRun, interval: float) -> CounterHistory:
    """Begin to keep the history of a run, with a first look; one that is kept already goes on."""
    history = _kept.setdefault(run, CounterHistory(interval))
    history.look(run.stats, run.budget.used)
    return history
