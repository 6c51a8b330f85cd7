"""Spill file: rows on disk in an unlinked temporary file, each readable by itself.

The file has no name: it is removed with its last handle, however the run ends. Rows are encoded as between processes,
each separately. Values that are not arrays are pickled; this process wrote the bytes itself, and no other process can
open the file.
"""

from __future__ import annotations

import errno
import os
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError, ResourceError
from millrace._src.core.values.chunk import Chunk

from .chunk_codec import decode_chunk, encode_chunk

__all__ = ["SpillFile", "free_bytes", "spill_folder"]

# Used if the temporary folder is in memory: on Linux this folder is meant to be on a disk.
ON_DISK = "/var/tmp"
_NO_SPACE_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class _PickleCodec:
    def dumps(self, value: Any) -> tuple[bytes, list[memoryview]]:
        buffers: list[pickle.PickleBuffer] = []
        data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        return data, [buffer.raw() for buffer in buffers]

    def loads(self, data: Any, buffers: Sequence[Any]) -> Any:
        return pickle.loads(data, buffers=buffers)


class SpillFile:
    """Rows are appended and read back by their location.

    >>> spill = SpillFile()
    >>> locations = spill.add(Chunk({"x": np.arange(3.0)}, np.arange(3, dtype=np.uint64)))
    >>> spill.row(locations[1]).columns["x"].tolist()
    [1.0]
    >>> spill.close()
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder or spill_folder()
        self.bytes = 0
        import tempfile  # imported here: few runs spill

        try:
            self._file = tempfile.TemporaryFile(dir=self.folder, prefix="millrace-", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise self._write_error(error, 0) from error

    def add(self, chunk: Chunk) -> list[tuple[int, int]] | None:
        """Write every row. Returns their locations, or None if a value cannot be written."""
        try:
            packed = [encode_chunk(chunk.slice(i, i + 1), objects=_PickleCodec()) for i in range(len(chunk))]
        except DataError:  # it does not pickle
            return None
        offsets = []
        for row in packed:
            self._write(row.to_bytes().data)
            offsets.append((self.bytes, row.size))
            self.bytes += row.size
        return offsets

    def _write(self, data: memoryview) -> None:
        at = 0
        while at < len(data):
            try:
                at += os.pwrite(self._file.fileno(), data[at:], self.bytes + at)
            except OSError as error:
                raise self._write_error(error, len(data)) from error

    def row(self, location: tuple[int, int]) -> Chunk:
        """The row at a location, as a chunk of one row."""
        offset, size = location
        data = np.empty(size, np.uint8)
        at = 0
        while at < size:
            got = os.preadv(self._file.fileno(), [data.data[at:]], offset + at)
            if not got:
                raise ResourceError(
                    f"a temporary file in {self.folder} ends at byte {offset + at}: it was truncated"
                )
            at += got
        return decode_chunk(data, _PickleCodec())[0]

    def _write_error(self, error: OSError, wanted: int) -> ResourceError:
        if error.errno in _NO_SPACE_ERRNOS:
            return ResourceError(
                f"{self.folder} is full: {self.bytes} bytes of rows were written there and {wanted} more do not "
                f"fit ({free_bytes(self.folder)} bytes are free). Free some, or name another folder in TMPDIR"
            )
        return ResourceError(
            f"cannot write rows to {self.folder} ({error.strerror}); name a folder that can be written in TMPDIR"
        )

    def close(self) -> None:
        self._file.close()


def free_bytes(folder: str) -> int:
    """Bytes that can still be written to a folder's disk."""
    try:
        disk = os.statvfs(folder)
        return disk.f_bavail * disk.f_frsize
    except OSError:
        return 0


def spill_folder() -> str:
    """The folder for temporary files: TMPDIR if set, otherwise one on a disk."""
    import tempfile

    usual = tempfile.gettempdir()
    if any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")) or not _is_in_memory(usual):
        return usual
    return ON_DISK if os.access(ON_DISK, os.W_OK) and not _is_in_memory(ON_DISK) else usual


def _is_in_memory(folder: str) -> bool:
    """Whether a folder is on an in-memory file system, as far as the system reports it."""
    best, file_system = "", ""
    try:
        with open("/proc/mounts", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                _, at, of, *_ = line.split()
                inside = folder == at or folder.startswith(at.rstrip("/") + "/")
                if inside and len(at) >= len(best):
                    best, file_system = at, of
    except OSError:
        return False
    return file_system in ("tmpfs", "ramfs")
