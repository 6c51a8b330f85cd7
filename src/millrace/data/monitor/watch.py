"""Watching runs while they go: a thread looks at their counters a few times a second, and a view shows them.

The thread only reads. It is a daemon, is joined when the watching ends, and a fault in it ends the watching, never
the run. Nothing is watched, and nothing costs anything, unless asked for: by ``monitor()`` or MILLRACE_MONITOR.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections import deque
from typing import Annotated, Any, Protocol, Self

from millrace.core import settings
from millrace.core.args import Range, check_type, checked
from millrace.core.log import get_logger

from .history import history_of, keep_history
from .report import Report
from .watched import Watched

__all__ = ["Monitor", "monitor", "started"]

log = get_logger(__name__)

VARIABLE = "MILLRACE_MONITOR"
# Seconds between looks, unless the call or config.set_monitor_sampling_interval says otherwise.
INTERVAL = 0.25
# Runs that are remembered; a process that trains for a week starts many.
MOST_RUNS = 8


class View(Protocol):
    """Somewhere to show runs: a terminal, or lines of plain text."""

    def start(self) -> None: ...

    def show(self, runs: list[Watched]) -> None: ...

    def stop(self, runs: list[Watched]) -> None:
        """The last look; the screen is the user's again afterwards."""


class Monitor:
    """What ``monitor()`` gives: use it in a ``with`` statement. Every pipeline iterated inside is watched.

    >>> import millrace.dataset as ds
    >>> data = ds.NumpySlicesDataset(list(range(1000))).batch(10)
    >>> with ds.monitor() as watched:
    ...     for row in data.create_tuple_iterator(num_epochs=1):
    ...         pass
    >>> [report.delivered for report in watched.reports()]
    [100]
    """

    def __init__(self, html: str | os.PathLike[str] | None, interval: float) -> None:
        self.html, self.interval = html, interval
        self._pid = os.getpid()
        self._runs: deque[Watched] = deque(maxlen=MOST_RUNS)
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._view: View | None = None

    def reports(self) -> list[Report]:
        """A report of each run that was watched, the last eight of them.

        >>> import millrace.dataset as ds
        >>> with ds.monitor() as watched:
        ...     pass
        >>> watched.reports()
        []
        """
        return [Report(run) for run in list(self._runs)]

    def follow(self, run: Watched) -> None:
        """Watch this run too."""
        if os.getpid() == self._pid and not self._over.is_set():
            keep_history(run, self.interval)
            self._runs.append(run)

    def start(self) -> Self:
        """Begin to watch; ``with`` calls it.

        >>> import millrace.dataset as ds
        >>> watched = ds.monitor().start()
        >>> watched.stop()
        """
        if self._thread is not None:
            return self
        self._over.clear()
        # one screen has room for one view; a monitor inside another only keeps the history
        self._view = None if _active else _choose_view()
        if self._view is not None:
            self._view.start()
        _active.append(self)
        self._thread = threading.Thread(target=self._work, name="millrace-monitor", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the watching, give the screen back and write the page, if one was asked for.

        >>> import millrace.dataset as ds
        >>> ds.monitor().stop()
        """
        thread, self._thread = self._thread, None
        if thread is None or os.getpid() != self._pid:
            return
        _active.remove(self)
        self._over.set()
        thread.join()
        runs = list(self._runs)
        view, self._view = self._view, None
        if view is not None:
            self._look()
            view.stop(runs)
        if self.html is not None and runs:
            Report(runs[-1]).to_html(self.html)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: object, *rest: object) -> None:
        try:
            self.stop()
        except OSError as error:  # the page cannot be written
            if kind is None:
                raise
            log.warning("%s was not written: %s", self.html, error)  # what went wrong inside matters more

    def _work(self) -> None:
        try:
            while not self._over.wait(self.interval):
                self._look()
                if self._view is not None:
                    self._view.show(list(self._runs))
        except Exception as error:  # showing a run must never harm it
            log.warning("the monitor stopped: %s: %s", type(error).__name__, error)

    def _look(self) -> None:
        for run in list(self._runs):
            history = history_of(run)
            if history is not None and not run.closed:
                history.look(run.stats, run.budget.used)


_active: list[Monitor] = []
_asked: dict[str, Any] = {}


@checked
def monitor(
    html: Any = None,
    *,
    interval: Annotated[float | int | None, Range(0.05, 60.0)] = None,
) -> Monitor:
    """Watch every pipeline iterated inside a ``with`` block, live.

    In a terminal each stage has a line: rows per second, how busy it is, how full its queue; below it stands the
    verdict. Elsewhere a plain line is printed every few seconds. Your own prints stay readable. ``html`` names a
    file for the report of the last run, with its history. The variable MILLRACE_MONITOR=1 does the same for a
    whole program; MILLRACE_MONITOR=report.html writes the page too.

    >>> import millrace.dataset as ds
    >>> data = ds.NumpySlicesDataset(list(range(1000))).batch(10)
    >>> with ds.monitor(html="report.html"):
    ...     for row in data.create_tuple_iterator(num_epochs=1):
    ...         pass
    >>> from pathlib import Path
    >>> Path("report.html").read_text(encoding="utf-8").splitlines()[0]
    '<!doctype html>'
    """
    if html is not None:
        check_type(html, (str, os.PathLike), "html")
    if interval is None:
        asked = settings.current().monitor_sampling_interval
        interval = INTERVAL if asked is None else max(0.05, asked / 1000)
    return Monitor(html, interval)


def started(run: Watched) -> None:
    """A run begins: whoever watches gets it."""
    if not _asked:
        _ask()
    for active in list(_active):
        active.follow(run)


def _ask() -> None:
    """Look at the environment, once; a child of fork looks for itself, but does not watch."""
    wish = os.environ.get(VARIABLE, "")
    _asked["wish"] = wish
    if wish in ("", "0"):
        return
    page = None if wish == "1" else wish
    atexit.register(Monitor(page, 0.25).start().stop)


def _after_fork() -> None:
    _active.clear()
    _asked["wish"] = ""


os.register_at_fork(after_in_child=_after_fork)


def _choose_view() -> View:
    if sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from .screen import Screen

        return Screen()
    from .lines import Lines

    return Lines()
