"""What a process holds: memory, threads, descriptors, shared memory, children, temporary files. Through /proc."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.leaks import Footprint

__all__ = ["NAMES", "Watch", "compared", "objects_by_type", "of_process"]

NAMES = {
    "memory_mb": "resident memory, MB",
    "threads": "threads",
    "descriptors": "descriptors",
    "shared_blocks": "blocks of shared memory (`/dev/shm`, `memfd`)",
    "processes": "child processes",
    "files": "temporary files",
    "objects": "Python objects, thousands",
}
# What may move a little without anything being lost: allocators keep pages, caches of libraries fill.
SOFT = ("memory_mb", "objects")
MORE_OBJECTS = 5.0
_SHARED = ("/memfd:", "/dev/shm/")


def of_process(pid: int) -> dict[str, float]:
    """Any process, as /proc shows it."""
    here = Path("/proc", str(pid))
    resident = int((here / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    opened = [inode for entry in (here / "fd").iterdir() if (inode := _shared(entry)) is not None]
    mapped = [line.split() for line in (here / "maps").read_text(errors="replace").splitlines()]
    blocks = {int(words[4]) for words in mapped if words[5:] and words[5].startswith(_SHARED)}
    children = [
        child for thread in (here / "task").iterdir() for child in (thread / "children").read_text().split()
    ]
    return {
        "memory_mb": round(resident, 1),
        "threads": len(list((here / "task").iterdir())),
        "descriptors": len(opened),
        "shared_blocks": len(blocks.union(opened) - {0}),
        "processes": len(children),
    }


def _shared(descriptor: Path) -> int | None:
    """The inode of shared memory, 0 for any other descriptor; None where it was closed while we looked."""
    try:
        return descriptor.stat().st_ino if os.readlink(descriptor).startswith(_SHARED) else 0
    except OSError:
        return None


class Watch:
    """Looks at this process and at others of ours."""

    def __init__(self, temporary: Path) -> None:
        self.temporary = temporary
        self.first = Footprint.take()

    def take(self, others: dict[str, int]) -> dict[str, dict[str, float]]:
        """What each process holds now, by its name."""
        now = Footprint.take()
        ours = of_process(os.getpid())
        ours["descriptors"] = len(now.descriptors)
        ours["processes"] = len(now.processes)
        ours["shared_blocks"] += len(self.first.shared_since(now))
        ours["files"] = len(list(self.temporary.rglob("*")))
        ours["objects"] = round(len(gc.get_objects()) / 1000, 1)
        return {"the soak": ours} | {name: of_process(pid) for name, pid in others.items()}

    def left(self, seconds: float) -> list[str]:
        """What is still held of what was not held at the beginning, after so long at most.

        Descriptors are not named: the libraries of the store and of gRPC keep one or two for the next time.
        """
        deadline = time.monotonic() + seconds
        while True:
            found = [line for line in self.first.wait_until_back(0) if not line.startswith("descriptor")]
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.1)


def objects_by_type() -> Counter[str]:
    """How many objects there are of each type: says what grows, where something does."""
    gc.collect()
    return Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())


def compared(
    samples: Sequence[dict[str, Any]], last: dict[str, Any], grown_mb: float
) -> dict[str, dict[str, dict[str, Any]]]:
    """For each process and thing the second quarter of the samples against the last one, and whether it is flat.

    What is counted is compared by the least that was held after a turn: connections and threads that a library keeps
    for half a minute come and go, and a leak lifts the floor. `last` is a look after all of them had time to go.
    """
    quarter = max(1, len(samples) // 4)
    early, late = samples[quarter : 2 * quarter] or samples, [*samples[-quarter:], last]
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for process, things in last.items():
        for name in things:
            before, after, everything = (
                [each[process][name] for each in some if process in each] for some in (early, late, samples)
            )
            if not before:  # it was started late
                before = everything or after
            if name in SOFT:
                first, end = round(statistics.median(before), 1), round(statistics.median(after), 1)
                room = grown_mb if name == "memory_mb" else MORE_OBJECTS
            else:
                first, end, room = min(before), min(after), 0.0
            table.setdefault(process, {})[name] = {
                "after warm-up": first,
                "at the end": end,
                "most": max([*everything, *after]),
                "flat": end - first <= room,
            }
    return table
