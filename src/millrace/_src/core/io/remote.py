"""Remote files by fsspec addresses (``s3://``, ``memory://``): exists, list, read, download and upload with retries."""

from __future__ import annotations

import hashlib
import mmap
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from millrace._src.core.errors import DataError, FormatError, MillraceError
from millrace._src.core.log import get_logger

from .etag import etag_matches
from .object_store import ObjectChanged, s3_file_system

__all__ = [
    "MAX_BYTES_PER_REQUEST",
    "RETRIES",
    "ChecksumValidator",
    "RemotePath",
    "Retries",
    "download",
    "file_system",
    "first_bytes",
    "list_directory",
    "is_remote",
    "upload_verified",
    "read_bytes",
    "read_range",
    "remote_exists",
    "remote_glob",
    "remove",
    "upload",
]

log = get_logger(__name__)
T = TypeVar("T")

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(::[A-Za-z][A-Za-z0-9+.-]*)*://")
_FINAL = (
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotImplementedError,
    ImportError,
    ObjectChanged,
)


def is_remote(path: Any) -> bool:
    """Whether a path is an fsspec address.

    >>> is_remote("s3://bucket/x.mindrecord"), is_remote("C:/x"), is_remote("data/x.mindrecord")
    (True, False, False)
    """
    return isinstance(path, (str, RemotePath)) and bool(_ADDRESS.match(str(path)))


class RemotePath:
    """An address with the part of pathlib's interface that readers use.

    >>> path = RemotePath("s3://bucket/train/x0")
    >>> path.name, str(path.parent / "x1")
    ('x0', 's3://bucket/train/x1')

    ``options`` are those of its file system (endpoint, keys); they are never printed.
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
    """Retry policy for requests: a limit per request and a budget for all of them.

    Each request may fail ``attempts`` times without progress. All requests share a budget that successes
    slowly refill, so that an unavailable store fails soon, and not again for every block.
    """

    def __init__(self, attempts: int = 5, budget: float = 30.0, pause: float = 0.1) -> None:
        self.attempts, self.budget, self.most, self.pause = attempts, budget, budget, pause
        self._lock = threading.Lock()

    def __call__(
        self, what: str, address: str, call: Callable[[], T], moved: Callable[[], int] = lambda: 0
    ) -> T:
        """Run the call, and retry it after transient errors.

        ``moved`` returns the bytes received so far: an attempt with progress does not count as one of ``attempts``.
        """
        tries = idle = 0
        while True:
            before = moved()
            tries += 1
            try:
                result = call()
            except MillraceError:
                raise
            except _FINAL as error:
                raise FormatError(f"{what} failed: {_format_error(error)}", file=address) from error
            except Exception as error:
                idle = idle + 1 if moved() == before else 0
                with self._lock:
                    self.budget -= 1
                    empty = self.budget < 0
                if idle >= self.attempts or empty:
                    spent = " (the retry budget is spent)" if empty else ""
                    text = f"{what} failed {tries} times{spent}: {_format_error(error)}"
                    raise DataError(text, file=address) from error
                log.info(
                    "%s of %s failed, trying again: %s",
                    what,
                    address,
                    error,
                    extra={"event": "retry", "tries": tries},
                )
                time.sleep(min(5.0, self.pause * 2 ** max(0, idle - 1)))
            else:
                with self._lock:
                    self.budget = min(self.most, self.budget + 0.1)
                return result


def _format_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


RETRIES = Retries()


def file_system(address: str | RemotePath) -> tuple[Any, str]:
    """The file system of an address, and the path inside it."""
    options = address.options if isinstance(address, RemotePath) else {}
    if str(address).startswith(("s3://", "s3a://")):
        store = s3_file_system(options)
        if store is not None:
            return store, str(address).partition("://")[2]
    import fsspec  # local paths do without it

    try:
        location: tuple[Any, str] = fsspec.core.url_to_fs(str(address), **options)
    except (ImportError, ValueError) as error:
        hint = "; pip install obstore" if str(address).startswith(("s3:", "s3a:")) else ""
        raise FormatError(f"no way to reach this address: {error}{hint}", file=str(address)) from error
    return location


def remote_exists(address: str | RemotePath) -> bool:
    """Whether there is a file at the address."""
    fs, path = file_system(address)
    return RETRIES("looking for the file", str(address), lambda: bool(fs.isfile(path)))


def remote_glob(pattern: str) -> list[str]:
    """The files that match a pattern, sorted, as full addresses."""
    fs, path = file_system(pattern)
    names = RETRIES("listing files", pattern, lambda: list(fs.glob(path)))
    return sorted(fs.unstrip_protocol(name) for name in names)


def list_directory(address: str) -> tuple[list[str], list[str]]:
    """The sorted names of the files and of the folders in a folder; both empty where it does not exist."""
    fs, path = file_system(address)

    def names() -> tuple[list[str], list[str]]:
        if hasattr(fs, "parts"):
            files, folders = fs.ls(path)
            return sorted(files), sorted(folders)
        try:
            entries = fs.ls(path, detail=True)
        except FileNotFoundError:
            return [], []
        listing = [
            (entry["name"].rstrip("/").rpartition("/")[2], entry["type"] == "directory") for entry in entries
        ]
        return sorted(name for name, folder in listing if not folder), sorted(
            name for name, folder in listing if folder
        )

    return RETRIES("listing the folder", address, names)


# The maximum size of one request.
MAX_BYTES_PER_REQUEST = 8 << 20


class _ResumableRead:
    """A read that a retry resumes: it keeps the received bytes and requests only the rest."""

    def __init__(
        self, fs: Any, path: str, start: int = 0, end: int | None = None, tag: str | None = None
    ) -> None:
        self.fs, self.path, self.start, self.end, self.tag = fs, path, start, end, tag
        self.got = bytearray()

    def __call__(self) -> bytearray:
        for piece in self._parts(self.start + len(self.got)):
            self.got += piece
        if self.end is not None and len(self.got) != self.end - self.start:
            wanted, got = self.end - self.start, len(self.got)
            if got > wanted:
                self.got = bytearray()
            raise OSError(f"expected {wanted} bytes at {self.start}, got {got}")
        return self.got

    def _parts(self, start: int) -> Iterator[bytes]:
        if not hasattr(self.fs, "parts"):
            self.got = bytearray()  # other drivers return all bytes at once
            yield bytes(self.fs.cat_file(self.path, start=self.start, end=self.end))
            return
        size, tag, pieces = self.fs.parts(self.path, start, self.end, self.tag)
        if self.tag is None:  # the rest must be from the same object
            self.tag = tag
        if self.end is None:
            self.end = size
        yield from pieces


def read_range(fs: Any, path: str, address: str, start: int, end: int, tag: str | None = None) -> bytearray:
    """Read a range of bytes, all from one version of the file."""
    pull = _ResumableRead(fs, path, start, end, tag)
    return RETRIES(f"reading bytes {start} to {end}", address, pull, lambda: len(pull.got))


class ChecksumValidator:
    """Verify received data by the object's tag.

    The tags of a store that encrypts objects with its keys look like checksums and match no data. Therefore data
    that was received ``AGREE`` times without a difference is accepted, and the tags of that bucket are ignored from
    then on unless one has matched before.
    """

    AGREE = 4

    def __init__(self, fs: Any, path: str) -> None:
        self._tags: dict[str, bool] = getattr(fs, "tags_fit", {})
        self._bucket = path.partition("/")[0]
        self._seen: list[bytes] = []

    def __call__(self, tag: str | None, data: Any) -> None:
        known = self._tags.get(self._bucket)
        fits = None if known is False else etag_matches(tag, data)
        if fits:
            self._tags[self._bucket] = True
        if fits is not False:
            return
        self._seen.append(hashlib.sha256(data).digest())
        if len(self._seen) < self.AGREE or len(set(self._seen)) > 1:
            raise OSError("the received bytes do not match the store's checksum")
        log.warning(
            "the tags of %s are not checksums: %d reads returned the same bytes", self._bucket, self.AGREE
        )
        if known is None:
            self._tags[self._bucket] = False


def read_bytes(address: str | RemotePath) -> bytearray:
    """Read a whole file, in one request unless it fails."""
    fs, path = file_system(address)
    checked = ChecksumValidator(fs, path)

    def fetch() -> bytearray:
        pull = _ResumableRead(fs, path)
        data = RETRIES("reading", str(address), pull, lambda: len(pull.got))
        checked(pull.tag, data)
        return data

    return RETRIES("reading", str(address), fetch)


def first_bytes(address: str, most: int) -> bytearray:
    """The first bytes of a file."""
    fs, path = file_system(address)
    info = RETRIES("opening the file", address, lambda: fs.info(path))
    return read_range(fs, path, address, 0, min(most, int(info["size"])), info.get("e_tag"))


def download(address: str | RemotePath, target: Path) -> None:
    """Download a file to a local path in several requests; received ranges are not requested again."""
    fs, path = file_system(address)
    info = RETRIES("opening the file", str(address), lambda: fs.info(path))
    size, tag = info.get("size"), info.get("e_tag")
    if info.get("type") == "directory" or size is None:
        raise FormatError("this is a folder, not a file", file=str(address))
    checked = ChecksumValidator(fs, path)

    def fetch() -> None:
        with open(target, "w+b") as file:
            for start in range(0, size, MAX_BYTES_PER_REQUEST):
                end = min(size, start + MAX_BYTES_PER_REQUEST)
                file.write(read_range(fs, path, str(address), start, end, tag))
            file.flush()
            if size:
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                    checked(tag, data)

    RETRIES("downloading", str(address), fetch)


def upload(local: Path, address: str | RemotePath) -> None:
    """Upload a local file and verify it.

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
        upload_verified(fs, local, path, str(address))

    RETRIES("uploading", str(address), put)


def upload_verified(fs: Any, local: Path, path: str, address: str) -> None:
    """Upload a local file once, and verify its size and its tag; where the tag differs, compare the bytes."""
    fs.put_file(str(local), path)
    info, sent = fs.info(path), local.stat().st_size
    size, tag = info.get("size"), info.get("e_tag")
    if size is not None and size != sent:
        raise OSError(f"{sent} bytes were sent, {size} arrived")
    if not sent or tag is None:
        return
    with open(local, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if etag_matches(tag, data) is not False:
            return
        for start in range(0, sent, MAX_BYTES_PER_REQUEST):  # the tag may be no checksum
            end = min(sent, start + MAX_BYTES_PER_REQUEST)
            if read_range(fs, path, address, start, end, tag) != data[start:end]:
                raise OSError("the stored bytes differ from the ones sent")


def remove(address: str | RemotePath) -> None:
    """Remove a file."""
    fs, path = file_system(address)
    RETRIES("removing", str(address), lambda: fs.rm_file(path))
