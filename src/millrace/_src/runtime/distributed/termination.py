"""A process that is asked to end (SIGTERM) while one of its partners is dead has no step left to finish: it may take a
few seconds, and then it goes, even if it handles the signal and waits in a collective call for ever.

Asked to end while all partners live, it is left alone: that is how a run is told to save and stop.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

__all__ = ["TOLD", "watch_for_end"]

GRACE = 5.0  # seconds
TOLD = 128 + signal.SIGTERM  # the status of a process that went because it was told to


def watch_for_end(meeting: Callable[[], Any], rank: int, size: int) -> None:
    """Begin to watch, once the ranks have met. Signals can be watched from the main thread only.

    `meeting` gives the place where they met, None after they parted: nothing here keeps it open.
    """
    meeting().set(f"pid/{rank}", f"{socket.gethostname()} {os.getpid()}")
    if size == 1 or threading.current_thread() is not threading.main_thread():
        return
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    before = signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    if before != -1:  # somebody else listens
        signal.set_wakeup_fd(before)
        os.close(told)
        os.close(tell)
        return
    others = [other for other in range(size) if other != rank]
    threading.Thread(target=_wait, args=(told, meeting, others), name="millrace-end", daemon=True).start()


def _wait(told: int, meeting: Callable[[], Any], others: list[int]) -> None:
    while signals := os.read(told, 64):
        if signal.SIGTERM in signals:
            time.sleep(GRACE)
            store = meeting()
            if store is not None and any(not _lives(store, other) for other in others):
                os._exit(TOLD)


def _lives(store: Any, rank: int) -> bool:
    """Whether a partner on this machine lives; of others nothing is known, and they count as living."""
    try:
        host, pid = store.get(f"pid/{rank}").decode().rsplit(" ", 1)
    except (RuntimeError, ValueError):  # the meeting place is gone
        return False
    if host != socket.gethostname():
        return True
    try:
        with open(f"/proc/{int(pid)}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (OSError, IndexError):
        return False
