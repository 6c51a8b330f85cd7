"""The cache of a process that asked no server: the same server, in a thread of this process.

Its worker processes find it under a name of the kernel's, which stands in no folder and is gone with the process. Only
processes of the same user are let in.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading

from millrace.core.cgroup import cgroup_memory
from millrace.data.engine.transport.spill import spill_folder

from .rooms import Rooms
from .server import Server

__all__ = ["granted_memory", "own_address", "own_session"]

# Of the memory that this process may use, so much is for rows that it keeps for itself.
SHARE = 0.5

_lock = threading.Lock()
_running: dict[str, object] = {}


def granted_memory() -> int:
    """Bytes that this process may use at most: the machine's, or its container's."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(pages, cgroup_memory() or pages)


def own_address() -> str:
    """Where this process's own cache answers; it is started by the first who asks."""
    with _lock:
        if _running.get("pid") != os.getpid():
            address = f"@millrace-cache-{os.getpid()}-{secrets.token_hex(8)}"
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind("\0" + address[1:])
            listener.listen(128)
            rooms = Rooms(int(granted_memory() * SHARE), spill_folder())
            server = Server(listener, rooms)
            _running.update(pid=os.getpid(), address=address, session=rooms.generate(), server=server)
            threading.Thread(target=server.serve, name="millrace-cache", daemon=True).start()
        return str(_running["address"])


def own_session() -> int:
    """The session of this process's own cache."""
    own_address()
    session = _running["session"]
    assert isinstance(session, int)
    return session
