"""The view where there is no terminal: a plain line every few seconds, and the verdict at the end."""

from __future__ import annotations

import sys
import time

from .history import history_of
from .verdict import judge
from .watched import Watched
from .words import count, megabytes, plain_name, seconds

__all__ = ["Lines", "line_of"]

EVERY = 5.0


def line_of(run: Watched) -> str:
    """A run in one line: how fast, how far, how much memory, who is busiest."""
    stats, history = run.stats, history_of(run)
    pair = None if history is None else history.recent(EVERY)
    if pair is None or run.closed:
        took, rows = stats.elapsed, stats.rows
    else:
        took, rows = pair[1].at - pair[0].at, pair[1].rows - pair[0].rows
    parts = [
        f"{count(rows / took) if took else 0} rows/s",
        f"{count(stats.rows)} rows in {seconds(stats.elapsed)}",
        f"held {megabytes(run.budget.used)} of {megabytes(run.budget.limit)}",
    ]
    busiest = max(stats.stages, key=lambda stage: stage.busy / max(1, stage.working), default=None)
    if busiest is not None and busiest.busy and stats.elapsed:
        share = min(1.0, busiest.busy / (stats.elapsed * max(1, busiest.working)))
        parts.append(f"busiest {plain_name(busiest.name)} {share:.0%}")
    return "millrace: " + ", ".join(parts)


class Lines:
    """Writes to stderr, so that what a program prints stays its own."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def start(self) -> None: ...

    def show(self, runs: list[Watched]) -> None:
        if time.monotonic() - self._last < EVERY:
            return
        self._last = time.monotonic()
        for run in runs:
            if not run.closed and run.stats.delivered:
                _write(line_of(run))

    def stop(self, runs: list[Watched]) -> None:
        for run in runs[-1:]:
            if run.stats.delivered:
                _write(line_of(run))
                _write(f"millrace: {judge(run.stats, run.budget.limit)}")


def _write(text: str) -> None:
    if sys.stderr is not None:
        try:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):  # nobody reads any more
            pass
