"""CPU and memory limits from Linux control groups, versions 1 and 2."""

from __future__ import annotations

import functools
import os
from pathlib import Path

__all__ = [
    "ROOT",
    "cgroup_memory",
    "group_folders",
    "memory_info",
    "memory_limit",
    "read_number",
    "read_text",
]

ROOT = "/sys/fs/cgroup"
MEMBERSHIP = "/proc/self/cgroup"


def group_folders(controller: str, root: str = ROOT, membership: str = MEMBERSHIP) -> list[tuple[int, Path]]:
    """(version, folder) of the control group of this process and of its parents: each may set a limit.

    >>> group_folders("cpu", root="/groups", membership="/no/such/file")
    [(2, PosixPath('/groups')), (1, PosixPath('/groups/cpu'))]
    """
    # read each time, since a process may be moved to another group; parsing is cached
    return list(_folders(controller, root, read_text(membership) or ""))


@functools.lru_cache(maxsize=16)
def _folders(controller: str, root: str, text: str) -> tuple[tuple[int, Path], ...]:
    folders = []
    for version, path in _groups(controller, text):
        top = Path(root) if version == 2 else Path(root) / controller
        here = top / path.lstrip("/")
        # inside a container the path may name the host's tree, which is not mounted: fall back to the top
        for folder in [here, *here.parents] if top in (here, *here.parents) else [top]:
            folders.append((version, folder))
            if folder == top:
                break
    return tuple(folders)


def cgroup_memory(root: str = ROOT, membership: str = MEMBERSHIP) -> int | None:
    """The smallest memory limit of the groups in bytes; None without a limit.

    >>> cgroup_memory(root="/no/such/folder") is None
    True
    """
    names = {1: "memory.limit_in_bytes", 2: "memory.max"}
    limits = [
        read_number(folder / names[version]) for version, folder in group_folders("memory", root, membership)
    ]
    # version 1 writes "no limit" as the largest number of pages that fits
    return min((limit for limit in limits if limit is not None and limit < 1 << 60), default=None)


def memory_limit() -> int:
    """Bytes this process may use: the smaller of the machine's memory and its cgroup's limit.

    >>> memory_limit() > 0
    True
    """
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = cgroup_memory()
    return total if limit is None else min(total, limit)


def memory_info(text: str | None = None) -> dict[str, int]:
    """The values of ``/proc/meminfo`` in bytes; empty where it cannot be read.

    >>> memory_info("MemTotal: 2 kB")
    {'MemTotal': 2048}
    """
    content = read_text("/proc/meminfo") if text is None else text
    lines = (line.split() for line in (content or "").splitlines())
    return {
        fields[0].rstrip(":"): int(fields[1]) * 1024
        for fields in lines
        if len(fields) >= 2 and fields[1].isdigit()
    }


def read_number(path: Path) -> int | None:
    """The number in a file; None where there is none, or the text ``max``.

    >>> read_number(Path("/no/such/file")) is None
    True
    """
    try:
        return int(read_text(path) or "")
    except ValueError:
        return None


def read_text(path: str | Path) -> str | None:
    """Read a small system file without buffering; None where it does not exist.

    >>> read_text("/no/such/file") is None
    True
    """
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read().decode()
    except (OSError, ValueError):
        return None


def _groups(controller: str, text: str) -> list[tuple[int, str]]:
    """(version, path) of this process; the roots of both versions where that cannot be read."""
    groups = []
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if ".." in path.split("/"):  # a group outside our namespace shows as /../..
            path = "/"
        if number == "0" and controllers == "":
            groups.append((2, path))
        elif controller in controllers.split(","):
            groups.append((1, path))
    return groups or [(2, "/"), (1, "/")]
