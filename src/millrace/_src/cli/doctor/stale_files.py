"""Find leftovers of dead runs: scratch folders, sockets, spilled data, partial files, orphaned workers.

The engine's shared memory is anonymous, so none of it can be left. Only files of this user that belong to no
living process are counted, and ``--clean`` checks each file again before it removes it.
"""

from __future__ import annotations

import dataclasses
import fcntl
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from millrace._src.core.io.temporary_directory import is_stale, owner_of

from .finding import Finding, Machine, size

__all__ = ["StaleFile", "find", "remove"]

# Temporary name of a file that is being written: record files, their indexes, saved TFRecords.
_DRAFT = re.compile(r"\.(?P<name>.+)\.(?P<token>[0-9a-f]{16})\.tmp(\.sealed)?")
_JOURNAL = re.compile(r"\.(?P<name>.+)\.commit")
# Between closing and renaming a file no process holds it: recently changed files are skipped.
QUIET_SECONDS = 600
MUCH = 1 << 30


@dataclasses.dataclass(frozen=True)
class StaleFile:
    """A leftover file, socket or folder."""

    path: Path
    bytes: int


def find(machine: Machine) -> list[StaleFile]:
    """Leftovers of this user's dead processes in the folders that Millrace writes to."""
    paths = [
        path
        for folder in _scratch_folders(machine)
        for path in _list_entries(folder)
        if owner_of(path.name) is not None and _is_dead(path, machine)
    ]
    for folder in machine.folders:
        drafts = [path for path in _list_entries(folder) if _DRAFT.fullmatch(path.name)]
        held = _held_tokens(drafts, machine)
        paths += [path for path in drafts if _token_of(path) not in held and _is_mine(path, machine)]
    return [StaleFile(path, _size_of(path)) for path in dict.fromkeys(paths)]


def remove(leftover: StaleFile, machine: Machine) -> bool:
    """Remove a leftover, unless a process uses it again."""
    path = leftover.path
    if not _is_mine(path, machine):
        return False
    if _DRAFT.fullmatch(path.name):
        if _token_of(path) in _held_tokens([path], machine):
            return False
    elif not _is_dead(path, machine):
        return False
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError:
        return False
    return True


def leftovers(machine: Machine) -> Iterator[Finding]:
    files = find(machine)
    total = sum(one.bytes for one in files)
    if not files:
        yield Finding("ok", "none in the temporary, cache, shared-memory and current folders")
    else:
        names = ", ".join(str(one.path) for one in files[:3]) + (", ..." if len(files) > 3 else "")
        yield Finding(
            "warning" if total > MUCH else "note",
            f"{len(files)} with {size(total)}: {names}",
            "killed processes left them; they only use space",
            "millrace doctor --clean" + "".join(f" {f}" for f in machine.folders if f != Path()),
        )
    yield from _find_unfinished(machine)
    yield from _lost_workers(machine)


def _scratch_folders(machine: Machine) -> list[Path]:
    runtime = machine.environ.get("XDG_RUNTIME_DIR")
    folders = [machine.temp, machine.path("dev/shm"), machine.cache / "offsets"]
    return folders + ([Path(runtime)] if runtime else [])


def _list_entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder / name for name in os.listdir(folder))
    except OSError:
        return []


def _is_mine(path: Path, machine: Machine) -> bool:
    try:
        return path.lstat().st_uid == machine.uid and not path.is_symlink()
    except OSError:
        return False


def _is_dead(path: Path, machine: Machine) -> bool:
    return _is_mine(path, machine) and is_stale(path, machine.path("proc"))


def _token_of(path: Path) -> str:
    match = _DRAFT.fullmatch(path.name)
    return match["token"] if match else ""


def _held_tokens(drafts: list[Path], machine: Machine) -> set[str]:
    """Tokens of live writers: one of their files is locked, open, or recently changed."""
    if not drafts:
        return set()
    opened = _open_files(machine)
    held = set()
    for path in drafts:
        try:
            state = path.lstat()
        except OSError:
            continue
        fresh = time.time() - state.st_mtime < QUIET_SECONDS
        if fresh or (state.st_dev, state.st_ino) in opened or _is_locked(path, state):
            held.add(_token_of(path))
    return held


def _is_locked(path: Path, state: os.stat_result) -> bool:
    if not stat.S_ISREG(state.st_mode):
        return True
    try:
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def _open_files(machine: Machine) -> set[tuple[int, int]]:
    """(device, inode) of every open file of the processes that this user may inspect."""
    open_files = set()
    for folder in machine.path("proc").glob("[0-9]*/fd"):
        for path in _list_entries(folder):
            try:
                state = path.stat()
            except OSError:
                continue
            open_files.add((state.st_dev, state.st_ino))
    return open_files


def _size_of(path: Path) -> int:
    if not path.is_dir():
        return path.lstat().st_size
    files = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
    return sum(file.lstat().st_size for file in files)


def _find_unfinished(machine: Machine) -> Iterator[Finding]:
    """Record sets whose writer stopped after writing all files and before renaming all of them."""
    for folder in machine.folders:
        for path in _list_entries(folder):
            match = _JOURNAL.fullmatch(path.name)
            if match and path.is_file() and time.time() - path.stat().st_mtime > QUIET_SECONDS:
                yield Finding(
                    "note",
                    f"the writer of {folder / match['name']} stopped while it renamed the files of the set",
                    "all files are complete; the first reader finishes the renaming",
                    f"millrace record verify {folder / match['name']}",
                )


def _lost_workers(machine: Machine) -> Iterator[Finding]:
    """Find orphaned workers: a worker ends with its parent unless it is stopped or blocked in the kernel."""
    lost = []
    for status in machine.path("proc").glob("[0-9]*/status"):
        try:
            lines = (line.partition(":\t") for line in status.read_text().splitlines())
        except OSError:
            continue
        info = {name: value for name, _, value in lines}
        ours = info.get("Name", "").startswith("millrace-") and info.get("Uid", "").split()[:1] == [
            str(machine.uid)
        ]
        if ours and info.get("PPid") == "1" and not info.get("State", "").startswith("Z"):
            lost.append(status.parent.name)
    if lost:
        yield Finding(
            "warning",
            f"{len(lost)} worker processes whose parent is gone",
            "they use memory and possibly a core",
            f"kill -9 {' '.join(lost)}",
        )
