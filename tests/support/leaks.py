"""What a process holds: threads, child processes, descriptors, shared memory. Linux, through /proc."""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MARK = "MILLRACE_TEST_RUN"
SHM = Path("/dev/shm")


@dataclass(frozen=True)
class Footprint:
    """One look at this process and its family."""

    threads: frozenset[threading.Thread]
    processes: dict[int, str]
    descriptors: dict[int, str]
    shared: frozenset[str]

    @classmethod
    def take(cls) -> Footprint:
        gc.collect()
        multiprocessing.active_children()  # reaps children that have ended
        return cls(
            threads=frozenset(t for t in threading.enumerate() if t.is_alive()),
            processes=_family(),
            descriptors=_descriptors(),
            shared=frozenset(entry.name for entry in SHM.iterdir()) if SHM.is_dir() else frozenset(),
        )

    def wait_until_back(self, seconds: float) -> list[str]:
        """Wait until nothing is held that was not held at this look; return what still is after `seconds`."""
        deadline = time.monotonic() + seconds
        while True:
            now = Footprint.take()
            threads = now.threads - self.threads
            left = self._left(now, threads)
            if not left or time.monotonic() > deadline:
                return left
            # Wait for the thing itself where it can be waited for; look again after a moment otherwise.
            waitable = [t for t in threads if t is not threading.current_thread()]
            if waitable:
                waitable[0].join(0.05)
            else:
                threading.Event().wait(0.02)

    def _left(self, now: Footprint, threads: frozenset[threading.Thread]) -> list[str]:
        left = [f"thread {t.name!r}{' (daemon)' if t.daemon else ''}" for t in threads]
        left += [f"process {pid}: {cmd}" for pid, cmd in now.processes.items() if pid not in self.processes]
        left += [
            f"descriptor {fd} -> {target}"
            for fd, target in now.descriptors.items()
            if self.descriptors.get(fd) != target
        ]
        return left + [f"shared memory {SHM / name}" for name in self.shared_since(now)]

    def shared_since(self, now: Footprint) -> list[str]:
        """Blocks of shared memory that are new in a later look, and not of another run on this machine."""
        new = now.shared - self.shared
        return sorted(new - _mapped_by_others(new, family={os.getpid(), *now.processes})) if new else []


def _helpers() -> tuple[set[int], set[int]]:
    """Return processes and descriptors of helpers that live as long as we do: multiprocessing's, our fork server."""
    pids, fds = set(), set()
    if "multiprocessing.resource_tracker" in sys.modules:
        tracker = sys.modules["multiprocessing.resource_tracker"]._resource_tracker
        pids.add(tracker._pid)
        fds.add(tracker._fd)
    if "multiprocessing.forkserver" in sys.modules:
        server = sys.modules["multiprocessing.forkserver"]._forkserver
        pids.add(server._forkserver_pid)
        fds.add(server._forkserver_alive_fd)
    if "millrace._src.data.engine.executors.processes.forkserver" in sys.modules:
        helper = sys.modules["millrace._src.data.engine.executors.processes.forkserver"].helper()
        if helper is not None:
            pids.add(helper[0])
            fds.add(helper[1])
    return pids - {None}, fds - {None}


def _ray_is_up() -> bool:
    """Whether a Ray instance lives beside the tests: its own processes and connections come and go as it likes."""
    ray = sys.modules.get("ray")
    return ray is not None and hasattr(ray, "is_initialized") and ray.is_initialized()


def _is_rays_own(command: str) -> bool:
    """A process of the instance, or a worker that waits in its pool; not one that works for us."""
    if command.startswith("ray::"):
        return "MillraceWorker" not in command
    return "/site-packages/ray/" in command


def _family() -> dict[int, str]:
    """Return descendants, and orphans that carry our mark, as pid -> command; zombies too, helpers not."""
    helpers, _ = _helpers()
    parents: dict[int, int] = {}
    marked: set[int] = set()
    mark = f"{MARK}={os.getpid()}".encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            # The command name, in brackets, may hold spaces: read what comes after the last bracket.
            stat = Path("/proc", entry, "stat").read_bytes().rpartition(b")")[2].split()
            parents[int(entry)] = int(stat[1])
            if mark in Path("/proc", entry, "environ").read_bytes().split(b"\0"):
                marked.add(int(entry))
        except OSError:
            continue  # it ended while we looked, or belongs to somebody else

    family = {os.getpid()}
    while grown := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= grown
    found = {}
    for pid in ((family | marked) & parents.keys()) - helpers - {os.getpid()}:
        try:
            command = Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        except OSError:
            continue
        if not (_ray_is_up() and _is_rays_own(command)):
            found[pid] = command
    return found


def _descriptors() -> dict[int, str]:
    _, helpers = _helpers()
    found = {}
    for entry in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{entry}")
        except OSError:
            continue  # the descriptor that listed the folder
        if _ray_is_up() and target.startswith(("socket:", "anon_inode:", "/dev/shm/plasma")):
            continue
        if int(entry) not in helpers:
            found[int(entry)] = target
    return found


def _mapped_by_others(names: frozenset[str], family: set[int]) -> set[str]:
    """Return those blocks that a process outside the family holds: another run on this machine owns them."""
    others = {int(entry) for entry in os.listdir("/proc") if entry.isdigit()} - family
    return set(names) & mapped(others)


def mapped(processes: Iterable[int]) -> set[str]:
    """Return the names in /dev/shm that these processes have in memory."""
    found: set[str] = set()
    for process in processes:
        try:
            maps = Path(f"/proc/{process}/maps").read_text(errors="replace")
        except OSError:
            continue
        found.update(re.findall(rf"{SHM}/(\S+)$", maps, re.M))
    return found


def family() -> set[int]:
    """This process and all that come of it."""
    return {os.getpid(), *_family()}
