"""How many processor cores this process may really use."""

from __future__ import annotations

import math
import os
from pathlib import Path

__all__ = ["available_cores", "cgroup_quota"]


def available_cores() -> int:
    """Cores left to this process by its affinity mask and by the container's CPU quota.

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


def cgroup_quota(root: str = "/sys/fs/cgroup", membership: str = "/proc/self/cgroup") -> float | None:
    """Cores granted by cgroup v1 or v2 (the tightest of the group and its parents), or None without a limit.

    >>> cgroup_quota(root="/no/such/folder") is None
    True
    """
    quotas = []
    for version, path in _groups(membership):
        top = Path(root) if version == 2 else Path(root) / "cpu"
        here = top / path.lstrip("/")
        # inside a container the path may name the host's tree, which is not mounted: fall back to the top
        for folder in [here, *here.parents] if top in (here, *here.parents) else [top]:
            found = _quota_v2(folder) if version == 2 else _quota_v1(folder)
            if found is not None:
                quotas.append(found)
            if folder == top:
                break
    return min(quotas, default=None)


def _groups(membership: str) -> list[tuple[int, str]]:
    """(cgroup version, path) of this process; the roots of both versions when that cannot be read."""
    text = _read(Path(membership))
    found = []
    for line in (text or "").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if ".." in path.split("/"):  # a group outside our namespace shows as /../..
            path = "/"
        if number == "0" and controllers == "":
            found.append((2, path))
        elif "cpu" in controllers.split(","):
            found.append((1, path))
    return found or [(2, "/"), (1, "/")]


def _quota_v2(folder: Path) -> float | None:
    parts = (_read(folder / "cpu.max") or "").split()
    if len(parts) != 2 or parts[0] == "max":
        return None
    return _ratio(parts[0], parts[1])


def _quota_v1(folder: Path) -> float | None:
    return _ratio(_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us"))


def _ratio(quota: str | None, period: str | None) -> float | None:
    try:
        micros, every = int(quota or ""), int(period or "")
    except ValueError:
        return None
    return micros / every if micros > 0 and every > 0 else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except OSError:
        return None
