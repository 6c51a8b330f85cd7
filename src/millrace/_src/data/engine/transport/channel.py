"""Message channel over a socket pair: small messages inline, large ones through shared memory blocks.

Both ends are alike. A packet holds its type, the location of its bytes, which blocks of the peer are free again and
which own blocks were dropped; the descriptor of a new block is sent once. The socket preserves packet boundaries, so a
message arrives completely or not at all, and a peer that dies appears as the end of the stream.
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

# type, flags, number of returned blocks, number of dropped blocks, block number, message length, block size
_HEAD = struct.Struct("<BBHHIQQ")
_IN_BLOCK, _NEW_BLOCK = 1, 2
_MAX_NUMBERS = 256
_PACKET = _HEAD.size + 8 * _MAX_NUMBERS + INLINE
_FD_SPACE = socket.CMSG_SPACE(4)

Message = tuple[int, ByteArray]


class Sendable(Protocol):
    """An object of known size that can write itself into bytes."""

    @property
    def size(self) -> int: ...

    def write(self, out: ByteArray) -> None: ...


class RawMessage:
    """Bytes as a message."""

    def __init__(self, data: bytes) -> None:
        self.data, self.size = data, len(data)

    def write(self, out: ByteArray) -> None:
        out[: self.size] = np.frombuffer(self.data, np.uint8)


def pair() -> tuple[socket.socket, socket.socket]:
    """Two connected sockets that no other process can access."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


class MessageChannel:
    """One end of a channel. One thread uses it at a time; :meth:`hang_up` may be called from any thread."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.pool = BlockPool()
        self.leases = BlockLeases()
        self._buffer = bytearray(_PACKET)
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)

    def send(self, message_type: int, message: Sendable) -> None:
        """Copy and send a message. OSError when the peer is gone."""
        self.post(message_type, self.copy(message))

    def copy(self, message: Sendable) -> ByteArray | tuple[SharedBlock, int]:
        """Copy a message for :meth:`post`.

        The message's source may be released before :meth:`post`, so that the peer's blocks it refers to are returned
        with this message.
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
        block.close()  # the peer has its own descriptor now

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
        """The next message; None when the peer is gone. TimeoutError when none arrived in time."""
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
                raise ResourceError(
                    "the descriptor of a shared memory block could not be received: too many open files (ulimit -n)"
                )
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
                raise ValueError(f"a packet holds {len(packet) - end} bytes, expected {length}")
            return message_type, np.frombuffer(bytearray(packet[end:]), np.uint8)
        if flags & _NEW_BLOCK:
            self.leases.learn(number, fds[0], size)
        return message_type, self.leases.lease(number, length)

    def hang_up(self) -> None:
        """Close the sending direction: the peer reads the pending messages and then the end of the stream."""
        self._shut(socket.SHUT_WR)

    def cut(self) -> None:
        """Wake a thread that waits in :meth:`receive`, regardless of the peer."""
        self._shut(socket.SHUT_RDWR)

    def _shut(self, how: int) -> None:
        try:
            self.sock.shutdown(how)
        except OSError:
            pass  # already closed by the peer

    def close(self) -> None:
        """Close the channel. Received arrays stay valid: they own their memory."""
        self.sock.close()
        self.pool.close()
        self.leases.close()


def _pop_numbers(numbers: deque[int]) -> list[int]:
    """Remove up to one packet of numbers from the deque; other threads may append meanwhile."""
    return [numbers.popleft() for _ in range(min(len(numbers), _MAX_NUMBERS))]


def _descriptors(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    fds = array.array("i")
    for level, message_type, data in ancillary:
        if level == socket.SOL_SOCKET and message_type == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return fds.tolist()
