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

__all__ = ["SIGTERM_EXIT_CODE", "watch_for_termination"]

GRACE = 5.0  # seconds
SIGTERM_EXIT_CODE = 128 + signal.SIGTERM  # the status of a process that went because it was told to


def watch_for_termination(get_store: Callable[[], Any], rank: int, size: int) -> None:
    """Begin to watch, once the ranks have met. Signals can be watched from the main thread only.

    `meeting` gives the place where they met, None after they parted: nothing here keeps it open.
    """
    get_store().set(f"pid/{rank}", f"{socket.gethostname()} {os.getpid()}")
    if size == 1 or threading.current_thread() is not threading.main_thread():
        return
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    previous_fd = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    if previous_fd != -1:  # somebody else listens
        signal.set_wakeup_fd(previous_fd)
        os.close(read_end)
        os.close(write_end)
        return
    peer_ranks = [peer_rank for peer_rank in range(size) if peer_rank != rank]
    threading.Thread(
        target=_watch_signals, args=(read_end, get_store, peer_ranks), name="millrace-end", daemon=True
    ).start()


def _watch_signals(read_end: int, get_store: Callable[[], Any], peer_ranks: list[int]) -> None:
    while signals := os.read(read_end, 64):
        if signal.SIGTERM in signals:
            time.sleep(GRACE)
            store = get_store()
            if store is not None and any(not _is_alive(store, peer_rank) for peer_rank in peer_ranks):
                os._exit(SIGTERM_EXIT_CODE)


def _is_alive(store: Any, rank: int) -> bool:
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
