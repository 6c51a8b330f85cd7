"""Files that workloads read, written once and kept, so that every peer reads the same bytes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["folder", "kept", "seconds"]


def folder() -> Path:
    made = Path(tempfile.gettempdir()) / f"millrace-bench-{os.getuid()}"
    made.mkdir(exist_ok=True)
    return made


def kept(path: Path, write: Callable[[Path], None]) -> Path:
    if not path.exists():
        half = path.with_suffix(f".{os.getpid()}")
        write(half)
        os.replace(half, path)
    return path


def seconds(quick: bool) -> float:
    return 0.05 if quick else 2.0
