"""Record a run's history for its page without the monitor's view; the command shows its own progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millrace._src.observe import history

__all__ = ["record_history"]

INTERVAL = 0.1  # seconds; these runs are short


def record_history(iterator: Any) -> Callable[[], None]:
    """A function to call after each batch; it samples the run's counters at each interval."""
    run = iterator._run
    kept = history.start_history(run, INTERVAL)

    def look() -> None:
        kept.look(run.stats, run.budget.used)

    return look
