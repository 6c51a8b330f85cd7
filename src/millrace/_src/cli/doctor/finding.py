"""Finding of a check, and the machine that the checks inspect."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

__all__ = ["LEVELS", "Finding", "Level", "Machine", "Space", "size"]

Level = Literal["ok", "note", "warning", "problem"]
LEVELS: tuple[Level, ...] = ("ok", "note", "warning", "problem")


@dataclasses.dataclass(frozen=True)
class Finding:
    """One finding. Findings that are not ok explain the effect and the fix."""

    level: Level
    summary: str
    impact: str = ""
    remedy: str = ""
    # the name of the check, set by the registry
    check: str = ""


class Space(NamedTuple):
    """Space of a file system: total bytes, free bytes, free entries."""

    total: int
    free: int
    entries: int


def _file_system_space(path: Path) -> Space:
    stat = os.statvfs(path)
    return Space(stat.f_blocks * stat.f_frsize, stat.f_bavail * stat.f_frsize, stat.f_favail)


@dataclasses.dataclass(frozen=True)
class Machine:
    """The machine that the checks inspect. Tests replace ``/`` by a folder and the system's numbers by their own."""

    root: Path = Path("/")
    environ: Mapping[str, str] = dataclasses.field(default_factory=lambda: dict(os.environ))
    cores: int = dataclasses.field(default_factory=lambda: os.cpu_count() or 1)
    affinity: int = dataclasses.field(default_factory=lambda: len(os.sched_getaffinity(0)))
    temp: Path = dataclasses.field(default_factory=lambda: Path(tempfile.gettempdir()))
    # folders to search for partial record files
    folders: tuple[Path, ...] = (Path(),)
    space: Callable[[Path], Space] = _file_system_space
    uid: int = dataclasses.field(default_factory=os.getuid)
    memfd: bool = hasattr(os, "memfd_create")

    def path(self, name: str) -> Path:
        return self.root / name

    def read(self, name: str) -> str:
        """Text of a system file; "" if it does not exist."""
        try:
            return self.path(name).read_text()
        except (OSError, ValueError):
            return ""

    @property
    def groups(self) -> tuple[str, str]:
        """The folder of the control groups, and the file that lists those of this process."""
        return str(self.path("sys/fs/cgroup")), str(self.path("proc/self/cgroup"))

    @property
    def cache(self) -> Path:
        """The user's cache folder, which contains indexes of large files."""
        home = Path(self.environ.get("HOME") or os.path.expanduser("~"))
        return Path(self.environ.get("XDG_CACHE_HOME") or home / ".cache") / "millrace"

    def clock_cost(self, calls: int = 20_000) -> float:
        """Seconds per clock read; the best of three runs, since other programs use the processor too."""
        clock = time.perf_counter
        best = float("inf")
        for _ in range(3):
            began = clock()
            for _ in range(calls):
                clock()
            best = min(best, (clock() - began) / calls)
        return best


def size(number: float) -> str:
    """Format a number of bytes.

    >>> size(999), size(64 << 20), size(25_769_803_776)
    ('999 bytes', '67.1 MB', '25.8 GB')
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= scale:
            return f"{number / scale:.3g} {unit}"
    return f"{number:.0f} bytes"
