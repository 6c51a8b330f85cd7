"""Base of datasets over a table of columns, such as folders of image files."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.args import check_type
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.io.remote import is_remote
from millrace._src.core.progress_bar import progress
from millrace._src.core.random.permutation import Indices
from millrace._src.core.stable_ids import stable_id
from millrace._src.core.values.chunk import Column
from millrace._src.core.values.schema import ColumnType, Schema
from millrace._src.data.formats.column_readers import ColumnReader, FileBytesColumn
from millrace._src.data.formats.files.file_list import SHOW_AFTER, FileList, list_directories, list_files
from millrace._src.data.pipeline.argument_types import CacheArgument
from millrace._src.data.pipeline.argument_types import NumSamples as Samples
from millrace._src.data.pipeline.argument_types import NumWorkers as Workers
from millrace._src.data.pipeline.serialization import cache_of, can_rebuild, workers_of
from millrace._src.data.pipeline.source_dataset import SourceDataset
from millrace._src.data.samplers import sampler_from_dict
from millrace._src.data.sources.source_traits import SourceTraits, with_current_names

from .sampler_arguments import check_sampler_alone, check_shard_options, resolve_sampler

__all__ = [
    "INT32",
    "TEXT",
    "UINT32",
    "Cache",
    "Decrypt",
    "Folder",
    "NumSamples",
    "NumWorkers",
    "ColumnReader",
    "ColumnTable",
    "TableDataset",
    "check_readable",
    "class_folders",
    "image_type",
    "column_type",
    "image_column",
]


class _Folder:
    def check(self, name: str, value: Any) -> None:
        if is_remote(value):
            return  # listed when the first row is read: remote folders need requests
        if not os.path.isdir(value) or not os.access(value, os.R_OK):
            raise ArgumentValueError(
                f"The folder {value} does not exist or is not a directory or permission denied!"
            )


class _Decrypt:
    def check(self, name: str, value: Any) -> None:
        if not callable(value):
            raise ArgumentTypeError(f"Argument decrypt is not a callable object, but got {type(value)}")


Folder = Annotated[str, _Folder()]
NumSamples = Annotated[int | None, Samples]
NumWorkers = Annotated[int | None, Workers]
Cache = Annotated[Any, CacheArgument()]
Decrypt = Annotated[Any, _Decrypt()]

UINT32, INT32 = ColumnType(np.dtype(np.uint32), ()), ColumnType(np.dtype(np.int32), ())
TEXT = ColumnType(np.dtype(np.str_), ())


def column_type(dtype: Any, *shape: int | None) -> ColumnType:
    return ColumnType(np.dtype(dtype), shape)


def image_type(decode: bool | None) -> ColumnType:
    """The type of a column of image files: their bytes, or RGB pixels."""
    return column_type(np.uint8, None, None, 3) if decode else column_type(np.uint8, None)


def check_readable(path: str) -> None:
    """Refuse a file that is missing or not readable."""
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        raise ArgumentValueError(f"The file {os.path.realpath(path)} does not exist or permission denied!")


def image_column(
    files: Any,
    decode: bool | None,
    decrypt: Callable[[str], Any] | None = None,
    listed: str | None = None,
) -> FileBytesColumn:
    """A column of image files, decoded as by ``vision.Decode``. ``listed``: the list file with their paths."""
    return FileBytesColumn(files, _decode if decode else None, decrypt, listed)


def _decode(data: npt.NDArray[np.uint8]) -> Any:
    from millrace._src.data.kernels.vision.decode import decode

    return decode(data)


class ColumnTable:
    """The rows of a source: a column reader per column, and the classes (or why there are none).

    ``labels`` returns the class of every row if no column has the usual name.
    """

    def __init__(
        self,
        size: int,
        parts: Mapping[str, ColumnReader],
        classes: dict[str, Any] | str | None = None,
        num_classes: int | None = None,
        labels: Callable[[], npt.NDArray[Any]] | None = None,
    ) -> None:
        self.size, self.parts, self.classes, self.num_classes = size, dict(parts), classes, num_classes
        self.labels = labels

    def read(self, indices: Indices) -> dict[str, Column]:
        return {name: part.read(indices) for name, part in self.parts.items()}

    def close(self) -> None: ...


class TableSource(SourceTraits):
    """A source whose table is built once on first use, and then pickled to worker processes."""

    is_file_backed = True

    def __init__(
        self, name: str, make: partial[ColumnTable], columns: Mapping[str, ColumnType], heavy: bool
    ) -> None:
        self.name, self.make, self.columns, self.is_expensive = name, make, dict(columns), heavy
        self._table: ColumnTable | None = None
        self._lock = threading.Lock()

    @property
    def decoded_columns(self) -> tuple[str, ...]:  # type: ignore[override]
        # a user's decrypt function is called once per row, also after errors
        if not self.is_expensive or self.make.keywords.get("decrypt") is not None:
            return ()
        return tuple(name for name, column in self.columns.items() if column == image_type(True))

    def without_decode(self, columns: tuple[str, ...]) -> UndecodedSource:
        return UndecodedSource(self, columns)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = with_current_names(state, {"heavy": "is_expensive"})  # of version 0.2.0
        vars(self).update(state, _lock=threading.Lock())

    def schema(self) -> Schema:
        return Schema(self.columns)

    def open(self) -> ColumnTable:
        with self._lock:
            if self._table is None:
                table = self.make()
                if table.size == 0:
                    raise PlanError(
                        f"Invalid data, {self.name} API can't read the data file (interface mismatch or no data "
                        f"found). Check {self._where()}"
                    )
                self._table = table
            return self._table

    def _where(self) -> str:
        keywords = self.make.keywords
        shown = [f"{key}={keywords[key]!r}" for key in keywords if isinstance(keywords[key], str)]
        return ", ".join(shown)

    def size(self) -> int:
        return self.open().size

    def labels(self, column: str) -> npt.NDArray[Any]:
        table = self.open()
        part = table.parts.get(column)
        if part is None and table.labels is not None:
            return table.labels()
        find = getattr(part, "all", None)
        labels = None if find is None else find()
        if labels is None:
            raise PlanError(
                f"PKSampler needs the class of every row: {self.name} has none in column {column!r} (columns: "
                f"{list(self.columns)}); name the column of the classes with PKSampler(class_column=...)"
            )
        return np.asarray(labels)

    def row_location(self, index: int) -> str | None:
        paths = (part.where(index) for part in self.open().parts.values())
        return next((path for path in paths if path is not None), None)

    def class_indexing(self) -> dict[str, Any]:
        classes = self.open().classes or {}
        if isinstance(classes, str):
            raise NotImplementedError(classes)
        return classes

    def num_classes(self) -> int | None:
        return self.open().num_classes

    def arguments(self) -> dict[str, Any]:
        keywords = {key: value for key, value in self.make.keywords.items() if not callable(value)}
        return keywords | {"keeps_sampler": True}

    def contents(self) -> dict[str, Any]:
        """Functions of the user that produce rows, such as a decrypt function."""
        return {key: value for key, value in self.make.keywords.items() if callable(value)}


@stable_id("source.EncodedSource")
class UndecodedSource:
    """A source with the same table, of which some columns stay encoded."""

    def __init__(self, source: TableSource, encoded: tuple[str, ...]) -> None:
        self._source, self._encoded = source, encoded

    def open(self) -> ColumnTable:
        table = self._source.open()
        parts = {
            name: part.encoded() if name in self._encoded and isinstance(part, FileBytesColumn) else part
            for name, part in table.parts.items()
        }
        return ColumnTable(table.size, parts)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # unpickling accesses attributes before there is a source
            raise AttributeError(name)
        return getattr(self._source, name)


class TableDataset(SourceDataset):
    """Base of datasets over a table: builds source and sampler from the common arguments."""

    def __init_subclass__(cls) -> None:
        can_rebuild(cls, partial(_rebuild, cls))

    def _open(
        self, make: partial[ColumnTable], columns: Mapping[str, ColumnType], arguments: Mapping[str, Any]
    ) -> None:
        """``arguments`` has the shared arguments of the constructor and may have others."""
        names = ("num_samples", "shuffle", "num_shards", "shard_id")
        num_samples, shuffle, num_shards, shard_id = (arguments[name] for name in names)
        sampler = arguments.get("sampler")
        check_sampler_alone(sampler, num_samples, shuffle, num_shards, shard_id)
        check_shard_options(num_shards, shard_id)
        chosen = resolve_sampler(sampler, num_samples, shuffle, num_shards, shard_id)
        source = TableSource(type(self).__name__, make, columns, heavy=bool(arguments.get("decode")))
        self._init_source(source, chosen, arguments["num_parallel_workers"], arguments.get("cache"))


def _rebuild(cls: Callable[..., TableDataset], saved: dict[str, Any]) -> TableDataset:
    parameters = inspect.signature(cls).parameters
    arguments = {
        name: value for name, value in saved.items() if name in parameters and name not in _NOT_AS_SAVED
    }
    sampler = saved.get("sampler")
    if sampler is not None:
        arguments |= {"sampler": sampler_from_dict(sampler)} if "sampler" in parameters else _options(sampler)
    return cls(**arguments | workers_of(saved) | cache_of(saved))


def _options(sampler: dict[str, Any]) -> dict[str, Any]:
    """The arguments that produce this sampler, for datasets without a sampler argument."""
    shuffled = sampler.get("sampler_name") == "RandomSampler" or bool(sampler.get("shuffle_mode"))
    shards = {name: sampler[name] for name in ("num_shards", "shard_id") if name in sampler}
    return {"num_samples": sampler.get("num_samples") or None, "shuffle": shuffled} | shards


_NOT_AS_SAVED = ("sampler", "num_samples", "shuffle", "num_shards", "shard_id", "num_parallel_workers")


def class_folders(
    root: str, extensions: list[str] | None = None, chosen: Mapping[str, int] | None = None
) -> tuple[FileList, npt.NDArray[np.int32], dict[str, int]]:
    """The files of each folder below the root, the class number of each file, and the class numbers by folder."""
    check_type(root, (str,), "dataset_dir")
    numbers = chosen or {os.fsdecode(name): n for n, name in enumerate(list_directories(root))}
    files, labels = FileList(root), []
    with progress(f"listing {root}", after=SHOW_AFTER) as shown:
        for name in sorted(numbers, key=os.fsencode):
            folder = os.path.join(root, name)
            if not is_remote(folder) and not os.path.isdir(folder):
                raise PlanError(f"class_indexing names the class {name!r}, but there is no folder {folder}")
            count = files.extend(name, list_files(folder, extensions, shown))
            labels.append(np.full(count, numbers[name], np.int32))
    return files, np.concatenate([np.zeros(0, np.int32), *labels]), dict(numbers)
