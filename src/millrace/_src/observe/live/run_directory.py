"""Folder with the event logs of this user's runs.

Every monitored program writes one to ``runs`` in the runtime directory (``core/io/runtime_directory.py``), unless
another path is set. An active process holds a lock on its file, which the kernel releases with the process: no list of
runs is necessary, and no cleanup after a crash. The last logs are kept, older ones are removed.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from pathlib import Path

from millrace._src.core.io.runtime_directory import runtime_directory

from .event_log import is_written

__all__ = ["SUFFIX", "new_log_path", "list_runs"]

SUFFIX = ".history"
# The maximum number of files, and of bytes, kept of finished runs.
MOST_FILES, MOST_BYTES = 20, 64 << 20

_numbers = itertools.count(1)


def list_runs() -> list[tuple[Path, bool]]:
    """(file, whether its run is active): active runs first, then by age, newest first."""
    folder = runtime_directory() / "runs"
    runs = []
    for path in folder.glob(f"*{SUFFIX}") if folder.is_dir() else ():
        written = is_written(path)
        if written is not None:
            with contextlib.suppress(OSError):
                runs.append((path, written, path.stat().st_mtime))
    runs.sort(key=lambda one: (not one[1], -one[2]))
    return [(path, written) for path, written, _ in runs]


def new_log_path() -> Path:
    """A path for the log of a new run; removes old logs."""
    folder = runtime_directory(make=True) / "runs"
    folder.mkdir(mode=0o700, exist_ok=True)
    _clear_old()
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return folder / f"{stamp}-{os.getpid()}-{next(_numbers)}{SUFFIX}"


def _clear_old() -> None:
    ended = [path for path, written in list_runs() if not written]
    kept = 0
    for number, path in enumerate(ended, 1):
        with contextlib.suppress(OSError):
            kept += path.stat().st_size
            if number >= MOST_FILES or kept > MOST_BYTES:
                path.unlink()
