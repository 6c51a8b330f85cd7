"""File state: sizes and modification times of files, which detect changes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import Any

__all__ = ["files_state"]


def files_state(arguments: Any) -> bytes:
    """A hash of the state of all files and folders that are named in a source's arguments.

    >>> files_state({"rows": 3}) == files_state({"rows": 4})
    True
    """
    hasher = hashlib.sha256()
    for path in sorted(set(_paths(arguments))):
        hasher.update(_state_of(path))
    return hasher.digest()


# The state of a folder with more files than this is cached per process until a file is added or removed.
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
    """Modification times of a folder and of its subfolders: when a file was last added or removed."""
    if not os.path.isdir(path):
        return []
    with os.scandir(path) as entries:
        inside = sorted(entry.path for entry in entries if entry.is_dir())
    return [os.stat(folder).st_mtime_ns for folder in (path, *inside)]


def _paths(value: Any) -> Iterator[str]:
    """The names of existing files and folders in a value."""
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
            except OSError:  # deleted, or a broken link: the reader will report it
                yield entry.path.encode(errors="surrogateescape")


def _state(path: str, status: os.stat_result) -> bytes:
    name = path.encode(errors="surrogateescape")
    return b"%s\0%d\0%d\0" % (name, status.st_size, status.st_mtime_ns)
