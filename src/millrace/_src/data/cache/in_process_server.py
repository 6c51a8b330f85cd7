"""The cache of a process that asked no server: the same server, in a thread of this process.

Its worker processes find it under a name of the kernel's, which stands in no folder and is gone with the process. Only
processes of the same user are let in.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import socket
import threading

from millrace._src.core.machine.cgroup import memory_limit
from millrace._src.data.engine.transport.spill import spill_folder

from .client import disconnect
from .server import CacheServer
from .session_manager import SessionManager

__all__ = ["stop_in_process_server", "in_process_address", "in_process_session"]

# Of the memory that this process may use, so much is for rows that it keeps for itself.
SHARE = 0.5


@dataclasses.dataclass(frozen=True)
class _InProcessServer:
    """The server of this process, and the thread in which it answers."""

    address: str
    session: int
    server: CacheServer
    thread: threading.Thread


_lock = threading.RLock()
_current: _InProcessServer | None = None


def in_process_address() -> str:
    """Where this process's own cache answers; it is started by the first who asks."""
    return _get_server().address


def in_process_session() -> int:
    """The session of this process's own cache."""
    return _get_server().session


def stop_in_process_server() -> None:
    """Give up this process's own cache, with all that it holds; the next use starts another."""
    global _current
    with _lock:
        current, _current = _current, None
    if current is not None:
        disconnect(current.address)
        current.server.stop()
        current.thread.join()


def _get_server() -> _InProcessServer:
    global _current
    with _lock:
        if _current is None:
            address = f"@millrace-cache-{os.getpid()}-{secrets.token_hex(8)}"
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind("\0" + address[1:])
            listener.listen(128)
            sessions = SessionManager(int(memory_limit() * SHARE), spill_folder())
            server = CacheServer(listener, sessions)
            thread = threading.Thread(target=server.serve, name="millrace-cache", daemon=True)
            _current = _InProcessServer(address, sessions.generate(), server, thread)
            thread.start()
        return _current


def _after_fork() -> None:
    """A forked child has the memory and no thread that answers: it lets go, and starts its own when it is asked."""
    global _current, _lock
    current, _current, _lock = _current, None, threading.RLock()
    if current is not None:
        with contextlib.suppress(Exception):
            current.server.abandon()


os.register_at_fork(after_in_child=_after_fork)
