"""Plain-text view without a terminal: a line every few seconds, and the diagnosis at the end."""

from __future__ import annotations

import sys
import time

from millrace._src.observe.history import history_of
from millrace._src.observe.observed_run import ObservedRun
from millrace._src.observe.report import Report

from .formatting import format_count, megabytes, per_second, plain_name, seconds, truncate_middle

__all__ = ["PlainTextView", "line_of", "print_line"]

EVERY = 5.0


def line_of(run: ObservedRun) -> str:
    """A run in one line: rate, rows, memory, busiest stage."""
    stats, history = run.stats, history_of(run)
    pair = None if history is None else history.recent(EVERY)
    if pair is None or run.closed:
        return f"millrace: {Report(run).headline()}"
    took, rows = pair[1].at - pair[0].at, pair[1].rows - pair[0].rows
    parts = [
        per_second(rows / took if took else 0.0, "row"),
        f"{format_count(stats.rows, 'row')} in {seconds(stats.elapsed)}",
        f"held {megabytes(run.budget.used)} of {megabytes(run.budget.limit)}",
    ]
    shares = [
        (b - a) / (took * max(1, stage.working)) if took else 0.0
        for stage, a, b in zip(stats.stages, pair[0].busy, pair[1].busy, strict=True)
    ]
    if any(shares):
        busiest = max(range(len(shares)), key=shares.__getitem__)
        name = truncate_middle(plain_name(stats.stages[busiest].name), 30)
        parts.append(f"busiest {name} {min(1.0, shares[busiest]):.0%}")
    fetched = sum(stage.cache.hits for stage in stats.stages if stage.cache is not None)
    if fetched:
        parts.append(f"{format_count(fetched, 'row')} from the cache")
    return "millrace: " + ", ".join(parts)


class PlainTextView:
    """Writes to stderr, separate from the output of the program."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def start(self) -> None: ...

    def show(self, runs: list[ObservedRun]) -> None:
        if time.monotonic() - self._last < EVERY:
            return
        self._last = time.monotonic()
        for run in runs:
            if not run.closed and run.stats.delivered:
                print_line(line_of(run))

    def stop(self, runs: list[ObservedRun]) -> None:
        for run in runs[-1:]:
            if run.stats.delivered:
                report = Report(run)
                print_line(f"millrace: {report.headline()}")
                print_line(f"millrace: {report.bottleneck}")


def print_line(text: str) -> None:
    """Print a line to stderr; errors are ignored."""
    if sys.stderr is not None:
        try:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
        except (OSError, ValueError):  # stderr is closed
            pass
