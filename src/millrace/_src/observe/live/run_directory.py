"""Where the histories of this user's runs are found.

Every program under a monitor writes one, into ``runs`` in the user's private folder (``core/private_folder.py``),
unless it is told another place. A process that lives holds a lock on its file, which the kernel drops with the process:
no list has to be kept, and nothing has to be cleaned up after a crash. The last few are kept, older ones are removed.
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
# Of runs that have ended: so many files stay, and so many bytes.
MOST_FILES, MOST_BYTES = 20, 64 << 20

_numbers = itertools.count(1)


def list_runs() -> list[tuple[Path, bool]]:
    """(file, whether its run goes on), those that go on first, the newest of them first."""
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
    """A file for a run that begins; what old ones left is cleared away."""
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
