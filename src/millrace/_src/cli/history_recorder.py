"""A run's history for its page, without the monitor's view: the command shows progress of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace._src.observe import history

__all__ = ["record_history"]

INTERVAL = 0.1  # seconds; these runs are short


def record_history(iterator: Any) -> Callable[[], None]:
    """A function to call after each batch; it looks at the run's counters when it is time to."""
    run = iterator._run
    kept = history.start_history(run, INTERVAL)

    def look() -> None:
        kept.look(run.stats, run.budget.used)

    return look
