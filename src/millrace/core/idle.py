"""How long the machine's cores had nothing to do: the difference between waiting for a disk and waiting for a core."""

from __future__ import annotations

import os

__all__ = ["idle_seconds"]

_TICKS = os.sysconf("SC_CLK_TCK")


def idle_seconds() -> float | None:
    """Idle seconds of all cores together since the machine started, None where the system does not tell.

    >>> before = idle_seconds()
    >>> before is None or before >= 0
    True
    """
    try:
        with open("/proc/stat", "rb") as file:
            fields = file.readline().split()
        return (int(fields[4]) + int(fields[5])) / _TICKS
    except (OSError, IndexError, ValueError):
        return None
