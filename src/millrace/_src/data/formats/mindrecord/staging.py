"""Staging files of a set being written, committed or discarded as a whole."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import weakref
from pathlib import Path

from millrace._src.core.errors import DataError

from . import encryption as crypto
from .atomic_commit import (
    commit_files,
    companions,
    finish_commit,
    fsync_file,
    index_path,
    journal_path,
    new_token,
    sums_path,
    temporary,
)
from .checksums import write_checksums
from .header import Header
from .page_writer import ShardWriter
from .reader import MindRecordReader
from .shard import ShardReader, open_shard

__all__ = ["StagedSet"]

_PLAIN = crypto.Cipher()


class StagedSet:
    """The files of one set under temporary names; they are deleted unless they are committed."""

    def __init__(
        self, finals: list[Path], headers: list[Header], source: MindRecordReader | None = None
    ) -> None:
        self.finals = finals
        self.token = new_token()
        self.lock = threading.Lock()
        self.saved = headers[0].compression_size
        self.shards: list[ShardWriter] = []
        self._clean = weakref.finalize(self, _remove, finals, self.token, self.shards, os.getpid())
        try:
            finish_commit(finals[0])
            for final in finals:
                _remove_orphans(final)
                _remove_companions(final)
            for number, (final, header) in enumerate(zip(finals, headers)):
                path = temporary(final, self.token)
                if source is not None:
                    _copy(source.shards[number], path)
                shard = ShardWriter(path, header, existing=source is not None)
                self.shards.append(shard)
                fcntl.flock(shard.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError as error:
            self.discard()
            raise DataError("the folder does not exist", file=str(finals[0].parent)) from error
        except OSError as error:
            self.discard()
            raise DataError(
                f"cannot make files here: {error.strerror}", file=str(finals[0].parent)
            ) from error
        except BaseException:
            self.discard()
            raise

    @classmethod
    def copy_of(cls, reader: MindRecordReader) -> StagedSet:
        """A staged set that starts as a copy of an existing set."""
        finals = [Path(path) for path in reader.files]
        headers = [shard.header for shard in reader.shards]
        for header in headers:
            header.addresses = [final.name for final in finals]  # a set of one may have been renamed
        return cls(finals, headers, reader)

    def commit(self, cipher: crypto.Cipher, checksums: bool = False) -> None:
        """Finish the files, read them back, write the indexes, sync and rename."""
        for final, shard in zip(self.finals, self.shards):
            shard.header.compression_size = self.saved
            shard.finish()
            written = open_shard(shard.path, _PLAIN)
            shard.verify(written)
            index = temporary(index_path(final), self.token)
            sealed = cipher if cipher.key is not None else None
            written.write_index(index, final.name, sealed)
            fsync_file(index)
            if checksums:
                fsync_file(write_checksums(written, temporary(sums_path(final), self.token)))
            if sealed is not None:
                _seal(shard.path, sealed)
        try:
            commit_files(self.finals, self.token, committed=self._clean.detach)
            self._clean.detach()
        finally:
            for shard in self.shards:
                shard.close()

    def discard(self) -> None:
        """Remove the temporary files if they are not committed."""
        self._clean()


def _remove(finals: list[Path], token: str, shards: list[ShardWriter], owner: int) -> None:
    for shard in shards:
        shard.close()
    if os.getpid() != owner:
        return  # a forked child: the files belong to the parent
    for final in finals:
        data = temporary(final, token)
        companion_files = (*companions(final), journal_path(final))
        for path in (
            data,
            _sealed_path(data),
            *(temporary(companion, token) for companion in companion_files),
        ):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def _remove_orphans(final: Path) -> None:
    """Remove the temporary files of dead writers; a live writer holds a lock on its files."""
    prefix, suffix = f".{final.name}.", ".tmp"
    with contextlib.suppress(OSError):
        for name in os.listdir(final.parent):
            token = name[len(prefix) : -len(suffix)]
            if not (name.startswith(prefix) and name.endswith(suffix) and len(token) == 16):
                continue
            path = final.parent / name
            with contextlib.suppress(OSError):
                fd = os.open(path, os.O_RDONLY)
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    companion_files = [
                        temporary(companion, token) for companion in (*companions(final), journal_path(final))
                    ]
                    for part in (path, _sealed_path(path), *companion_files):
                        part.unlink(missing_ok=True)
                finally:
                    os.close(fd)


def _remove_companions(final: Path) -> None:
    """Remove temporary indexes and journals whose temporary data file does not exist."""
    prefixes = [f".{path.name}." for path in (*companions(final), journal_path(final))]
    with contextlib.suppress(OSError):
        for name in os.listdir(final.parent):
            for prefix in prefixes:
                token = name[len(prefix) :].removesuffix(".tmp")
                ours = name.startswith(prefix) and name.endswith(".tmp")
                if ours and not temporary(final, token).exists():
                    (final.parent / name).unlink(missing_ok=True)


def _copy(shard: ShardReader, target: Path) -> None:
    """Copy a data file (decrypted if necessary) and keep holes; the file must be unchanged since it was opened."""
    data = shard.map()
    fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        step = 1 << 16
        view = memoryview(data)
        zeros = bytes(step)
        for at in range(0, len(data), step):
            part = view[at : at + step]
            if part != zeros[: len(part)]:
                os.pwrite(fd, part, at)
        os.ftruncate(fd, len(data))
        view.release()
    finally:
        os.close(fd)


def _sealed_path(path: Path) -> Path:
    return path.with_name(path.name + ".sealed")


def _seal(path: Path, cipher: crypto.Cipher) -> None:
    """Replace a plain temporary file with its encrypted form."""
    sealed = _sealed_path(path)
    try:
        with open(path, "rb") as source, open(sealed, "wb") as target:
            os.fchmod(target.fileno(), 0o600)
            crypto.encrypt(source, target, cipher)
            target.flush()
            os.fsync(target.fileno())
        os.replace(sealed, path)
    finally:
        sealed.unlink(missing_ok=True)
