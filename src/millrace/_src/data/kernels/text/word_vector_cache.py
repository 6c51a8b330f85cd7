"""Parsed vectors in the user's cache folder, mapped into memory: the second load of a large file reads none of it.

The folder is ``$XDG_CACHE_HOME/millrace/vectors`` (``~/.cache`` where that is not set), which only its owner may enter.
An entry belongs to one path and one number of words, and to the size, the time of change and the ends of that file;
when anything else is found, the file is read again. What it holds is numbers and text, nothing that could be run. An
entry whose file is gone is removed when another one is written.
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

__all__ = ["KEEP_FROM", "VectorCacheEntry", "Stored", "digest_of", "opened"]

log = get_logger(__name__)

# A smaller file is parsed while one looks at the clock.
KEEP_FROM = 8 << 20
VERSION = 1
HEAD = 4096
ENDS = 1 << 16

Stored = tuple[WordIndex, npt.NDArray[np.float32], bytes]


class VectorCacheEntry:
    """Where the vectors of one file are kept."""

    def __init__(self, source: str, most: int) -> None:
        self.source = os.path.realpath(source)
        self.belongs = {"version": VERSION, "source": self.source, "most": most, **_state(self.source)}
        name = hashlib.blake2b(f"{self.source}\0{most}".encode("utf-8", "surrogateescape"), digest_size=16)
        self.path = _folder() / f"{name.hexdigest()}.vectors"

    @property
    def worth_it(self) -> bool:
        return int(self.belongs["size"]) >= KEEP_FROM

    def load(self) -> Stored | None:
        """What was kept, where it still belongs to the file."""
        found = opened(str(self.path), self.belongs)
        if found is not None:
            with contextlib.suppress(OSError):
                os.utime(self.path)
        return found

    def save(self, blocks: Iterable[npt.NDArray[np.float32]], table: dict[str, int]) -> Stored | None:
        """Write what ``blocks`` gives and, when they are through, the table; None where there is no place for it.

        Whole or not at all: another process never sees half of it. An error of the blocks is theirs.
        """
        try:
            file, temporary = self._begin()
        except OSError as error:
            log.info("the vectors of %s are not kept: %s", self.source, error)
            return None
        full = ""
        try:
            with file:
                rows, dim = 0, 0
                made = hashlib.blake2b(digest_size=20)
                full = self._write(file, b"\0" * HEAD)
                for block in blocks:
                    rows, dim = rows + len(block), block.shape[1]
                    made.update(block.data)
                    full = full or self._write(file, block.data)
                made.update(VocabArrays.of(table).digest())
                index = WordIndex.of(table)
                sizes = {"rows": rows, "dim": dim, "words": len(index), "text": index.text.size}
                line = json.dumps(self.belongs | sizes | {"digest": made.hexdigest()}).encode()
                for part in (b"\0" * _gap(rows, dim), *[part.data for part in index.parts]):
                    full = full or self._write(file, part)
                if full or len(line) > HEAD or _state(self.source).items() - self.belongs.items():
                    return None
                file.seek(0)
                file.write(line)
            os.replace(temporary, self.path)
            temporary = ""
        finally:
            if temporary:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
        self._sweep()
        return opened(str(self.path), self.belongs)

    def _begin(self) -> tuple[IO[bytes], str]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number, temporary = tempfile.mkstemp(prefix=f"millrace-vectors-{os.getpid()}-", dir=self.path.parent)
        return os.fdopen(number, "wb"), temporary

    def _write(self, file: IO[bytes], data: Any) -> str:
        try:
            file.write(data)
        except OSError as error:  # the disk is full, most likely: the vectors are still parsed, and not kept
            log.info("the vectors of %s are not kept: %s", self.source, error)
            return str(error)
        return ""

    def _sweep(self) -> None:
        """Remove entries of files that are gone."""
        for other in self.path.parent.glob("*.vectors"):
            with contextlib.suppress(OSError, ValueError, TypeError):
                head = _head(other)
                if other != self.path and not os.path.exists(head["source"]):
                    other.unlink()


def opened(path: str, belongs: dict[str, Any] | None = None, digest: bytes = b"") -> Stored | None:
    """An entry, mapped; None where there is none, or where it is another one or damaged."""
    try:
        state = os.stat(path)
        head = _head(Path(path))
        rows, dim, words, text = (int(head[name]) for name in ("rows", "dim", "words", "text"))
        kept = bytes.fromhex(head["digest"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    ours = state.st_uid == os.getuid() and not state.st_mode & 0o022
    begin = HEAD + 4 * rows * dim + _gap(rows, dim)  # of the words
    fits = min(rows, dim, words, text) >= 0 and state.st_size == begin + 20 * words + 8 + text
    if not ours or not fits or (digest and kept != digest):
        return None
    if belongs is not None and any(head.get(name) != value for name, value in belongs.items()):
        return None
    whole = np.asarray(np.memmap(path, np.uint8, "r"))
    vectors = whole[HEAD : HEAD + 4 * rows * dim].view(np.float32).reshape(rows, dim)
    parts = np.split(whole[begin:], np.cumsum([8 * words, 8 * words + 8, 4 * words]))
    index = WordIndex(parts[0].view(np.uint64), parts[1].view(np.int64), parts[2].view(np.int32), parts[3])
    if words and (index.rows.min() < 0 or index.rows.max() >= rows or index.ends[-1] != text):
        return None
    return index, vectors, kept


def _gap(rows: int, dim: int) -> int:
    """Bytes after the vectors, so that the words begin at a multiple of eight."""
    return -4 * rows * dim % 8


def digest_of(vectors: npt.NDArray[np.float32], table: dict[str, int]) -> bytes:
    """A hash of words and vectors, as an entry has it."""
    made = hashlib.blake2b(np.ascontiguousarray(vectors).data, digest_size=20)
    made.update(VocabArrays.of(table).digest())
    return made.digest()


def _head(path: Path) -> dict[str, Any]:
    with open(path, "rb") as file:
        found = json.loads(file.read(HEAD).rstrip(b"\0"))
    if not isinstance(found, dict):
        raise ValueError("no entry")
    return found


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "millrace" / "vectors"


def _state(source: str) -> dict[str, Any]:
    """What tells one state of a file from another: its size, its time of change and a checksum of its ends."""
    state = os.stat(source)
    made = hashlib.blake2b(digest_size=16)
    with open(source, "rb") as file:
        made.update(file.read(ENDS))
        file.seek(max(0, state.st_size - ENDS))
        made.update(file.read(ENDS))
    return {"size": state.st_size, "changed": state.st_mtime_ns, "ends": made.hexdigest()}
