"""A progress bar where a person watches, nothing elsewhere."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

__all__ = ["progress"]


@contextlib.contextmanager
def progress(
    text: str, total: int | None = None, show: bool | None = None
) -> Iterator[Callable[[int], None]]:
    """Yield a function that counts rows; a bar is drawn when stderr is a terminal.

    >>> with progress("writing", 10, show=False) as count:
    ...     count(10)
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield lambda rows: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=total)
        yield lambda rows: bar.advance(task, rows)
