"""Number of available CPU cores, from the affinity mask and the container's CPU quota."""

from __future__ import annotations

import math
import os
from pathlib import Path

from millrace._src.core.log import warn_once

from .cgroup import MEMBERSHIP, ROOT, group_folders, read_text

__all__ = ["available_cores", "cgroup_quota", "warn_too_many_workers"]

# More workers than this are probably a mistake.
MAX_REASONABLE_WORKERS = 1024


def available_cores() -> int:
    """Number of cores in the affinity mask of this process, limited by the container's CPU quota.

    ``os.cpu_count()`` counts the machine; a container that may use two of its 64 cores runs slower, not
    faster, with 64 threads.

    >>> 1 <= available_cores() <= (os.cpu_count() or 1)
    True
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not on every system
        cores = os.cpu_count() or 1
    quota = cgroup_quota()
    if quota is not None:
        cores = min(cores, max(1, math.ceil(quota)))
    return max(1, cores)


def warn_too_many_workers(name: str, workers: int, stacklevel: int = 4) -> None:
    """Warn once per number of workers if it is far above the number of cores."""
    cores = available_cores()
    if workers > max(MAX_REASONABLE_WORKERS, 16 * cores):
        there = "there is 1 core" if cores == 1 else f"there are {cores} cores"
        warn_once(
            f"many-workers-{workers}",
            f"{name}={workers}, but {there}: workers beyond what the work can use cost memory and time to start, and "
            "wait for each other.",
            stacklevel=stacklevel,
        )


def cgroup_quota(root: str = ROOT, membership: str = MEMBERSHIP) -> float | None:
    """The CPU quota in cores, from cgroup v1 or v2 (the smallest of the group and its parents); None without a limit.

    >>> cgroup_quota(root="/no/such/folder") is None
    True
    """
    quotas = [
        _quota_v2(folder) if version == 2 else _quota_v1(folder)
        for version, folder in group_folders("cpu", root, membership)
    ]
    return min((quota for quota in quotas if quota is not None), default=None)


def _quota_v2(folder: Path) -> float | None:
    parts = (read_text(folder / "cpu.max") or "").split()
    if len(parts) != 2 or parts[0] == "max":
        return None
    return _ratio(parts[0], parts[1])


def _quota_v1(folder: Path) -> float | None:
    return _ratio(read_text(folder / "cpu.cfs_quota_us"), read_text(folder / "cpu.cfs_period_us"))


def _ratio(quota: str | None, period: str | None) -> float | None:
    try:
        micros, every = int(quota or ""), int(period or "")
    except ValueError:
        return None
    return micros / every if micros > 0 and every > 0 else None
