"""Monitor active runs: a thread samples their counters a few times a second, and a view shows them.

The thread only reads. It is a daemon, is joined when the monitor stops, and an error in it stops the monitor, never
the run. There is no overhead unless monitoring is enabled by ``monitor()`` or MILLRACE_MONITOR.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, Self

from millrace._src.core import settings
from millrace._src.core.args import Range, check_type, checked
from millrace._src.core.errors import ArgumentValueError, MillraceError
from millrace._src.core.log import get_logger
from millrace._src.core.public import public

from .active_monitor import active
from .history import history_of, start_history
from .observed_run import ObservedRun
from .report import Report
from .views.plain_text import PlainTextView, print_line

if TYPE_CHECKING:
    from .live.dashboard_server import DashboardServer
    from .live.recorder import RunRecorder

__all__ = ["Monitor", "monitor", "monitor_until_exit"]

log = get_logger(__name__)

# Seconds between samples, unless the call or config.set_monitor_sampling_interval sets another interval.
INTERVAL = 0.25
# The maximum number of runs to keep; a process that trains for a week starts many.
MOST_RUNS = 8


class View(Protocol):
    """A view of runs: a terminal display, or lines of plain text."""

    def start(self) -> None: ...

    def show(self, runs: list[ObservedRun]) -> None: ...

    def stop(self, runs: list[ObservedRun]) -> None:
        """Show the runs a last time, and restore the screen."""


class Monitor:
    """The result of ``monitor()``: use it in a ``with`` statement. Every pipeline iterated inside is monitored.

    >>> import millrace.dataset as ds
    >>> data = ds.NumpySlicesDataset(list(range(1000))).batch(10)
    >>> with ds.monitor() as watched:
    ...     for row in data.create_tuple_iterator(num_epochs=1):
    ...         pass
    >>> [report.delivered for report in watched.reports()]
    [100]
    """

    def __init__(
        self,
        html: str | os.PathLike[str] | None,
        interval: float,
        page: bool | int = False,
        history: str | os.PathLike[str] | None = None,
    ) -> None:
        self.html, self.interval = html, interval
        self._page, self._history = page, history
        self._recorder: RunRecorder | None = None
        self._server: DashboardServer | None = None
        self._pid = os.getpid()
        self._runs: deque[ObservedRun] = deque(maxlen=MOST_RUNS)
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._view: View | None = None

    @property
    def url(self) -> str | None:
        """The address of the page while it is served: with ``monitor(page=True)``, inside its block.

        >>> import millrace.dataset as ds
        >>> with ds.monitor(page=True) as watched:
        ...     watched.url.startswith("http://127.0.0.1:")
        True
        """
        return None if self._server is None else self._server.url

    @property
    def history(self) -> Path | None:
        """The event log of the run, for ``millrace watch``; None if it could not be created.

        >>> import millrace.dataset as ds
        >>> with ds.monitor(history="run.history") as watched:
        ...     watched.history.name
        'run.history'
        """
        return None if self._recorder is None else self._recorder.path

    def reports(self) -> list[Report]:
        """Reports of the monitored runs, at most the last eight.

        >>> import millrace.dataset as ds
        >>> with ds.monitor() as watched:
        ...     pass
        >>> watched.reports()
        []
        """
        return [Report(run) for run in list(self._runs)]

    def leave_to_parent(self) -> None:
        """In a forked child: close the event log and the server of the parent without effect on them."""
        if self._recorder is not None:
            self._recorder.forget()
        if self._server is not None:
            self._server.forget()

    def add_run(self, run: ObservedRun) -> None:
        """Monitor another run."""
        if os.getpid() == self._pid and not self._over.is_set():
            start_history(run, self.interval)
            self._runs.append(run)
            if self._recorder is not None:
                self._recorder.follow(run)

    def start(self) -> Self:
        """Start monitoring; ``with`` calls it.

        >>> import millrace.dataset as ds
        >>> watched = ds.monitor().start()
        >>> watched.stop()
        """
        if self._thread is not None:
            return self
        self._open_history()
        self._over.clear()
        # only one view per screen; a monitor inside another only records the history
        self._view = None if active else _choose_view()
        if self._view is not None:
            self._view.start()
        active.append(self)
        self._thread = threading.Thread(target=self._work, name="millrace-monitor", daemon=True)
        self._thread.start()
        return self

    def _open_history(self) -> None:
        """Create the event log, and the page that shows it. Without a request of the user, errors only disable it."""
        requested = bool(self._page) or self._history is not None
        if active and not requested:
            return  # the outer monitor writes it
        from .live.recorder import RunRecorder
        from .live.run_directory import new_log_path

        try:
            self._recorder = RunRecorder(new_log_path() if self._history is None else Path(self._history))
        except (OSError, MillraceError) as error:
            if requested:
                raise
            log.debug("no history is kept for `millrace watch`: %s", error)
            return
        if self._page:
            from .live.dashboard_server import DashboardServer

            try:
                self._server = DashboardServer(self._recorder.path, 0 if self._page is True else self._page)
            except OSError as error:
                self._close_history(str(error))
                raise ArgumentValueError(
                    f"page: port {self._page} cannot be had ({error.strerror}); page=True takes one that is free"
                ) from error
            print_line(f"millrace: the page of this run is at {self._server.url}")

    def _close_history(self, why: str) -> None:
        server, self._server = self._server, None
        try:
            if self._recorder is not None:
                self._recorder.close(why)
        finally:
            if server is not None:
                server.close()

    def stop(self, why: str = "") -> None:
        """Stop monitoring, restore the screen and write the HTML report, if one was requested.

        ``why`` is the error, if there was one; it is recorded in the history.

        >>> import millrace.dataset as ds
        >>> ds.monitor().stop()
        """
        thread, self._thread = self._thread, None
        if thread is None or os.getpid() != self._pid:
            return
        active.remove(self)
        self._over.set()
        thread.join()
        runs = list(self._runs)
        view, self._view = self._view, None
        try:
            if view is not None:
                self._look()
                view.stop(runs)
        finally:
            self._close_history(why)
        if self._history is not None or self._page:
            print_line(f"millrace: this run can be seen again with: millrace watch {self.history}")
        if self.html is not None and runs:
            Report(runs[-1]).to_html(self.html)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, exc_type: type[BaseException] | None, error: object, *rest: object) -> None:
        try:
            self.stop("" if exc_type is None else f"{exc_type.__name__}: {error}")
        except OSError as error:  # the page cannot be written
            if exc_type is None:
                raise
            log.warning("%s was not written: %s", self.html, error)  # the exception of the block is raised

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
        if self._recorder is not None:
            self._recorder.look()


@public("dataset")
@checked
def monitor(
    html: Any = None,
    *,
    interval: Annotated[float | int | None, Range(0.05, 60.0)] = None,
    page: Annotated[bool | int, Range(1, 65535)] = False,
    history: Any = None,
) -> Monitor:
    """Monitor every pipeline iterated inside a ``with`` block, live.

    In a terminal each stage has a line with rows per second, busy time and queue fill; below it is the
    diagnosis. Elsewhere a plain line is printed every few seconds. Output of the program stays readable. ``html`` is a
    file for the report of the last run, with its history. The variable MILLRACE_MONITOR=1 does the same for a
    whole program; MILLRACE_MONITOR=report.html also writes the page.

    ``page=True`` shows the run in a browser, including the training of a ``Model``: the address, which is accessible
    only from this machine, is printed to stderr (``page=8080`` sets the port; MILLRACE_MONITOR=page for a whole
    program). ``millrace watch --live`` shows any monitored run from another terminal. ``history`` is the file
    for it, which ``millrace watch FILE`` opens later; without it the last twenty runs are kept in the runtime
    directory.

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
    if history is not None:
        check_type(history, (str, os.PathLike), "history")
        if not Path(history).absolute().parent.is_dir():
            raise ArgumentValueError(
                f"history: the folder {Path(history).absolute().parent} does not exist; make it first"
            )
    if interval is None:
        configured = settings.current().monitor_sampling_interval
        interval = INTERVAL if configured is None else max(0.05, configured / 1000)
    return Monitor(html, interval, page, history)


def monitor_until_exit(setting: str) -> None:
    """Monitor until the process ends, as set by the environment variable."""
    html = None if setting in ("1", "page") else setting
    atexit.register(Monitor(html, INTERVAL, page=setting == "page").start().stop)


def _choose_view() -> View:
    if sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from .views.terminal import TerminalView

        return TerminalView()
    return PlainTextView()
