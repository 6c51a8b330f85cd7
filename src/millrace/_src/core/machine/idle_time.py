"""Idle time of the CPU cores, which distinguishes waiting for a disk from waiting for a core."""

from __future__ import annotations

import os

__all__ = ["idle_seconds"]

_TICKS = os.sysconf("SC_CLK_TCK")


def idle_seconds(path: str = "/proc/stat") -> float | None:
    """Idle seconds since boot of all cores this process may run on; None where they are unknown.

    >>> before = idle_seconds()
    >>> before is None or before >= 0
    True
    """
    try:
        ours = {f"cpu{number}".encode() for number in os.sched_getaffinity(0)}
    except (AttributeError, OSError):  # not on every system
        ours = set()
    try:
        with open(path, "rb") as file:
            lines = [line.split() for line in file if line.startswith(b"cpu")]
        mine = [fields for fields in lines if fields[0] in ours] or lines[:1]
        # a sandbox without these times writes zeros, which would mean cores that are never idle
        if not any(int(value) for fields in mine for value in fields[1:]):
            return None
        return sum(int(fields[4]) + int(fields[5]) for fields in mine) / _TICKS
    except (OSError, IndexError, ValueError):
        return None
