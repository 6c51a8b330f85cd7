"""What files hold, as far as their sizes and times tell: a file that was written anew is another one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Any

__all__ = ["files_state"]


def files_state(arguments: Any) -> bytes:
    """A hash of all files that are named among a source's arguments, and of those in the folders that are.

    >>> files_state({"rows": 3}) == files_state({"rows": 4})
    True
    """
    hasher = hashlib.sha256()
    for path in sorted(set(_paths(arguments))):
        hasher.update(_state_of(path))
    return hasher.digest()


# Of a folder with more files than this, the state is taken once in a process, and again when a file came or went.
LARGE_FOLDER = 20_000
_known: dict[str, tuple[list[int], bytes]] = {}


def _state_of(path: str) -> bytes:
    stamp = _stamp(path)
    known = _known.get(path)
    if known is not None and known[0] == stamp:
        return known[1]
    hasher, count = hashlib.sha256(), 0
    for line in _states(path):
        hasher.update(line)
        count += 1
    if count > LARGE_FOLDER:
        _known[path] = stamp, hasher.digest()
    return hasher.digest()


def _stamp(path: str) -> list[int]:
    """When a folder, and each folder in it, got or lost a file last."""
    if not os.path.isdir(path):
        return []
    with os.scandir(path) as entries:
        inside = sorted(entry.path for entry in entries if entry.is_dir())
    return [os.stat(folder).st_mtime_ns for folder in (path, *inside)]


def _paths(value: Any) -> Iterator[str]:
    """Names of files and folders that are there."""
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        if isinstance(text, str) and "\0" not in text and os.path.exists(text):
            yield text
    elif isinstance(value, dict):
        for item in value.values():
            yield from _paths(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _paths(item)


def _states(path: str) -> Iterator[bytes]:
    if not os.path.isdir(path):
        yield _state(path, os.stat(path))
        return
    with os.scandir(path) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_dir():
            yield from _states(entry.path)
        else:
            try:
                yield _state(entry.path, entry.stat())
            except OSError:  # it is gone, or points nowhere: the reader will say so
                yield entry.path.encode(errors="surrogateescape")


def _state(path: str, status: os.stat_result) -> bytes:
    name = path.encode(errors="surrogateescape")
    return b"%s\0%d\0%d\0" % (name, status.st_size, status.st_mtime_ns)
