"""Processes that a test ends, or waits for. Linux, through /proc; nothing of Millrace is needed here."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path


def kill(process: int) -> None:
    """End a process as a crash does, and wait until it is gone."""
    os.kill(process, signal.SIGKILL)
    wait_for_end(process)


def wait_for_end(process: int, seconds: float = 30) -> None:
    """Wait until a process is gone."""
    deadline = time.monotonic() + seconds
    while not has_ended(process):
        assert time.monotonic() < deadline, f"process {process} does not end"
        time.sleep(0.01)


def has_ended(process: int) -> bool:
    """Whether a process and all its threads are gone; one that nobody waits for is."""
    folder = Path(f"/proc/{process}")
    try:
        alone = len(list((folder / "task").iterdir())) == 1
        return alone and (folder / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True
