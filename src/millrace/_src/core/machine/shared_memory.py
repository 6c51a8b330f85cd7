"""Anonymous shared memory: files without names (memfd) that two processes map.

No file appears in a directory, so none remains after a crash, and a full ``/dev/shm`` does
not matter. Where ``memfd_create`` is refused (old kernels, strict sandboxes) an unlinked file is used instead.

Python's ``mmap`` keeps a descriptor open per mapping; a shuffle window may hold hundreds of chunks, more than
the usual 1024 descriptors allow. So the mapping is made through libc, and the descriptor is closed after the
other process has received it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import ResourceError

__all__ = ["ByteArray", "MemoryMapping", "create", "fallback_folders", "map_fd", "read_size", "seal"]

# Raw bytes as a flat uint8 array.
ByteArray = npt.NDArray[np.uint8]

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
]  # fmt: skip
_libc.munmap.restype = ctypes.c_int
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value

# The error numbers for "out of space"; memory may be available again when other processes finish.
_NO_SPACE_ERRORS = (errno.ENOSPC, errno.ENOMEM, errno.EDQUOT)


class MemoryMapping:
    """Mapped memory, unmapped when the last array over it is deleted.

    Arrays hold a reference to it through numpy's ``base``, so an array outlives pool, channel and executor.
    """

    __slots__ = ("__array_interface__", "__weakref__", "_munmap", "address", "before_end", "size")

    def __init__(self, fd: int, size: int, *, private: bool = False, writable: bool = True) -> None:
        self.address = 0
        # called before the memory is unmapped, for example to unregister it from a driver
        self.before_end: Callable[[], None] | None = None
        flags = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED
        rights = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
        address = _libc.mmap(None, size, rights, flags, fd, 0)
        if address is None or address == _FAILED:
            code = ctypes.get_errno()
            raise ResourceError(
                f"cannot map {size} bytes of shared memory: {os.strerror(code)} "
                "(is vm.max_map_count, ulimit -v or the memory used up?)"
            )
        self.address, self.size = int(address), size
        self._munmap = _libc.munmap  # at interpreter exit the module may be deleted before the last array
        self.__array_interface__: dict[str, Any] = {
            "data": (self.address, not writable), "shape": (size,), "typestr": "|u1", "version": 3,
        }  # fmt: skip

    def __del__(self) -> None:
        if self.address:
            if self.before_end is not None:
                self.before_end()
            self._munmap(self.address, self.size)


def map_fd(fd: int, size: int, *, private: bool = False, writable: bool = True) -> ByteArray:
    """Map the file as one array; ``private`` maps copy-on-write pages."""
    if read_size(fd) < size:
        raise ResourceError(f"shared memory: expected {size} bytes, got {read_size(fd)}")
    return np.asarray(MemoryMapping(fd, size, private=private, writable=writable))


def read_size(fd: int) -> int:
    return os.fstat(fd).st_size


def create(size: int, name: str = "millrace") -> int:
    """A descriptor of ``size`` bytes of shareable memory, zeroed and of fixed size.

    >>> fd = create(1 << 16)
    >>> map_fd(fd, 1 << 16)[:3].tolist()
    [0, 0, 0]
    >>> os.close(fd)
    """
    if hasattr(os, "memfd_create"):
        try:
            fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise _no_descriptors(error) from error
        else:
            return _set_size(fd, size)
    return _create_unlinked_file(size, fallback_folders())


def _set_size(fd: int, size: int) -> int:
    try:
        os.ftruncate(fd, size)
        seal(fd)  # the other process can then rely on the size while it maps the memory
    except OSError as error:
        os.close(fd)
        raise ResourceError(f"cannot get {size} bytes of shared memory: {error.strerror}") from error
    return fd


def seal(fd: int, *, write: bool = False) -> None:
    """Fix the size permanently, and with ``write`` the content too. Files of a fallback folder have no seals."""
    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | (fcntl.F_SEAL_WRITE if write else 0)
    with contextlib.suppress(OSError):
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)


def fallback_folders() -> list[str]:
    """Folders for unlinked files that replace a memfd, in order of preference."""
    return ["/dev/shm", tempfile.gettempdir()]


def _create_unlinked_file(size: int, folders: Iterable[str]) -> int:
    """Create an unlinked file with reserved space, in the first folder with enough free space."""
    tried = []
    for folder in folders:
        try:
            statistics = os.statvfs(folder)
            free_bytes = statistics.f_bavail * statistics.f_frsize
            if free_bytes < size:
                tried.append(f"{folder} has {free_bytes}")
                continue
            with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
                # Without reserved blocks, writing beyond the free space would kill the process with SIGBUS.
                os.posix_fallocate(file.fileno(), 0, size)
                return os.dup(file.fileno())
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise _no_descriptors(error) from error
            what = f"has no {size} left" if error.errno in _NO_SPACE_ERRORS else f"reports {error.strerror}"
            tried.append(f"{folder} {what}")
    raise ResourceError(
        f"cannot allocate {size} bytes of shared memory: {'; '.join(tried)} (bytes). Free some, enlarge /dev/shm "
        "(docker run --shm-size), or use smaller batches or python_multiprocessing=False."
    )


def _no_descriptors(error: OSError) -> ResourceError:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return ResourceError(
        f"no descriptor left for shared memory ({error.strerror}); the limit (ulimit -n) is {soft}, "
        f"hard {hard}. Raise it, or lower num_parallel_workers."
    )
