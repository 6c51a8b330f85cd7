"""Checkpoint files of a training: list them, and remove old ones."""

from __future__ import annotations

import os
import re
import threading
import time
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.io.remote import is_remote, remote_glob, remove
from millrace._src.core.log import get_logger

__all__ = ["CheckpointDirectory", "ensure_directory", "free_prefix"]

log = get_logger(__name__)

BREAKPOINT = "_breakpoint.ckpt"
# Size of a file whose removal would delay a step.
LARGE = 64 << 20


def ensure_directory(path: Any) -> str:
    """Create a folder if it is local; returns its path or address."""
    if not isinstance(path, str):
        raise ArgumentTypeError(f"The path is invalid, the type should be string. But got {type(path)}.")
    if not path.strip():
        raise ArgumentValueError("The path is invalid, it should be non-blank.")
    if is_remote(path):
        return path.rstrip("/")
    path = os.path.realpath(path)
    os.makedirs(path, exist_ok=True)
    return path


def _list_names(where: str) -> list[str]:
    if is_remote(where):
        return [address.rpartition("/")[2] for address in remote_glob(f"{where}/*")]
    return os.listdir(where)


def free_prefix(where: str, prefix: str, failed: bool = False) -> str:
    """The prefix, with a number appended if files of an earlier run use it."""
    number = 0
    for name in _list_names(where):
        ending = name.endswith(BREAKPOINT)
        if failed != ending or not name.endswith((".ckpt", ".safetensors")):
            continue
        match = re.match(re.escape(prefix) + r"(?:_(\d+))?-", name)
        if match:
            number = max(number, int(match[1] or 0) + 1)
    return f"{prefix}_{number}" if number else prefix


class CheckpointDirectory:
    """The files of one prefix, oldest first; excess files are removed after a new one is complete."""

    def __init__(self, format: str) -> None:
        self._format = format
        # time at which this run wrote each file; remote files have no modification time here
        self._written: dict[str, float] = {}

    def add(self, file: str) -> None:
        """Register a written file."""
        self._written[file] = time.time()

    def files(self, where: str, prefix: str) -> list[str]:
        """The existing files, oldest first."""
        pattern = re.compile(re.escape(prefix) + rf"-[^A-Za-z]*\.{self._format}")
        files = [f"{where}/{name}" if is_remote(where) else os.path.join(where, name) for name in _list_names(where)
                 if pattern.fullmatch(name)]  # fmt: skip
        return sorted(files, key=lambda file: (self._time(file), file))

    def _time(self, file: str) -> float:
        if file in self._written or is_remote(file):
            return self._written.get(file, 0.0)
        try:
            return os.path.getmtime(file)
        except OSError:
            return 0.0

    def keep_newest(self, where: str, prefix: str, most: int) -> None:
        """Remove all but the newest files."""
        for file in self.files(where, prefix)[:-most]:
            self._remove(file)

    def keep_one_for(self, where: str, prefix: str, minutes: int) -> None:
        """Of the files of the last minutes, keep the oldest and the newest."""
        since = time.time() - 60 * minutes
        recent = [file for file in self.files(where, prefix) if self._time(file) > since]
        for file in recent[1:-1]:
            self._remove(file)

    def _remove(self, file: str) -> None:
        try:
            if is_remote(file):
                remove(file)
            else:
                _unlink(file)
        except (OSError, RuntimeError) as error:
            log.warning("the old checkpoint %s could not be removed: %s", file, error)
        self._written.pop(file, None)


def _unlink(file: str) -> None:
    """Remove a file; large files are freed on a thread, since file systems take long for them."""
    if os.path.getsize(file) < LARGE:
        os.remove(file)
        return
    held = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    # the file is unlinked; its blocks are freed with the last descriptor
    closing = threading.Thread(target=os.close, args=(held,), name="millrace-remove")
    try:
        os.remove(file)
    finally:
        closing.start()
