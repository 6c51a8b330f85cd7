"""What the workloads read: made once with fixed seeds, and kept, so that every peer reads the same bytes.

A file appears under its name when it is whole, so that a run that was stopped leaves no half of one behind.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["folder", "kept", "seconds"]


# Counted up when what is made changes, so that no old file is taken for a new one.
EDITION = 2


def folder() -> Path:
    made = Path(tempfile.gettempdir()) / f"millrace-bench-{os.getuid()}-{EDITION}"
    made.mkdir(exist_ok=True)
    return made


def kept(path: Path, write: Callable[[Path], None]) -> Path:
    """The file or folder, written by ``write`` where it is not there yet."""
    if not path.exists():
        half = path.with_name(f"{path.stem}.{os.getpid()}{path.suffix}")
        write(half)
        try:
            os.replace(half, path)
        except OSError:  # somebody else made the folder meanwhile
            shutil.rmtree(half, ignore_errors=True)
    return path


def seconds(quick: bool) -> float:
    """How long one measurement lasts, its warm-up not counted."""
    return 0.05 if quick else 1.2
