"""Rendezvous of the processes of one machine at a file: PyTorch's FileStore in a private folder.

FileStore trusts what it reads: invalid data makes it wait forever. The folder and the file are therefore
checked before it opens them. A rank that is already registered is an error: a killed run left the file.
"""

from __future__ import annotations

import datetime
import errno
import fcntl
import os
import stat
import time

import torch.distributed as dist

from millrace._src.core.errors import OperationError

__all__ = ["open_rendezvous_file"]

MAX_BYTES = 64 << 20
LOCK_POLL = 0.01  # seconds


def open_rendezvous_file(path: str, rank: int, size: int, timeout: datetime.timedelta) -> dist.FileStore:
    """Open the store in the file `path` and create it if missing. Waits for at most `timeout`."""
    _check_folder(os.path.dirname(path))
    _check_file(path, timeout)
    store = dist.FileStore(path, size)
    store.set_timeout(timeout)
    if store.add(f"millrace/joined/{rank}", 1) != 1:
        raise _rendezvous_error(
            path, f"a file without rank {rank}", "one where it has joined: another run uses it, or was killed"
        )
    return store


def _rendezvous_error(path: str, expected: str, got: str) -> OperationError:
    return OperationError(
        f"For 'init', the rendezvous file {path}: expected {expected}, got {got}. End that run or remove the file."
    )


def _check_folder(folder: str) -> None:
    try:
        status = os.lstat(folder)
    except OSError as error:
        raise OperationError(
            f"For 'init', the folder of the rendezvous file: expected {folder} to exist, got {error.strerror}. Create "
            "it with mode 700."
        ) from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise OperationError(
            f"For 'init', the folder of the rendezvous file: expected {folder} to be a folder that only you may enter, "
            f"got mode {stat.S_IMODE(status.st_mode):o} and owner {status.st_uid}. Remove it."
        )


def _check_file(path: str, timeout: datetime.timedelta) -> None:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        got = "a symbolic link" if error.errno == errno.ELOOP else error.strerror or str(error)
        raise _rendezvous_error(path, "a regular file", got) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _rendezvous_error(path, "a regular file", "something else")
        if status.st_uid != os.getuid() or status.st_mode & 0o077:
            got = f"mode {stat.S_IMODE(status.st_mode):o} and owner {status.st_uid}"
            raise _rendezvous_error(path, "a file that only you may read and write", got)
        _lock(descriptor, path, timeout)  # writers hold it exclusively: no record is incomplete
        size = os.fstat(descriptor).st_size
        if size > MAX_BYTES:
            raise _rendezvous_error(path, f"at most {MAX_BYTES} bytes", f"{size}")
        _check_records(path, os.pread(descriptor, size, 0))
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: str, timeout: datetime.timedelta) -> None:
    deadline = time.monotonic() + timeout.total_seconds()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise _rendezvous_error(
                    path, "an unlocked file", "one that another process keeps locked"
                ) from None
            time.sleep(LOCK_POLL)


def _check_records(path: str, data: bytes) -> None:
    """Check that the file holds keys and values in turn, each after its length in four bytes."""
    offset = num_records = 0
    while offset < len(data):
        end = offset + 4 + int.from_bytes(data[offset : offset + 4], "little")
        if offset + 4 > len(data) or end > len(data):
            raise _rendezvous_error(path, "pairs of keys and values", f"something else from byte {offset} on")
        offset, num_records = end, num_records + 1
    if num_records % 2:
        raise _rendezvous_error(path, "pairs of keys and values", "a key without a value")
