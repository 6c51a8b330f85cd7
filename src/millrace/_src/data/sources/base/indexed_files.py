"""Base of datasets whose rows are byte ranges of files (text, CSV, TFRecord).

A format (lines, CSV records, TFRecords ...) locates the rows of a file and decodes their bytes. Every row is
addressable, so these sources shuffle, sample and resume like arrays in memory. Without a shuffle the order is that of
the files for any number of workers; MindSpore has this order with one worker. A shard is a contiguous range of rows.
All shards have equal length and wrap around at the end, as in MindSpore.
"""

from __future__ import annotations

import glob
import inspect
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, FormatError, PlanError
from millrace._src.core.io.remote import is_remote, remote_exists, remote_glob
from millrace._src.core.random.permutation import Indices
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.core.stable_ids import stable_id
from millrace._src.core.values.chunk import Column
from millrace._src.core.values.columns import VariableLengthColumn
from millrace._src.core.values.schema import ColumnType, Schema
from millrace._src.data.formats.files.byte_ranges import ByteRanges, FileHandles, RowBlock, read_ranges
from millrace._src.data.formats.files.local_copies import LocalCopies
from millrace._src.data.formats.files.offset_index_cache import load_or_scan_offsets
from millrace._src.data.pipeline.serialization import cache_of, can_rebuild, workers_of
from millrace._src.data.pipeline.source_dataset import SourceDataset
from millrace._src.data.sources.source_traits import SourceTraits, with_current_names

from .file_sampler import MODES, FileSampler
from .sampler_arguments import check_shard_options

__all__ = [
    "IndexedFilesDataset",
    "IndexedFilesSource",
    "RowFormat",
    "Mode",
    "ParallelFiles",
    "TrainTest",
    "TrainValidTest",
    "files_for_usage",
    "find_files",
    "texts",
]


def texts(*names: str, shape: tuple[int | None, ...] = ()) -> dict[str, ColumnType]:
    """Columns of text."""
    return {name: ColumnType(np.dtype("U"), shape) for name in names}


class RowFormat(Protocol):
    """Locates the rows of a file and decodes their bytes."""

    @property
    def scan_id(self) -> str:
        """Identifier of the scan and its parameters, for the index cache."""

    def scan(self, path: str) -> ByteRanges: ...

    def rows(self, block: RowBlock) -> dict[str, Column]: ...


# --- arguments --------------------------------------------------------------------------------------------------


class _IsShuffleMode:
    def check(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, (bool, Shuffle)):
            raise ArgumentTypeError(
                "shuffle must be of boolean or enum of 'Shuffle' values like 'Shuffle.ADAPTIVE' or "
                "'Shuffle.GLOBAL' or 'Shuffle.PARTIAL' or 'Shuffle.FILES' or 'Shuffle.INFILE'."
            )


Mode = Annotated[Any, _IsShuffleMode()]
TrainTest = Literal["train", "test", "all"] | None
TrainValidTest = Literal["train", "valid", "test", "all"] | None


def find_files(patterns: str | list[str]) -> list[str]:
    """Expand file names and patterns; one without a match is refused."""
    files, missing = [], []
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        if is_remote(pattern):
            matches = [pattern] if remote_exists(pattern) else remote_glob(pattern)
        else:
            matches = [name for name in glob.glob(pattern, recursive=True) if os.path.isfile(name)]
        files += sorted(matches)
        if not matches:
            missing.append(pattern)
    if missing:
        raise ArgumentValueError(f"The following patterns did not match any files: {missing}.")
    return files


def files_for_usage(folder: str, usage: str | None, names: Mapping[str, str]) -> list[str]:
    """The files of one usage, or of all usages in the order of ``names``."""
    chosen = names.values() if usage in (None, "all") else [names[str(usage)]]
    return [os.path.join(folder, name) for name in chosen]


# --- the source -------------------------------------------------------------------------------------------------

# Files with corresponding rows (two for a translation), each with its format.
ParallelFiles = Sequence[tuple[str, RowFormat]]


@stable_id("source.FilesSource")
class IndexedFilesSource(SourceTraits):
    """Source of the rows of files in sequence."""

    concat_shard = "own"
    is_file_backed = True

    def __init__(
        self,
        name: str,
        parts: Sequence[ParallelFiles],
        columns: Mapping[str, ColumnType],
        arguments: Mapping[str, Any],
    ) -> None:
        self.name, self.parts = name, [tuple(part) for part in parts]
        self._schema = Schema(columns)
        self._arguments = dict(arguments)
        self._ranges: list[tuple[ByteRanges, ...]] | None = None
        self.copies = LocalCopies()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        # without this, each worker would download a separate copy
        self.copies.fetch(path for part in self.parts for path, _ in part)
        return vars(self) | {"_lock": None, "_ranges": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = with_current_names(state, {"_found": "_ranges"})  # of version 0.2.0
        vars(self).update(state, _lock=threading.Lock())

    def schema(self) -> Schema:
        return self._schema

    def spans(self) -> list[tuple[ByteRanges, ...]]:
        """Byte ranges of the rows, located on the first call."""
        with self._lock:
            if self._ranges is None:
                self.copies.fetch(path for part in self.parts for path, _ in part)
                self._ranges = [self._spans(part) for part in self.parts]
            return self._ranges

    def _spans(self, part: ParallelFiles) -> tuple[ByteRanges, ...]:
        for path, _ in part:
            if not os.path.isfile(self.copies.path(path)):
                raise PlanError(
                    f"{self.name}: dataset file: [{path}] is invalid or does not exist. Check that the files of the "
                    "data set have been unpacked into the folder given, under their usual names."
                )
        ranges = tuple(self._scan_file(path, form) for path, form in part)
        paired = any(getattr(form, "blank_together", False) for _, form in part)
        if paired:  # trailing empty lines of one file have no counterpart in the other
            least = min(map(len, ranges))
            ranges = tuple(
                spans
                if (spans.stops > spans.starts)[least:].any()
                else ByteRanges(spans.starts[:least], spans.stops[:least])
                for spans in ranges
            )
        sizes = {path: len(spans) for (path, _), spans in zip(part, ranges)}
        if len(set(sizes.values())) > 1:
            shown = " and ".join(f"{path} has {size}" for path, size in sizes.items())
            raise FormatError(
                f"{self.name}: paired files differ in their numbers of rows: {shown}. Line n of one file must "
                "correspond to line n of the other. Find the first line that does not correspond",
                file=part[0][0],
            )
        if paired:
            full = np.logical_or.reduce([spans.stops > spans.starts for spans in ranges])
            ranges = tuple(ByteRanges(spans.starts[full], spans.stops[full]) for spans in ranges)
        return ranges

    def _scan_file(self, path: str, form: RowFormat) -> ByteRanges:
        if not is_remote(path):
            return load_or_scan_offsets(path, form.scan_id, form.scan)
        copy = self.copies.path(path)
        try:
            return form.scan(copy)
        except FormatError as error:
            raise FormatError(error.message.replace(copy, path), file=path) from error

    def sizes(self) -> list[int]:
        """Rows of each file."""
        return [len(ranges[0]) for ranges in self.spans()]

    def row_bytes(self) -> int:
        """Average size of a row in its file in bytes."""
        total = sum(int(s.stops[-1]) for ranges in self.spans() for s in ranges if len(s))
        return total // max(1, sum(self.sizes()))

    def size(self) -> int:
        size = sum(self.sizes())
        if not size:
            files = " ".join(path for part in self.parts for path, _ in part)
            raise PlanError(
                f"Invalid data, {self.name} API can't read the data file (interface mismatch or no data found). "
                f"Check file path: {files}"
            )
        return size

    def open(self) -> IndexedFilesReader:
        return IndexedFilesReader(self)

    def labels(self, column: str) -> npt.NDArray[Any]:
        if column not in self._schema:
            raise PlanError(
                f"PKSampler needs the class of every row: there is no column {column!r}, the columns are "
                f"{list(self._schema)}; name one with PKSampler(class_column=...)"
            )
        reader = self.open()
        try:
            return np.asarray(reader.read(np.arange(self.size(), dtype=np.int64))[column])
        finally:
            reader.close()

    def row_location(self, index: int) -> str | None:
        number = int(np.searchsorted(np.cumsum(self.sizes()), index, "right"))
        return self.parts[number][0][0] if number < len(self.parts) else None

    def arguments(self) -> dict[str, Any]:
        return self._arguments


class IndexedFilesReader:
    """Reader of a source: rows are read file by file, with neighbouring rows in one read."""

    def __init__(self, source: IndexedFilesSource) -> None:
        self.parts, self.spans = source.parts, source.spans()
        self.ends = np.cumsum(source.sizes())
        self.names = list(source.schema())
        self.handles = FileHandles(source.copies.path)

    def read(self, indices: Indices) -> dict[str, Column]:
        numbers = np.searchsorted(self.ends, indices, "right")
        if not len(numbers) or numbers.min() == numbers.max():
            return self._read_file(int(numbers[0]) if len(numbers) else 0, indices)
        present = np.unique(numbers).tolist()
        positions = [np.flatnonzero(numbers == number) for number in present]
        blocks = [
            self._read_file(number, indices[part_positions])
            for number, part_positions in zip(present, positions)
        ]
        back = np.argsort(np.concatenate(positions), kind="stable")
        return {name: _merged([block[name] for block in blocks], back) for name in self.names}

    def _read_file(self, number: int, indices: Indices) -> dict[str, Column]:
        base = int(self.ends[number]) - len(self.spans[number][0])
        rows = indices - base
        columns: dict[str, Column] = {}
        for (path, form), spans in zip(self.parts[number], self.spans[number]):
            starts, stops = spans.starts[rows], spans.stops[rows]
            block = read_ranges(self.handles, path, starts, stops, rows, getattr(form, "opener", None))
            try:
                columns |= form.rows(block)
            except FormatError as error:
                if hasattr(error, "row_index"):
                    error.row_index += base
                raise
        return {name: columns[name] for name in self.names}

    def close(self) -> None:
        self.handles.close()


def _merged(columns: list[Column], back: Indices) -> Column:
    """Merge the columns of several files in the order of the requested rows."""
    first = columns[0]
    if isinstance(first, np.ndarray) and all(
        isinstance(c, np.ndarray)
        and c.shape[1:] == first.shape[1:]
        and (c.dtype == first.dtype or c.dtype.kind == first.dtype.kind == "U")
        for c in columns
    ):
        return np.concatenate(columns)[back]
    if isinstance(first, VariableLengthColumn) and all(first.can_concat(c) for c in columns):
        return first.concat(columns).take(back)
    values = [value for column in columns for value in _values(column)]
    return [values[i] for i in back.tolist()]


def _values(column: Column) -> list[Any]:
    if not isinstance(column, np.ndarray):
        return list(column)
    if column.dtype.kind == "U":
        return [np.asarray(value) for value in column]
    return [column[i, ...] for i in range(len(column))]


# --- the dataset ------------------------------------------------------------------------------------------------


class IndexedFilesDataset(SourceDataset):
    """Base of datasets over files: builds an IndexedFilesSource from the common arguments."""

    _source_class: ClassVar[type[IndexedFilesSource]] = IndexedFilesSource

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        can_rebuild(cls, lambda saved: _rebuild(cls, saved))

    def _open_files(
        self,
        parts: Sequence[ParallelFiles],
        columns: Mapping[str, ColumnType],
        arguments: Mapping[str, Any],
        shared: Mapping[str, Any],
        by_files: bool = False,
    ) -> None:
        """``arguments`` are the ``locals()`` of the constructor, ``shared`` the shared arguments."""
        parameters = inspect.signature(type(self)).parameters
        options = {name: shared.get(name) for name in ("num_samples", "shuffle", "num_shards", "shard_id")}
        num_shards, shard_id = options["num_shards"], options["shard_id"]
        check_shard_options(num_shards, shard_id)
        mode = options["shuffle"]
        mode = Shuffle.GLOBAL if mode is None or mode is True else Shuffle.FALSE if mode is False else mode
        constructor_arguments = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in arguments.items()
            if name in parameters and name not in ("cache", "num_parallel_workers", *options)
        }
        shown = constructor_arguments | {
            "num_samples": options["num_samples"] or 0,
            "shuffle": MODES.index(mode.value),
            "num_shards": num_shards or 1,
            "shard_id": shard_id or 0,
        }
        source = self._source_class(type(self).__name__, parts, columns, shown)
        sampler = FileSampler(
            source, mode, options["num_samples"] or None, num_shards or 1, shard_id or 0, by_files
        )
        self._init_source(source, sampler, shared.get("num_parallel_workers"), shared.get("cache"))

    def _open_each(
        self,
        paths: Sequence[str],
        form: RowFormat,
        columns: Mapping[str, ColumnType],
        arguments: Mapping[str, Any],
        shared: Mapping[str, Any],
    ) -> None:
        """Open files of one format."""
        self._open_files([[(path, form)] for path in paths], columns, arguments, shared)


def _rebuild(cls: type[IndexedFilesDataset], saved: dict[str, Any]) -> IndexedFilesDataset:
    parameters = inspect.signature(cls).parameters
    arguments = {
        name: value for name, value in saved.items() if name in parameters and name != "num_parallel_workers"
    }
    arguments |= workers_of(saved) | cache_of(saved)
    mode = MODES[arguments["shuffle"]]
    arguments["shuffle"] = {"false": False, "global": True}.get(mode, Shuffle(mode))
    arguments["num_samples"] = arguments["num_samples"] or None
    if arguments["num_shards"] == 1:
        del arguments["num_shards"], arguments["shard_id"]
    return cls(**arguments)
