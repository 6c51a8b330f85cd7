"""Messages over a socket pair: small ones inside the packet, large ones through shared slabs.

Both ends are alike. A packet holds its kind, where its bytes are, which slabs of the other side are free
again and which of one's own are gone for good; a new slab's descriptor comes along once. The socket keeps
packet borders, so a message is there as a whole or not at all, and a peer that dies shows as the end of the
stream.
"""

from __future__ import annotations

import array
import os
import select
import socket
import struct
from collections import deque
from typing import Protocol

import numpy as np

from millrace._src.core.errors import ResourceError
from millrace._src.core.machine.shared_memory import ByteArray

from .block_pool import BlockLeases, BlockPool, SharedBlock

__all__ = ["MessageChannel", "Message", "RawMessage", "Sendable", "pair"]

INLINE = 32 << 10

# kind, flags, slabs given back, slabs forgotten, slab number, length of the message, size of the slab
_HEAD = struct.Struct("<BBHHIQQ")
_IN_BLOCK, _NEW_BLOCK = 1, 2
_MAX_NUMBERS = 256
_PACKET = _HEAD.size + 8 * _MAX_NUMBERS + INLINE
_FD_SPACE = socket.CMSG_SPACE(4)

Message = tuple[int, ByteArray]


class Sendable(Protocol):
    """Something with a known size that can write itself into bytes."""

    @property
    def size(self) -> int: ...

    def write(self, out: ByteArray) -> None: ...


class RawMessage:
    """Plain bytes as something to send."""

    def __init__(self, data: bytes) -> None:
        self.data, self.size = data, len(data)

    def write(self, out: ByteArray) -> None:
        out[: self.size] = np.frombuffer(self.data, np.uint8)


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected ends that no other process can find."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


class MessageChannel:
    """One end. One thread uses it at a time; :meth:`hang_up` may come from any."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.pool = BlockPool()
        self.leases = BlockLeases()
        self._buffer = bytearray(_PACKET)
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)

    def send(self, message_type: int, message: Sendable) -> None:
        """Raises OSError when the other side is gone."""
        self.post(message_type, self.copy(message))

    def copy(self, message: Sendable) -> ByteArray | tuple[SharedBlock, int]:
        """Take the bytes over. What the message was made of may be dropped before :meth:`post`, so that slabs
        of the other side it looked at are given back with this very message.
        """
        if message.size <= INLINE:
            inline: ByteArray = np.empty(message.size, np.uint8)
            message.write(inline)
            return inline
        block = self.pool.take(message.size)
        try:
            message.write(block.bytes)
        except BaseException:
            self.pool.give_back(block.number)
            raise
        return block, message.size

    def post(self, message_type: int, copied: ByteArray | tuple[SharedBlock, int]) -> None:
        if not isinstance(copied, tuple):
            self._send(message_type, 0, 0, copied.size, 0, copied.data, None)
            return
        block, length = copied
        new = block.fd >= 0
        flags = _IN_BLOCK | (_NEW_BLOCK if new else 0)
        self._send(message_type, flags, block.number, length, block.size, b"", block.fd if new else None)
        block.close()  # the other side has its own descriptor now

    def _send(
        self,
        message_type: int,
        flags: int,
        number: int,
        length: int,
        size: int,
        inline: bytes | memoryview,
        fd: int | None,
    ) -> None:
        back = _pop_numbers(self.leases.returns)
        gone = _pop_numbers(self.pool.forgotten)
        head = _HEAD.pack(message_type, flags, len(back), len(gone), number, length, size)
        numbers = array.array("I", back + gone).tobytes()
        rights = [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
        self.sock.sendmsg([head, numbers, inline], rights)

    def receive(self, timeout: float | None = None) -> Message | None:
        """The next message; None when the other side is gone. TimeoutError when none came in time."""
        if timeout is not None and not self._poll.poll(timeout * 1000):
            raise TimeoutError
        try:
            got, ancillary, flags, _ = self.sock.recvmsg_into(
                [self._buffer], _FD_SPACE, socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionError:
            return None
        fds = _descriptors(ancillary)
        try:
            if got < _HEAD.size:
                return None
            if flags & socket.MSG_CTRUNC:
                raise ResourceError("a slab's descriptor did not fit: too many open files (ulimit -n)")
            return self._read(memoryview(self._buffer)[:got], fds)
        finally:
            for fd in fds:
                os.close(fd)

    def _read(self, packet: memoryview, fds: list[int]) -> Message:
        message_type, flags, back, gone, number, length, size = _HEAD.unpack_from(packet)
        numbers = array.array("I")
        end = _HEAD.size + numbers.itemsize * (back + gone)
        numbers.frombytes(packet[_HEAD.size : end])
        for free in numbers[:back]:
            self.pool.give_back(free)
        for old in numbers[back:]:
            self.leases.forget(old)
        if not flags & _IN_BLOCK:
            if len(packet) - end != length:
                raise ValueError(f"a packet holds {len(packet) - end} bytes where {length} were announced")
            return message_type, np.frombuffer(bytearray(packet[end:]), np.uint8)
        if flags & _NEW_BLOCK:
            self.leases.learn(number, fds[0], size)
        return message_type, self.leases.lease(number, length)

    def hang_up(self) -> None:
        """No more is sent from here: the other side reads what is there and then the end."""
        self._shut(socket.SHUT_WR)

    def cut(self) -> None:
        """Wake a thread that waits in :meth:`receive`, whatever the other side does."""
        self._shut(socket.SHUT_RDWR)

    def _shut(self, how: int) -> None:
        try:
            self.sock.shutdown(how)
        except OSError:
            pass  # the other side was faster

    def close(self) -> None:
        """Arrays that were received stay valid: they hold their memory themselves."""
        self.sock.close()
        self.pool.close()
        self.leases.close()


def _pop_numbers(numbers: deque[int]) -> list[int]:
    """Up to a packet's worth, taken off the deque; other threads may append meanwhile."""
    return [numbers.popleft() for _ in range(min(len(numbers), _MAX_NUMBERS))]


def _descriptors(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    fds = array.array("i")
    for level, message_type, data in ancillary:
        if level == socket.SOL_SOCKET and message_type == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return fds.tolist()
