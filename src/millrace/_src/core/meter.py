"""A progress bar with a rate on a terminal, one plain line per task elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

__all__ = ["TaskProgressBar"]


class TaskProgressBar:
    """Shows tasks that process images one by one.

    >>> with TaskProgressBar(Console(force_terminal=False)) as bar, bar.task("writing", 2) as step:
    ...     step(2)
    writing        2 images in 0.0 s, ... images/s
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        columns = (
            TextColumn("{task.description:<8}"),
            BarColumn(32),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
        )
        self.progress = Progress(*columns, console=console) if console.is_terminal else None

    @contextlib.contextmanager
    def task(self, name: str, total: int) -> Iterator[Callable[[int], None]]:
        """Yields a function to call with the number of images just done."""
        began, done = time.perf_counter(), 0
        bar = None if self.progress is None else self.progress.add_task(name, total=total, rate="")

        def rate() -> str:
            return f"{done / max(1e-9, time.perf_counter() - began):,.0f} images/s"

        def step(images: int) -> None:
            nonlocal done
            done += images
            if self.progress is not None and bar is not None:
                self.progress.update(bar, advance=images, rate=rate())

        yield step
        if self.progress is None:
            spent = time.perf_counter() - began
            self.console.print(f"{name:<8} {done:>7} images in {spent:.1f} s, {rate()}", markup=False)

    def __enter__(self) -> TaskProgressBar:
        if self.progress is not None:
            self.progress.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.progress is not None:
            self.progress.stop()
