"""Append-only memory blocks (memfd or unlinked file) that hold the row groups of a row store.

One client at a time writes to a block, from its start; all others map and read it. Data is written with ``pwritev``,
directly from the rows' memory into the pages of the block. A full disk is then an error that can be handled, where a
write to mapped memory would kill the process. The first bytes of a block store how much of it is complete. They are
updated after each row group, so a writer that dies leaves at most an incomplete tail, which is never read and is
overwritten by the next writer.
"""

from __future__ import annotations

import errno
import os
import struct
import tempfile
from typing import Any, Literal

from millrace._src.core.errors import ResourceError
from millrace._src.core.machine import shared_memory as memory
from millrace._src.core.machine.shared_memory import ByteArray

__all__ = ["START", "BlockType", "BlockWriter", "create", "progress_of", "view"]

BlockType = Literal["memory", "disk"]

# used bytes, rows; row groups start after it
_STATE = struct.Struct("<QQ")
START = 64
NO_SPACE_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM})
_MAX_BUFFERS = 512


def create(block_type: BlockType, size: int, folder: str | None = None) -> int:
    """Create an anonymous block of this size and return its descriptor."""
    if block_type == "memory":
        return memory.create(size, "millrace-cache")
    try:
        with tempfile.TemporaryFile(dir=folder, prefix="millrace-cache-", buffering=0) as file:
            os.ftruncate(file.fileno(), size)
            return os.dup(file.fileno())
    except OSError as error:
        raise ResourceError(f"cannot create a block of {size} bytes in {folder}: {error.strerror}") from error


def view(fd: int, size: int) -> ByteArray:
    """The bytes of a block, mapped read-only."""
    return memory.map_fd(fd, size, writable=False)


def progress_of(fd: int) -> tuple[int, int]:
    """Number of complete bytes and rows of a block."""
    data = os.pread(fd, _STATE.size, 0)
    if len(data) < _STATE.size:
        return START, 0
    used, rows = _STATE.unpack(data)
    return max(START, -(-int(used) // START) * START), int(rows)


class BlockWriter:
    """The writer of a block.

    >>> fd = create("memory", 1 << 16)
    >>> writer = BlockWriter(fd, 1 << 16)
    >>> writer.append([b"x" * 128], 128, rows=2)
    64
    >>> progress_of(writer.fd)
    (192, 2)
    >>> writer.close()
    """

    def __init__(self, fd: int, size: int, *, checked: bool = False) -> None:
        # whether row groups have checksums: data on a disk may be damaged
        self.fd, self.size, self.checked = fd, size, checked
        self.used, self.rows = progress_of(fd)

    @property
    def free_bytes(self) -> int:
        return self.size - self.used

    def append(self, pieces: list[Any], length: int, rows: int) -> int | None:
        """Append the pieces. Returns their offset, or None if the disk or the memory is full."""
        at = self.used
        try:
            _write_all(self.fd, pieces, at)
            os.pwrite(self.fd, _STATE.pack(at + length, self.rows + rows), 0)
        except OSError as error:
            if error.errno in NO_SPACE_ERRNOS:
                return None
            raise
        self.used, self.rows = at + length, self.rows + rows
        return at

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _write_all(fd: int, pieces: list[Any], at: int) -> None:
    left = [memoryview(piece).cast("B") for piece in pieces if len(piece)]
    while left:
        wrote = os.pwritev(fd, left[:_MAX_BUFFERS], at)
        if not wrote:
            raise OSError(errno.ENOSPC, "nothing was written")
        at += wrote
        while left and wrote >= len(left[0]):
            wrote -= len(left.pop(0))
        if wrote:
            left[0] = left[0][wrote:]
