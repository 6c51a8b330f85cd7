"""A progress bar on a terminal; no output elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

__all__ = ["progress"]

LONGEST = 40


class progress:
    """Counts finished items; shows a bar if stderr is a terminal.

    With ``after``, the bar appears only if the work takes more than that many seconds.

    >>> with progress("writing", 10, show=False) as count:
    ...     count(3), count(7)
    (None, None)
    >>> count.count
    10
    """

    def __init__(
        self, text: str, total: int | None = None, show: bool | None = None, after: float = 0.0
    ) -> None:
        # a path may be longer than the terminal is wide, and the number is what matters
        self.text = text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}...{text[-LONGEST // 2 :]}"
        self.total, self.count = total, 0
        self._watched = (sys.stderr is not None and sys.stderr.isatty()) if show is None else show
        self._from = time.monotonic() + after
        self._bar: Any = None

    def __call__(self, count: int) -> None:
        """Add a number of finished items."""
        self.count += count
        if not self._watched:
            return
        if self._bar is None and time.monotonic() >= self._from:
            self._start_bar()
        if self._bar is not None:
            self._bar.update(self._task, completed=self.count)

    def _start_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self.text, total=self.total)

    def __enter__(self) -> progress:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
