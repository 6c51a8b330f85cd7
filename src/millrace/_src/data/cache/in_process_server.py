"""Cache server in a thread of the current process, used when no external server is configured.

Its worker processes connect to an abstract socket name, which has no file and disappears with the process. Only
processes of the same user are accepted.
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

# Share of the memory available to this process that its cached rows may use.
SHARE = 0.5


@dataclasses.dataclass(frozen=True)
class _InProcessServer:
    """The server of this process and its thread."""

    address: str
    session: int
    server: CacheServer
    thread: threading.Thread


_lock = threading.RLock()
_current: _InProcessServer | None = None


def in_process_address() -> str:
    """The address of this process's server, which is started on first use."""
    return _get_server().address


def in_process_session() -> int:
    """The session of this process's server."""
    return _get_server().session


def stop_in_process_server() -> None:
    """Stop this process's server and drop its rows; the next use starts a new one."""
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
    """A forked child has the memory but not the server thread: it drops the server and starts its own when needed."""
    global _current, _lock
    current, _current, _lock = _current, None, threading.RLock()
    if current is not None:
        with contextlib.suppress(Exception):
            current.server.abandon()


os.register_at_fork(after_in_child=_after_fork)
