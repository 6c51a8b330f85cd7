"""Who watches runs at the moment. A run that begins looks here; what watching needs is loaded when somebody does."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .monitor import Monitor
    from .observed_run import ObservedRun

__all__ = ["VARIABLE", "active", "register_run"]

VARIABLE = "MILLRACE_MONITOR"

active: list[Monitor] = []
# Whether the environment was looked at: once in a process.
_environment_read = False


def register_run(run: ObservedRun) -> None:
    """A run begins: whoever watches gets it."""
    if not _environment_read:
        _start_from_environment()
    for monitor in list(active):
        monitor.add_run(run)


def _start_from_environment() -> None:
    """Look at the environment, once; a child of fork looks for itself, but does not watch."""
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
