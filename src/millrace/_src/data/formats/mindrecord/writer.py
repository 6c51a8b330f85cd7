"""``FileWriter``: writes a set of MindRecord files."""

from __future__ import annotations

import contextlib
import enum
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError, FormatError
from millrace._src.core.io.remote import is_remote
from millrace._src.core.public import export_names, public
from millrace._src.core.stable_ids import stable_id

from . import encryption as crypto
from .atomic_commit import sums_path
from .encoding.row_encoder import encode_rows
from .exceptions import (
    MRMAddIndexError,
    MRMAddSchemaError,
    MRMDefineIndexError,
    MRMGetMetaError,
    MRMInvalidHeaderSizeError,
    MRMInvalidPageSizeError,
    MRMValidateDataError,
    ParamTypeError,
    ParamValueError,
)
from .file_names import FileExists, checked_name, refuse_existing, shard_names
from .header import Header
from .reader import MindRecordReader
from .remote_files import RemoteSet
from .schema import RecordSchema
from .sqlite_index import bad_index_fields
from .staging import StagedSet

__all__ = ["FAILED", "FileWriter", "MSRStatus", "SUCCESS"]

_KIB, _MIB = 1 << 10, 1 << 20
_MAX_SHARDS = 1000
_QUEUE = 4  # calls in flight per worker thread


@stable_id("enum.MSRStatus")
class MSRStatus(enum.IntEnum):
    """Return status of MindSpore's calls. Failures raise here, so it is always SUCCESS."""

    SUCCESS = 0
    FAILED = 1


SUCCESS, FAILED = MSRStatus.SUCCESS, MSRStatus.FAILED


@public("mindrecord")
class FileWriter:
    """Write rows into one or several MindRecord files.

    Files are renamed when the whole set is complete, verified and synced. Until ``commit`` nothing is visible; a crash
    leaves the old set (or none), never a partial new one.

    >>> writer = FileWriter("example.mindrecord", overwrite=True)
    >>> _ = writer.add_schema({"label": {"type": "int32"}, "data": {"type": "bytes"}}, "two fields")
    >>> _ = writer.add_index(["label"])
    >>> _ = writer.write_raw_data([{"label": n, "data": bytes([n])} for n in range(3)])
    >>> writer.commit()
    <MSRStatus.SUCCESS: 0>

    With ``checksums``, a file NAME.crc is written next to each data file. With it, ``millrace record verify`` and
    ``repair`` can decide for every row whether it is intact. MindSpore ignores it. ``millrace record checksum`` adds it
    later.
    """

    def __init__(
        self,
        file_name: str | os.PathLike[str],
        shard_num: int = 1,
        overwrite: bool = False,
        *,
        checksums: bool = False,
    ) -> None:
        path = checked_name(file_name)
        if type(shard_num) is not int or not 1 <= shard_num <= _MAX_SHARDS:
            raise ParamValueError(f"shard_num must be an int from 1 to {_MAX_SHARDS}, got {shard_num!r}")
        for name, flag in (("overwrite", overwrite), ("checksums", checksums)):
            if not isinstance(flag, bool):
                raise ParamValueError(f"{name} must be a bool, got {flag!r}")
        self._checksums = checksums
        self._remote = RemoteSet(str(file_name)) if is_remote(file_name) else None
        if self._remote is not None:
            path = self._remote.folder / path.name
        self._files = shard_names(path, shard_num)
        self._overwrite = overwrite
        self._schema: RecordSchema | None = None
        self._index: list[str] | None = None
        self._header_size, self._page_size = 16 * _MIB, 32 * _MIB
        self._draft: StagedSet | None = None
        self._committed = self._failed = False
        self._appends = False
        self._next = 0  # the shard that gets the next remaining row
        self._pool: list[ThreadPoolExecutor] = []
        self._pending: list[Future[None]] = []

    # --- before the first row -------------------------------------------------------------------------------

    def set_header_size(self, header_size: int) -> MSRStatus:
        """Set the bytes reserved for the header, 16 KiB to 128 MiB; each page needs about 190 bytes."""
        self._header_size = self._size(header_size, "header_size", 16 * _KIB, 128 * _MIB)
        return SUCCESS

    def set_page_size(self, page_size: int) -> MSRStatus:
        """Set the page size in bytes, 32 KiB to 256 MiB; no row may be larger."""
        self._page_size = self._size(page_size, "page_size", 32 * _KIB, 256 * _MIB)
        return SUCCESS

    def _size(self, size: int, name: str, low: int, high: int) -> int:
        if type(size) is not int:
            raise ArgumentTypeError(f"{name} must be an int, got {type(size).__name__}")
        if not low <= size <= high or size % 4:
            refused = MRMInvalidHeaderSizeError if name == "header_size" else MRMInvalidPageSizeError
            raise refused(f"{name} must be a multiple of 4 from {low} to {high}, got {size}")
        if self._draft is not None or self._appends:
            raise DataError(f"{name} cannot change once rows are written", file=str(self._files[0]))
        return size

    def add_schema(self, content: Mapping[str, Any], desc: str | None = None) -> int:
        """Declare the fields of a row: ``{"name": {"type": ..., "shape": [...]}}``; returns 0, its number."""
        if self._schema is not None:
            raise MRMAddSchemaError("the set already has a schema, and has only one")
        if desc is not None and not isinstance(desc, str):
            raise ArgumentTypeError(f"desc must be a str, got {type(desc).__name__}")
        self._schema = RecordSchema.parse(content, desc or "")
        return 0

    def add_index(self, index_fields: list[str]) -> MSRStatus:
        """Select the index fields (scalars only); the default is all scalars."""
        if self._schema is None:
            raise MRMGetMetaError("call add_schema() before add_index()")
        if not isinstance(index_fields, list) or not index_fields:
            raise ParamTypeError(f"index_fields must be a list of field names, got {index_fields!r}")
        if self._draft is not None:
            raise ArgumentValueError("the index cannot change once rows are written")
        scalars = [f.name for f in self._schema.raw]
        for name in index_fields:
            if not isinstance(name, str):
                raise ParamTypeError(f"index_fields are names of fields, got {name!r}")
            if name not in self._schema.names:
                raise MRMAddIndexError(f"no field '{name}' in the schema: {', '.join(self._schema.names)}")
            if name not in scalars:
                raise MRMDefineIndexError(
                    f"field '{name}' is {self._schema[name].type} data and has no index"
                )
        chosen = (self._index or []) + index_fields
        if len(set(chosen)) != len(chosen):
            raise MRMAddIndexError(f"a field is in the index twice: {chosen}")
        _refuse_index(chosen)
        self._index = chosen
        return SUCCESS

    def open_and_set_header(self) -> MSRStatus:
        """Create the temporary files now instead of at the first write."""
        self._ensure_draft()
        return SUCCESS

    def _ensure_draft(self) -> StagedSet:
        if self._failed:
            raise DataError("an earlier call failed and the set was given up", file=str(self._files[0]))
        if self._committed and not self._appends:
            raise DataError("the set is committed: open it with open_for_append()", file=str(self._files[0]))
        if self._draft is None:
            if self._schema is None:
                raise DataError("the set has no schema: call add_schema() first", file=str(self._files[0]))
            self._draft = self._draft_for_append() if self._appends else self._new_draft(self._schema)
        return self._draft

    def _new_draft(self, schema: RecordSchema) -> StagedSet:
        self._refuse_existing()
        if self._index is None:
            self._index = [f.name for f in schema.raw]
            _refuse_index(self._index)
        if crypto.current().key is not None and self._checksums:
            raise ArgumentValueError(
                "an encrypted set carries its own proof of every byte: do not set checksums"
            )
        if crypto.current().key is not None and len(self._files) > 1:
            raise ArgumentValueError("an encrypted set is one file: use shard_num=1, or set_enc_key(None)")
        names = [path.name for path in self._files]
        headers = [
            Header(
                schema, self._header_size, self._page_size, list(self._index), list(names), shard_id=number
            )
            for number in range(len(names))
        ]
        return StagedSet(self._files, headers)

    def _refuse_existing(self) -> None:
        if self._overwrite:
            return
        if self._remote is not None:
            existing = self._remote.existing([name for p in self._files for name in (p.name, f"{p.name}.db")])
            if existing is not None:
                raise FileExists("the file exists: remove it or pass overwrite=True", file=existing)
        refuse_existing(self._files)

    # --- rows -----------------------------------------------------------------------------------------------

    def write_raw_data(self, raw_data: list[dict[str, Any]], parallel_writer: bool = False) -> MSRStatus:
        """Add rows. If a row does not fit the schema, an error is raised and none of the rows is written.

        With ``parallel_writer``, a thread writes the rows to one shard (shards are used in turn) while the caller
        continues; ``commit`` waits for the threads.
        """
        if not isinstance(raw_data, (list, tuple)):
            raise ParamTypeError(f"raw_data must be a list of dicts, got {type(raw_data).__name__}")
        if not isinstance(parallel_writer, bool):
            raise ArgumentTypeError(f"parallel_writer must be a bool, got {type(parallel_writer).__name__}")
        if not raw_data:
            raise MRMValidateDataError("raw_data is empty")
        draft = self._ensure_draft()
        raw, blob, saved = self._encode(draft, raw_data)
        draft.saved += saved
        if parallel_writer:
            self._write_later(draft, raw, blob)
            return SUCCESS
        self._await_writes()
        start = 0
        with self._discard_on_error():
            for number, count in self._split_over_shards(len(raw)):
                draft.shards[number].write(raw[start : start + count], blob[start : start + count])
                start += count
        return SUCCESS

    @contextlib.contextmanager
    def _discard_on_error(self) -> Iterator[None]:
        """Discard the whole set if writing fails, so that no later call can commit a part of it."""
        try:
            yield
        except OSError as error:
            self._stop()
            self._failed = True
            raise DataError(f"writing failed: {error.strerror}", file=str(self._files[0])) from error
        except BaseException:
            self._stop()
            self._failed = True
            raise

    def _encode(
        self, draft: StagedSet, rows: Sequence[Mapping[str, Any]]
    ) -> tuple[list[bytes], list[bytes], int]:
        header = draft.shards[0].header
        raw, blob, saved = encode_rows(header.schema, rows, header.index_fields)
        draft.shards[0].check_sizes(raw)
        draft.shards[0].check_sizes(blob)
        return raw, blob, saved

    def _split_over_shards(self, rows: int) -> list[tuple[int, int]]:
        """(shard, rows) in order: equal runs; the remaining rows go to the shards in turn."""
        shards = len(self._files)
        rows_per_shard, odd = divmod(rows, shards)
        extra_shards = {(self._next + n) % shards for n in range(odd)}
        self._next = (self._next + odd) % shards
        return [(number, rows_per_shard + (number in extra_shards)) for number in range(shards)]

    def _write_later(self, draft: StagedSet, raw: list[bytes], blob: list[bytes]) -> None:
        """Submit encoded rows to the thread of the next shard."""
        if not self._pool:
            workers = min(len(self._files), max(2, (os.cpu_count() or 1)), 16)
            self._pool = [
                ThreadPoolExecutor(1, thread_name_prefix="mindrecord-writer") for _ in range(workers)
            ]
        number = self._next
        self._next = (number + 1) % len(self._files)
        worker = self._pool[number % len(self._pool)]
        self._pending.append(worker.submit(draft.shards[number].write, raw, blob))
        while len(self._pending) > _QUEUE * len(self._pool):
            self._await_write(self._pending.pop(0))

    def _await_write(self, future: Future[None]) -> None:
        with self._discard_on_error():
            future.result()

    def _await_writes(self) -> None:
        while self._pending:
            self._await_write(self._pending.pop(0))

    def check_all_worker_status(self) -> None:
        """Raise the first error of the writer threads so far."""
        for future in list(self._pending):
            if future.done():
                self._pending.remove(future)
                self._await_write(future)

    def check_worker_status(self, index: int) -> None:
        """Raise the first error of any writer thread so far; ``index`` is not used."""
        self.check_all_worker_status()

    # --- the end --------------------------------------------------------------------------------------------

    def commit(self) -> MSRStatus:
        """Write headers and indexes, read everything back, and commit the set."""
        if self._committed and not self._appends:
            raise DataError("the set is already committed", file=str(self._files[0]))
        if self._appends and self._draft is None and not self._failed:
            return SUCCESS  # nothing to add
        draft = self._ensure_draft()
        self._await_writes()
        with self._discard_on_error():
            if not self._appends:
                self._refuse_existing()
            draft.commit(crypto.current(), self._checksums)
            if self._remote is not None:
                self._remote.put([path.name for path in self._files])
        self._stop()
        self._committed = True
        return SUCCESS

    def discard(self) -> None:
        """Discard uncommitted rows and remove the temporary files; no effect after ``commit``."""
        self._failed = self._failed or (self._draft is not None and not self._committed)
        self._stop()

    def _stop(self) -> None:
        """Stop the threads and remove uncommitted files."""
        for future in self._pending:
            future.cancel()
        for worker in self._pool:
            worker.shutdown(wait=True)
        self._pool, self._pending = [], []
        draft, self._draft = self._draft, None
        if draft is not None:
            draft.discard()

    # --- appending ------------------------------------------------------------------------------------------

    @classmethod
    def open_for_append(cls, file_name: str | os.PathLike[str]) -> FileWriter:
        """Open an existing set, given by one of its files, to add rows; schema and index are kept.

        >>> writer = FileWriter("grows.mindrecord", overwrite=True)
        >>> _ = (
        ...     writer.add_schema({"n": {"type": "int32"}}),
        ...     writer.write_raw_data([{"n": 1}]),
        ...     writer.commit(),
        ... )
        >>> from millrace.mindrecord import FileReader
        >>> writer = FileWriter.open_for_append("grows.mindrecord")
        >>> _ = writer.write_raw_data([{"n": 2}]), writer.commit()
        >>> [row["n"] for row in FileReader("grows.mindrecord").get_next()]
        [1, 2]
        """
        path: Any = file_name if is_remote(file_name) else checked_name(file_name)
        with MindRecordReader(path, check_index=False) as reader:
            writer = cls(file_name)
            writer.init_append(file_name, reader)
        return writer

    def init_append(self, file_name: str | os.PathLike[str], header: MindRecordReader) -> None:
        """Prepare to append to the set of this reader."""
        if header.version != "3.0":
            text = (
                f"the set has version {header.version}, and rows of 3.0 cannot be added to it; write it anew"
            )
            raise FormatError(text, file=str(file_name))
        self._files = [Path(path) for path in header.files]
        self._checksums = all(sums_path(path).exists() for path in self._files)  # new rows get checksums too
        if self._remote is not None:
            self._files = [self._remote.folder / path.name for path in self._files]
            self._remote.get([path.name for path in self._files])
        self._schema, self._index = header.schema, list(header.index_fields)
        self._appends = True

    def _draft_for_append(self) -> StagedSet:
        # The set may have grown since: open it again for the copy.
        with MindRecordReader([str(path) for path in self._files], check_index=False) as reader:
            return StagedSet.copy_of(reader)


def _refuse_index(names: list[str]) -> None:
    problem = bad_index_fields(names)
    if problem:
        raise MRMAddIndexError(f"these fields cannot be the index: {problem}; call add_index() with others")


export_names(__name__, "mindrecord", "FAILED", "SUCCESS")
