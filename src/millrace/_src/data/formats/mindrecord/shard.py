"""One open MindRecord data file: header, row groups and memory map, local or remote."""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError
from millrace._src.core.io.remote import RemotePath

from . import encryption as crypto
from .atomic_commit import index_path, new_token, replace_file, temporary
from .encoding.msgpack import decode_columns, row_prefix
from .header import MAX_HEADER, Header, RowGroup, parse_header, parse_header_bytes
from .remote_files import RemoteFile
from .row_scan import scan_rows
from .sqlite_index import check_index, index_rows, write_index

__all__ = ["ShardReader", "open_shard"]

Ints = npt.NDArray[np.int64]
_BLOCK_ROWS = 16384
_COPY = 8 << 20
SPARE = bytes(8)


class ShardReader:
    """An open data file. The memory map is created on first use and may be released at any time."""

    is_local = True

    def __init__(
        self, path: Path, header: Header, size: int, plain: mmap.mmap | None, stamp: tuple[int, ...]
    ) -> None:
        self.path, self.header, self.size = path, header, size
        self.stamp = stamp
        self._plain = plain  # the decrypted file, where the shard is encrypted
        self.groups: list[RowGroup] = header.groups(size, str(path))
        self.rows = sum(group.rows for group in self.groups)
        self._sign = row_prefix(header.schema.raw)

    @property
    def encrypted(self) -> bool:
        return self._plain is not None

    def map(self) -> mmap.mmap:
        """A read-only map of the file, which must not have changed since the header was read."""
        if self._plain is not None:
            return self._plain
        try:
            fd = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            text = f"the file cannot be opened again: {error.strerror}"
            raise FormatError(text, file=str(self.path)) from error
        try:
            if _file_stamp(os.fstat(fd)) != self.stamp:
                raise FormatError("the file was changed or replaced since it was opened", file=str(self.path))
            return mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def hold_ranges(self, ranges: list[tuple[int, int]]) -> Iterator[None]:
        """Keep these parts of the file in the map while the context is open; a no-op for a local file."""
        yield

    def blob_ranges(self, data: mmap.mmap, group: RowGroup) -> tuple[Ints, Ints]:
        """Byte ranges of the blob payloads of a group; together they must fill its page."""
        file = str(self.path)
        with self.hold_ranges([(group.blob, group.blob_end)]):
            begins, ends = scan_rows(data, group.blob, group.blob_end, group.rows, b"", file, group.blob_page)
        if int(ends[-1]) != group.blob_end:
            text = (
                f"the rows of the page end {group.blob_end - int(ends[-1])} bytes before its used part does"
            )
            raise FormatError(text, file=file, page=group.blob_page)
        return begins, ends

    def raw_ranges(self, data: mmap.mmap, group: RowGroup) -> tuple[Ints, Ints]:
        """Byte ranges of the raw payloads of a group."""
        file = str(self.path)
        with self.hold_ranges([(group.raw, group.raw_end)]):
            return scan_rows(data, group.raw, group.raw_end, group.rows, self._sign, file, group.raw_page)

    # --- the index ------------------------------------------------------------------------------------------

    def index_problem(self, cipher: crypto.Cipher) -> str | None:
        """Why the `.db` index of this file is unusable, or None."""
        path = index_path(self.path)
        if not self.encrypted:
            return check_index(path, self.path.name, self.header)
        try:
            with open(path, "rb") as source, tempfile.TemporaryFile() as plain:
                crypto.decrypt(source, cast(BinaryIO, plain), cipher, str(path))
                plain.seek(0)
                return check_index(plain.read(), self.path.name, self.header)
        except FileNotFoundError:
            return check_index(path, self.path.name, self.header)
        except FormatError as error:
            return error.message

    def rebuild_index(self, cipher: crypto.Cipher) -> None:
        """Rebuild the `.db` index from the data file and replace it atomically."""
        final = index_path(self.path)
        draft = temporary(final, new_token())
        try:
            self.write_index(draft, self.path.name, cipher if self.encrypted else None)
            replace_file(draft, final)
        finally:
            draft.unlink(missing_ok=True)

    def write_index(self, target: Path, name: str, cipher: crypto.Cipher | None) -> None:
        """Write an index of this file, read back from the file itself."""
        rows = self.index_rows()
        if cipher is None:
            write_index(str(target), name, self.header, rows)
            mode = stat.S_IMODE(self.path.stat().st_mode)
            os.chmod(target, mode | stat.S_IRUSR | stat.S_IWUSR)
            return
        with tempfile.TemporaryFile() as plain:
            plain.write(write_index(":memory:", name, self.header, rows) or b"")
            plain.seek(0)
            with open(target, "wb") as sealed:
                os.fchmod(sealed.fileno(), 0o600)
                crypto.encrypt(cast(BinaryIO, plain), sealed, cipher)

    def index_rows(self) -> Iterator[tuple[Any, ...]]:
        """Iterate over the rows that the index of this file must have."""
        return index_rows(self.header, self._index_blocks())

    def _index_blocks(self) -> Iterator[tuple[int, dict[str, Any], dict[str, Any]]]:
        fields, wanted = self.header.schema.raw, self.header.index_fields
        data = self.map() if self.groups else None
        for group in self.groups:
            assert data is not None
            raw, raw_end = self.raw_ranges(data, group)
            blob, blob_end = self.blob_ranges(data, group)
            raw_page, blob_page = (
                self.header.page_start(group.raw_page),
                self.header.page_start(group.blob_page),
            )
            for begin in range(0, group.rows, _BLOCK_ROWS):
                part = slice(begin, begin + _BLOCK_ROWS)
                count = len(raw[part])
                first, last = int(raw[part][0]), int(raw_end[part][-1])
                offsets = {
                    "PAGE_ID_RAW": [group.raw_page] * count,
                    "PAGE_OFFSET_RAW": (raw[part] - 8 - raw_page).tolist(),
                    "PAGE_OFFSET_RAW_END": (raw_end[part] - raw_page).tolist(),
                    "ROW_GROUP_ID": [group.id] * count,
                    "PAGE_ID_BLOB": [group.blob_page] * count,
                    "PAGE_OFFSET_BLOB": (blob[part] - 8 - blob_page).tolist(),
                    "PAGE_OFFSET_BLOB_END": (blob_end[part] - blob_page).tolist(),
                }
                values: dict[str, Any] = {}
                if fields:
                    with self.hold_ranges([(first, last)]):
                        piece = data[first:last] + SPARE
                    try:
                        values = decode_columns(
                            piece, raw[part] - first, raw_end[part] - first, fields, wanted
                        )
                    except FormatError as error:
                        row = group.start_row + begin + error.context.pop("block_row", 0)
                        error.context |= {"file": str(self.path), "page": group.raw_page, "row": row}
                        raise
                yield group.start_row + begin, offsets, values


class RemoteShard(ShardReader):
    """A remote data file (fsspec address); parts of it are fetched on demand."""

    is_local = False

    def __init__(self, path: RemotePath, file: RemoteFile, cipher: crypto.Cipher) -> None:
        name, size = str(path), file.size
        plain: mmap.mmap | None = None
        with file.hold_ranges([(max(0, size - 32), size), (0, min(size, 8))]):
            data = file.map
            sealed = crypto.sealed_mode(bytes(data[max(0, size - 32) :]), size)
            length = min(size, 8 + int.from_bytes(data[:8], "little"), 8 + MAX_HEADER)
        if sealed is not None or cipher.key is not None:
            if cipher.key is None:
                raise FormatError("the file is encrypted: give its key to set_enc_key()", file=name)
            plain = _decrypt_remote(file, cipher, name)
            header, size = parse_header_bytes(plain[:], len(plain), name), len(plain)
        else:
            with file.hold_ranges([(0, length)]):
                header = parse_header_bytes(bytes(data[:length]), size, name)
        self.file = file
        super().__init__(path, header, size, plain, ())  # type: ignore[arg-type]

    def map(self) -> mmap.mmap:
        return self._plain if self._plain is not None else self.file.map  # type: ignore[return-value]

    @contextlib.contextmanager
    def hold_ranges(self, ranges: list[tuple[int, int]]) -> Iterator[None]:
        if self._plain is not None:
            yield
            return
        with self.file.hold_ranges(ranges):
            yield

    def index_problem(self, cipher: crypto.Cipher) -> str | None:
        return None  # not needed for reading, so not checked


def _decrypt_remote(file: RemoteFile, cipher: crypto.Cipher, name: str) -> mmap.mmap:
    with tempfile.TemporaryFile() as sealed, tempfile.TemporaryFile() as plain:
        for start in range(0, file.size, _COPY):
            stop = min(file.size, start + _COPY)
            with file.hold_ranges([(start, stop)]):
                sealed.write(file.map[start:stop])
        sealed.seek(0)
        crypto.decrypt(cast(BinaryIO, sealed), cast(BinaryIO, plain), cipher, name)
        return mmap.mmap(plain.fileno(), 0, access=mmap.ACCESS_READ)


def _file_stamp(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def open_shard(path: Path | RemotePath, cipher: crypto.Cipher) -> ShardReader:
    """Open a data file and check its header; an encrypted file is decrypted into an unnamed temporary file."""
    if isinstance(path, RemotePath):
        return RemoteShard(path, RemoteFile(path), cipher)
    try:
        source = path.open("rb")
    except FileNotFoundError:
        raise FormatError("the file does not exist", file=str(path)) from None
    except IsADirectoryError:
        raise FormatError("this is a folder, not a MindRecord file", file=str(path)) from None
    except OSError as error:
        raise FormatError(f"the file cannot be opened: {error.strerror}", file=str(path)) from None
    with source:
        status = os.fstat(source.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise FormatError("this is not a regular file", file=str(path))
        mode = crypto.is_encrypted(source.fileno())
        if mode is None and cipher.key is None:
            return ShardReader(
                path, parse_header(source.fileno(), str(path)), status.st_size, None, _file_stamp(status)
            )
        if cipher.key is None:
            raise FormatError("the file is encrypted: give its key to set_enc_key()", file=str(path))
        with tempfile.TemporaryFile() as plain:
            crypto.decrypt(source, cast(BinaryIO, plain), cipher, str(path))
            header = parse_header(plain.fileno(), str(path))
            data = mmap.mmap(plain.fileno(), 0, access=mmap.ACCESS_READ)
            return ShardReader(path, header, len(data), data, _file_stamp(status))
