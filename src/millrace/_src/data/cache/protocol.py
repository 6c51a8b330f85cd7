"""Versioned JSON message protocol between cache clients and server over a Unix socket, with file-descriptor passing.

The socket preserves packet boundaries. A packet is one JSON object of at most 32 KB, with at most one descriptor. The
first packet of a client states its protocol version; a server of another version responds with its own and closes the
connection. Received data is never executed, and no received size is used before it was compared with the actual one.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import socket
import struct
from typing import Any

from millrace._src.core.errors import CacheError, MillraceError, ResourceError

__all__ = [
    "MAX_PACKET_BYTES",
    "Packet",
    "VERSION",
    "boot_id",
    "peer_credentials",
    "raise_error_response",
    "receive",
    "version_mismatch_message",
    "error_response",
    "send",
    "start_time",
]

# Increased with every change that an older client or server would misread.
VERSION = 1
MAX_PACKET_BYTES = 32 << 10
_FD_SPACE = socket.CMSG_SPACE(4)

# Maximum length of an error message that is passed on.
MAX_ERROR_CHARS = 2000

Packet = dict[str, Any]


def send(sock: socket.socket, packet: Packet, fd: int | None = None) -> None:
    """Send a packet. OSError when the peer is gone."""
    if "error" in packet:
        packet = {**packet, "error": str(packet["error"])[:MAX_ERROR_CHARS]}
    data = json.dumps(packet, separators=(",", ":")).encode()
    if len(data) > MAX_PACKET_BYTES:
        raise CacheError(f"a message of {len(data)} bytes is too long; {MAX_PACKET_BYTES} are allowed")
    rights = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
    sock.sendmsg([data], rights)


def receive(sock: socket.socket) -> tuple[Packet | None, int | None]:
    """The next packet and its descriptor; (None, None) when the peer is gone."""
    try:
        data, ancillary, flags, _ = sock.recvmsg(MAX_PACKET_BYTES + 1, _FD_SPACE, socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:
        return None, None
    fds = array.array("i")
    for level, message_type, payload in ancillary:
        if level == socket.SOL_SOCKET and message_type == socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % fds.itemsize])
    try:
        if not data:
            return None, None
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC) or len(data) > MAX_PACKET_BYTES or len(fds) > 1:
            raise CacheError("a message was too long, or its descriptor did not fit (ulimit -n)")
        try:
            packet = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise CacheError(f"a message cannot be read: {error}") from error
        if not isinstance(packet, dict):
            raise CacheError(f"a message must be a JSON object, but it is a {type(packet).__name__}")
        return packet, (fds.pop(0) if fds else None)
    finally:
        for fd in fds:
            os.close(fd)


def version_mismatch_message(theirs: object) -> str:
    """The error message for a peer of another version."""
    return (
        f"the peer uses version {theirs!r} of the cache protocol, this side version {VERSION}: use the same "
        "release of Millrace for the server and the scripts, and restart the server (dataset-cache --stop, then "
        "--start)"
    )


def error_response(error: MillraceError) -> Packet:
    """An error as a response; :func:`raise_error_response` raises it on the other side."""
    full = isinstance(error, ResourceError)
    return {"error": str(error), "kind": getattr(error, "kind", ""), "full": full}


def raise_error_response(reply: Packet) -> None:
    """Raise the error of a response, if it is one: ResourceError if space ran out, otherwise CacheError."""
    if "error" in reply:
        if reply.get("full"):
            raise ResourceError(str(reply["error"]))
        raise CacheError(str(reply["error"]), str(reply.get("kind", "")))


def peer_credentials(sock: socket.socket) -> tuple[int, int]:
    """Process id and user id of the peer, as reported by the kernel."""
    pid, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid


def boot_id() -> str:
    """The boot id of this machine: process ids are meaningless after a reboot."""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()
    return ""


def start_time(pid: int) -> int | None:
    """Start time of a process in kernel ticks; None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:
        return None
    # the program name is in parentheses and may contain anything
    return int(text.rpartition(b")")[2].split()[19])
