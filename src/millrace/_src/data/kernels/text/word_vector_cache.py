"""Memory-mapped cache of parsed word vectors in the user's cache folder.

The folder is ``$XDG_CACHE_HOME/millrace/vectors`` (``~/.cache`` where that is not set); only its owner has access.
An entry is valid for one path and one number of words, and for the size, the modification time and a checksum of both
ends of the file; otherwise the file is parsed again. It holds numbers and text, no code. An entry whose file no longer
exists is removed when another one is written.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.log import get_logger

from .vocab_arrays import VocabArrays
from .word_hash_index import WordIndex

__all__ = ["MIN_CACHED_BYTES", "VectorCacheEntry", "StoredVectors", "compute_digest", "open_entry"]

log = get_logger(__name__)

# Smaller files are parsed fast enough without a cache.
MIN_CACHED_BYTES = 8 << 20
VERSION = 1
HEADER_BYTES = 4096
CHECKED_BYTES = 1 << 16

StoredVectors = tuple[WordIndex, npt.NDArray[np.float32], bytes]


class VectorCacheEntry:
    """Cache entry of the vectors of one file."""

    def __init__(self, source: str, max_vectors: int) -> None:
        self.source = os.path.realpath(source)
        self.expected_header = {
            "version": VERSION,
            "source": self.source,
            "most": max_vectors,
            **_file_state(self.source),
        }
        name = hashlib.blake2b(
            f"{self.source}\0{max_vectors}".encode("utf-8", "surrogateescape"), digest_size=16
        )
        self.path = _cache_folder() / f"{name.hexdigest()}.vectors"

    @property
    def worth_it(self) -> bool:
        return int(self.expected_header["size"]) >= MIN_CACHED_BYTES

    def load(self) -> StoredVectors | None:
        """The stored vectors, if they are valid for the file."""
        stored = open_entry(str(self.path), self.expected_header)
        if stored is not None:
            with contextlib.suppress(OSError):
                os.utime(self.path)
        return stored

    def save(self, blocks: Iterable[npt.NDArray[np.float32]], table: dict[str, int]) -> StoredVectors | None:
        """Write the ``blocks`` and then the table; None where they cannot be stored.

        The write is atomic: no other process sees a partial entry. Errors of the blocks are raised.
        """
        try:
            file, temporary = self._open_temporary()
        except OSError as error:
            log.info("the vectors of %s are not kept: %s", self.source, error)
            return None
        write_error = ""
        try:
            with file:
                rows, dim = 0, 0
                hasher = hashlib.blake2b(digest_size=20)
                write_error = self._write(file, b"\0" * HEADER_BYTES)
                for block in blocks:
                    rows, dim = rows + len(block), block.shape[1]
                    hasher.update(block.data)
                    write_error = write_error or self._write(file, block.data)
                hasher.update(VocabArrays.of(table).digest())
                index = WordIndex.of(table)
                sizes = {"rows": rows, "dim": dim, "words": len(index), "text": index.text.size}
                line = json.dumps(self.expected_header | sizes | {"digest": hasher.hexdigest()}).encode()
                for part in (b"\0" * _padding_bytes(rows, dim), *[part.data for part in index.parts]):
                    write_error = write_error or self._write(file, part)
                if (
                    write_error
                    or len(line) > HEADER_BYTES
                    or _file_state(self.source).items() - self.expected_header.items()
                ):
                    return None
                file.seek(0)
                file.write(line)
            os.replace(temporary, self.path)
            temporary = ""
        finally:
            if temporary:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
        self._remove_stale()
        return open_entry(str(self.path), self.expected_header)

    def _open_temporary(self) -> tuple[IO[bytes], str]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number, temporary = tempfile.mkstemp(prefix=f"millrace-vectors-{os.getpid()}-", dir=self.path.parent)
        return os.fdopen(number, "wb"), temporary

    def _write(self, file: IO[bytes], data: Any) -> str:
        try:
            file.write(data)
        except OSError as error:  # most likely the disk is full: the vectors are parsed, but not stored
            log.info("the vectors of %s are not kept: %s", self.source, error)
            return str(error)
        return ""

    def _remove_stale(self) -> None:
        """Remove entries whose files no longer exist."""
        for path in self.path.parent.glob("*.vectors"):
            with contextlib.suppress(OSError, ValueError, TypeError):
                head = _read_header(path)
                if path != self.path and not os.path.exists(head["source"]):
                    path.unlink()


def open_entry(
    path: str, expected_header: dict[str, Any] | None = None, digest: bytes = b""
) -> StoredVectors | None:
    """Map an entry into memory; None where there is none, or where it is invalid or damaged."""
    try:
        state = os.stat(path)
        head = _read_header(Path(path))
        rows, dim, num_words, text_bytes = (int(head[name]) for name in ("rows", "dim", "words", "text"))
        stored_digest = bytes.fromhex(head["digest"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    is_private = state.st_uid == os.getuid() and not state.st_mode & 0o022
    begin = HEADER_BYTES + 4 * rows * dim + _padding_bytes(rows, dim)  # offset of the words
    fits = (
        min(rows, dim, num_words, text_bytes) >= 0
        and state.st_size == begin + 20 * num_words + 8 + text_bytes
    )
    if not is_private or not fits or (digest and stored_digest != digest):
        return None
    if expected_header is not None and any(
        head.get(name) != value for name, value in expected_header.items()
    ):
        return None
    mapped = np.asarray(np.memmap(path, np.uint8, "r"))
    vectors = mapped[HEADER_BYTES : HEADER_BYTES + 4 * rows * dim].view(np.float32).reshape(rows, dim)
    parts = np.split(mapped[begin:], np.cumsum([8 * num_words, 8 * num_words + 8, 4 * num_words]))
    index = WordIndex(parts[0].view(np.uint64), parts[1].view(np.int64), parts[2].view(np.int32), parts[3])
    if num_words and (index.rows.min() < 0 or index.rows.max() >= rows or index.ends[-1] != text_bytes):
        return None
    return index, vectors, stored_digest


def _padding_bytes(rows: int, dim: int) -> int:
    """Padding after the vectors, so that the words begin at a multiple of eight bytes."""
    return -4 * rows * dim % 8


def compute_digest(vectors: npt.NDArray[np.float32], table: dict[str, int]) -> bytes:
    """Hash of words and vectors, as stored in an entry."""
    hasher = hashlib.blake2b(np.ascontiguousarray(vectors).data, digest_size=20)
    hasher.update(VocabArrays.of(table).digest())
    return hasher.digest()


def _read_header(path: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        header = json.loads(file.read(HEADER_BYTES).rstrip(b"\0"))
    if not isinstance(header, dict):
        raise ValueError("no entry")
    return header


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "millrace" / "vectors"


def _file_state(source: str) -> dict[str, Any]:
    """Size, modification time and a checksum of both ends of a file."""
    state = os.stat(source)
    hasher = hashlib.blake2b(digest_size=16)
    with open(source, "rb") as file:
        hasher.update(file.read(CHECKED_BYTES))
        file.seek(max(0, state.st_size - CHECKED_BYTES))
        hasher.update(file.read(CHECKED_BYTES))
    return {"size": state.st_size, "changed": state.st_mtime_ns, "ends": hasher.hexdigest()}
