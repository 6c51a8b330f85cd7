"""Registry of active monitors. A run registers here when it starts; the monitor is imported only when it is used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .monitor import Monitor
    from .observed_run import ObservedRun

__all__ = ["VARIABLE", "active", "register_run"]

VARIABLE = "MILLRACE_MONITOR"

active: list[Monitor] = []
# Whether the environment variable was read: once per process.
_environment_read = False


def register_run(run: ObservedRun) -> None:
    """Register a new run with all active monitors."""
    if not _environment_read:
        _start_from_environment()
    for monitor in list(active):
        monitor.add_run(run)


def _start_from_environment() -> None:
    """Read the environment variable once, and start a monitor if it is set; forked children do not monitor."""
    global _environment_read
    _environment_read = True
    setting = os.environ.get(VARIABLE, "")
    if setting not in ("", "0"):
        from .monitor import monitor_until_exit

        monitor_until_exit(setting)


def _after_fork() -> None:
    global _environment_read
    for monitor in active:
        monitor.leave_to_parent()
    active.clear()
    _environment_read = True


os.register_at_fork(after_in_child=_after_fork)
