"""Termination of a process whose peers are dead.

A process that receives SIGTERM while a peer is dead cannot finish its step. It exits after a few seconds,
even if it handles the signal and is blocked in a collective call. If all peers are alive nothing happens:
SIGTERM is the request to save and stop.
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
SIGTERM_EXIT_CODE = 128 + signal.SIGTERM  # exit code of a process that SIGTERM terminated


def watch_for_termination(get_store: Callable[[], Any], rank: int, size: int) -> None:
    """Start to watch for SIGTERM after the rendezvous. Signals can be watched from the main thread only.

    `get_store` returns the store of the rendezvous, or None after `release`; no reference is kept.
    """
    get_store().set(f"pid/{rank}", f"{socket.gethostname()} {os.getpid()}")
    if size == 1 or threading.current_thread() is not threading.main_thread():
        return
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    previous_fd = signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    if previous_fd != -1:  # another listener is installed
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
    """Whether a peer on this machine is alive. Peers on other machines count as alive."""
    try:
        host, pid = store.get(f"pid/{rank}").decode().rsplit(" ", 1)
    except (RuntimeError, ValueError):  # the store is closed
        return False
    if host != socket.gethostname():
        return True
    try:
        with open(f"/proc/{int(pid)}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (OSError, IndexError):
        return False
