"""Addresses that fsspec knows (``s3://``, ``memory://``): is a file there, which are there, bring it, put it."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import fsspec

from .errors import DataError, FormatError
from .log import get_logger
from .object_store import s3_file_system

__all__ = [
    "RETRIES",
    "RemotePath",
    "Retries",
    "download",
    "file_system",
    "is_remote",
    "remote_exists",
    "remote_glob",
    "remove",
    "upload",
]

log = get_logger(__name__)
T = TypeVar("T")

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(::[A-Za-z][A-Za-z0-9+.-]*)*://")
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotImplementedError, ImportError)


def is_remote(path: Any) -> bool:
    """Whether a path is an fsspec address.

    >>> is_remote("s3://bucket/x.mindrecord"), is_remote("C:/x"), is_remote("data/x.mindrecord")
    (True, False, False)
    """
    return isinstance(path, (str, RemotePath)) and bool(_ADDRESS.match(str(path)))


class RemotePath:
    """An address with as much of pathlib's manner as the reader uses.

    >>> path = RemotePath("s3://bucket/train/x0")
    >>> path.name, str(path.parent / "x1")
    ('x0', 's3://bucket/train/x1')

    ``options`` are those of its file system (endpoint, keys); nothing prints them.
    """

    def __init__(self, address: str, options: Mapping[str, Any] | None = None) -> None:
        self.address, self.options = address, dict(options or {})

    @property
    def name(self) -> str:
        return self.address.rpartition("/")[2]

    @property
    def parent(self) -> RemotePath:
        return RemotePath(self.address.rpartition("/")[0], self.options)

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(f"{self.address}/{name}", self.options)

    def __str__(self) -> str:
        return self.address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash(self.address)


class Retries:
    """How often a request may be tried again, for one and for all together.

    Each request may be tried ``attempts`` times. All of them share a budget that successes slowly refill, so
    that a store that is down is given up on soon, and not once more for every block.
    """

    def __init__(self, attempts: int = 5, budget: float = 30.0, pause: float = 0.1) -> None:
        self.attempts, self.budget, self.most, self.pause = attempts, budget, budget, pause
        self._lock = threading.Lock()

    def __call__(self, what: str, address: str, call: Callable[[], T]) -> T:
        """The answer of the call, tried again while it fails in a way that may pass."""
        for attempt in range(1, self.attempts + 1):
            try:
                answer = call()
            except _FINAL as error:
                raise FormatError(f"{what} failed: {_said(error)}", file=address) from error
            except Exception as error:
                with self._lock:
                    self.budget -= 1
                    empty = self.budget < 0
                if attempt == self.attempts or empty:
                    spent = " (the retry budget is spent)" if empty else ""
                    text = f"{what} failed {attempt} times{spent}: {_said(error)}"
                    raise DataError(text, file=address) from error
                log.info("%s of %s failed, trying again: %s", what, address, error)
                time.sleep(min(5.0, self.pause * 2 ** (attempt - 1)))
            else:
                with self._lock:
                    self.budget = min(self.most, self.budget + 0.1)
                return answer
        raise AssertionError("unreachable")


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


RETRIES = Retries()


def file_system(address: str | RemotePath) -> tuple[Any, str]:
    """The file system behind an address, and the path inside it."""
    options = address.options if isinstance(address, RemotePath) else {}
    if str(address).startswith(("s3://", "s3a://")):
        store = s3_file_system(options)
        if store is not None:
            return store, str(address).partition("://")[2]
    try:
        found: tuple[Any, str] = fsspec.core.url_to_fs(str(address), **options)
    except (ImportError, ValueError) as error:
        hint = "; pip install obstore" if str(address).startswith(("s3:", "s3a:")) else ""
        raise FormatError(f"no way to reach this address: {error}{hint}", file=str(address)) from error
    return found


def remote_exists(address: str | RemotePath) -> bool:
    """Whether there is a file at the address."""
    fs, path = file_system(address)
    return RETRIES("looking for the file", str(address), lambda: bool(fs.isfile(path)))


def remote_glob(pattern: str) -> list[str]:
    """The files that match a pattern, sorted, as full addresses."""
    fs, path = file_system(pattern)
    found = RETRIES("listing files", pattern, lambda: list(fs.glob(path)))
    return sorted(fs.unstrip_protocol(name) for name in found)


def download(address: str | RemotePath, target: Path) -> None:
    """Copy a file to a local path."""
    fs, path = file_system(address)
    RETRIES("downloading", str(address), lambda: fs.get_file(path, str(target)))


def upload(local: Path, address: str | RemotePath) -> None:
    """Copy a local file to an address; a size that differs afterwards is a failure.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "x")
    ...     _ = file.write_bytes(b"abc")
    ...     upload(file, "memory://doc/folder/x")
    ...     download("memory://doc/folder/x", file)
    ...     file.read_bytes(), remote_exists("memory://doc/folder/x")
    (b'abc', True)
    """
    fs, path = file_system(address)
    folder = path.rpartition("/")[0]

    def put() -> None:
        fs.makedirs(folder, exist_ok=True)
        fs.put_file(str(local), path)
        size, sent = fs.info(path).get("size"), local.stat().st_size
        if size is not None and size != sent:
            raise OSError(f"{sent} bytes were sent, {size} arrived")

    RETRIES("uploading", str(address), put)


def remove(address: str | RemotePath) -> None:
    """Remove a file."""
    fs, path = file_system(address)
    RETRIES("removing", str(address), lambda: fs.rm_file(path))
