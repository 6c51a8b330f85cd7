"""``MindDataset``: rows of MindRecord files."""

from __future__ import annotations

import glob
import os
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.io.remote import RemotePath, is_remote, remote_exists, remote_glob
from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.core.stable_ids import stable_id
from millrace._src.core.values.chunk import Column
from millrace._src.core.values.schema import ColumnType, Schema
from millrace._src.data.formats.mindrecord import Cipher, MindRecordReader
from millrace._src.data.formats.mindrecord.file_names import bad_character
from millrace._src.data.pipeline.argument_types import CacheArgument, NumSamples, NumWorkers
from millrace._src.data.pipeline.serialization import cache_of, can_rebuild, workers_of
from millrace._src.data.pipeline.source_dataset import SourceDataset
from millrace._src.data.samplers import (
    BuiltinSampler,
    DistributedSampler,
    PKSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
    sampler_from_dict,
)
from millrace._src.data.sources.source_traits import SourceTraits, with_current_names

from . import save as _save  # noqa: F401  (registers the file types of dataset.save())
from .base.mindrecord_reader import MindRecordBlockReader, padded_values
from .base.record_sampler import RecordSampler
from .base.sampler_arguments import check_sampler_alone, check_shard_options

__all__ = ["MindDataset", "MindRecordSource", "shuffle_mode"]

_SAMPLERS = (
    SubsetRandomSampler, SubsetSampler, PKSampler, DistributedSampler, RandomSampler, SequentialSampler,
)  # fmt: skip
_MODES = (Shuffle.FILES, Shuffle.INFILE, Shuffle.PARTIAL, Shuffle.ADAPTIVE)


@stable_id("source.RecordSource")
class MindRecordSource(SourceTraits):
    """The rows of a set of MindRecord files, followed by padded samples; each process opens the files."""

    concat_shard = "run"

    def __init__(
        self,
        files: str | list[str] | list[RemotePath],
        columns: list[str] | None,
        padded_sample: dict[str, Any] | None = None,
        num_padded: int = 0,
        name: str = "MindDataset",
    ) -> None:
        self.name, self.files = name, files
        names = [files] if isinstance(files, str) else files
        self.is_file_backed = all(isinstance(name, str) and "://" not in name for name in names)
        with MindRecordReader(files) as reader:
            self.cipher: Cipher = reader.cipher
            self.sizes = list(reader.shard_sizes)
            self.rows, self.num_padded = len(reader), num_padded
            self.row_bytes = reader.row_bytes
            self.fields = reader.schema
            self.index_fields = reader.index_fields
        self.columns = self._choose_columns(columns)
        self.padding = padded_values(self.fields, self.columns, padded_sample) if num_padded else {}
        self._labels: dict[str, npt.NDArray[Any]] = {}

    def _first_file(self) -> str:
        return str(self.files if isinstance(self.files, str) else self.files[0])

    def _choose_columns(self, columns: list[str] | None) -> list[str]:
        if not columns:
            return self.fields.names
        for name in columns:
            if name not in self.fields.names:
                raise PlanError(
                    f"Invalid data, column name: {name} can not found in schema. Please check the "
                    f"'column_list'. The columns are {self.fields.names}, of {self._first_file()}."
                )
        if len(set(columns)) != len(columns):
            twice = next(name for name in columns if columns.count(name) > 1)
            raise PlanError(
                f"{self.name}: 'columns_list' : Invalid parameter, duplicate column names are not allowed: "
                + twice
            )
        return list(columns)

    def schema(self) -> Schema:
        return Schema({name: self._column_type(name) for name in self.columns})

    def _column_type(self, name: str) -> ColumnType:
        field = self.fields[name]
        if field.type == "bytes":
            return ColumnType(None, (1,))
        if field.type == "string":
            return ColumnType(None, ())
        shape = tuple(None if size == -1 else size for size in field.shape or ())
        return ColumnType(np.dtype(field.type), shape)

    def size(self) -> int:
        return self.rows + self.num_padded

    def open(self) -> MindRecordBlockReader:
        return MindRecordBlockReader(self._reader(), self.columns, self.padding)

    def _reader(self) -> MindRecordReader:
        return MindRecordReader(self.files, check_index=False, cipher=self.cipher)

    def labels(self, column: str) -> npt.NDArray[Any]:
        if column not in self.fields.names or self.fields[column].is_blob:
            scalars = [field.name for field in self.fields.raw]
            raise PlanError(
                f"Invalid data, 'class_column': {column} can not found in fields of mindrecord files. Please "
                f"check 'class_column' in PKSampler. The fields it can sample by are {scalars}."
            )
        if column not in self._labels:
            with self._reader() as reader:
                labels = np.asarray(reader.column(column))
            if self.num_padded:
                last = self.padding[column] if column in self.padding else labels[-1:]
                labels = np.concatenate([labels, np.full(self.num_padded, last)])
            self._labels = {column: labels}  # needed again in every epoch
        return self._labels[column]

    def row_location(self, index: int) -> str | None:
        if index >= self.rows:
            return "a padded sample, from no file"
        with self._reader() as reader:
            return reader.where(index)

    def arguments(self) -> dict[str, Any]:
        files = self.files if isinstance(self.files, str) else list(map(str, self.files))
        arguments: dict[str, Any] = {"dataset_files": files, "columns_list": self.columns}
        arguments["keeps_sampler"] = True
        return arguments | ({"num_padded": self.num_padded} if self.num_padded else {})

    def contents(self) -> dict[str, Any]:
        """The padded sample, which is in no file."""
        return self.padding

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"cipher": self.cipher.state(), "_labels": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = with_current_names(state, {"reopens": "is_file_backed"})  # of version 0.2.0
        self.__dict__.update(state, cipher=Cipher.from_state(state["cipher"]))


@public("dataset")
class MindDataset(SourceDataset):
    """Rows of MindRecord files, written by Millrace or MindSpore.

    A file name selects the whole set of the file; a list (or a pattern such as ``"train*.mindrecord"``) selects exactly
    those files. The files may have any fsspec address, for example ``s3://``. Rows are shuffled by default; see
    :class:`Shuffle` for the modes. Without a shuffle a shard takes every ``num_shards``-th row, or a contiguous range
    if the environment has ``MS_DEV_MINDRECORD_SHARD_BY_BLOCK=True``. ``bytes`` are arrays of one element of dtype
    ``S``; their ``tobytes()`` returns the written bytes.

    >>> import millrace.dataset as ds
    >>> from millrace.mindrecord import FileWriter
    >>> writer = FileWriter("digits.mindrecord", overwrite=True)
    >>> _ = writer.add_schema({"label": {"type": "int32"}, "data": {"type": "bytes"}})
    >>> _ = writer.write_raw_data([{"label": n, "data": b"x" * (n + 1)} for n in range(4)])
    >>> _ = writer.commit()
    >>> from millrace._src.data.sources.mindrecord import MindDataset
    >>> data = MindDataset("digits.mindrecord", columns_list=["label"], shuffle=False)
    >>> [row[0].item() for row in data]
    [0, 1, 2, 3]
    """

    @checked
    def __init__(
        self,
        dataset_files: Any,
        columns_list: list[Any] | None = None,
        num_parallel_workers: Annotated[int | None, NumWorkers] = None,
        shuffle: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        sampler: Any = None,
        padded_sample: dict[Any, Any] | None = None,
        num_padded: int | None = None,
        num_samples: Annotated[int | None, NumSamples] = None,
        cache: Annotated[Any, CacheArgument()] = None,
    ) -> None:
        files = _check_files(dataset_files)
        _check_sampling(sampler, shuffle, num_shards, shard_id, num_samples)
        _check_padding(padded_sample, num_padded, columns_list)
        mode = shuffle_mode(shuffle)
        if num_samples and mode in (Shuffle.FILES, Shuffle.INFILE):
            raise ArgumentValueError(
                "'Shuffle.FILES' or 'Shuffle.INFILE' and 'num_samples' cannot be specified at the same time."
            )
        if sampler is not None and not isinstance(sampler, _SAMPLERS):
            raise ArgumentValueError("The sampler is not supported yet.")
        source = MindRecordSource(files, columns_list, padded_sample, num_padded or 0)
        shards = num_shards or int(getattr(sampler, "num_shards", 1))
        if source.num_padded and source.size() % shards:
            raise PlanError(
                f"Invalid data, the size of dataset and padded samples: {source.size()} can not be divisible "
                f"by the value of 'num_shards': {shards}. Please adjust the value of 'num_padded'."
            )
        if sampler is None:
            chosen: BuiltinSampler = RecordSampler(
                mode,
                source.sizes,
                source.row_bytes,
                num_samples or None,
                num_shards or 1,
                shard_id or 0,
                _by_block(),
            )
        else:
            chosen = _with_file_order(sampler, source)
        self._init_source(source, chosen, num_parallel_workers, cache)

    def __getitem__(self, index: int) -> list[Any]:
        """The row at a position of the dataset's order, one array per column."""
        check_type(index, (int,), "index")
        if index < 0:
            raise ArgumentValueError(f"index cannot be negative, but got {index}.")
        size = self._known_size() or 0
        if index >= size:
            raise PlanError(
                f"Input index is not within the required interval of [0, {size - 1}], but got {index}."
            )
        reader = self._source.open()
        try:
            row: dict[str, Column] = reader.read(np.array([self._row_at(index)], np.int64))
        finally:
            reader.close()
        return [column[0, ...] if isinstance(column, np.ndarray) else column[0] for column in row.values()]


def _check_files(files: Any) -> str | list[str]:
    """Check dataset_files and expand patterns: one name, or a list of names."""
    if isinstance(files, os.PathLike):
        files = os.fspath(files)
    if isinstance(files, str) and any(mark in os.path.basename(files) for mark in "*?["):
        matches = remote_glob(files) if is_remote(files) else sorted(glob.glob(files))
        matches = [
            name for name in matches if not name.endswith((".db", ".crc")) and not name.startswith(".")
        ]
        if not matches:
            raise ArgumentValueError(f"The file {files} does not exist or permission denied!")
        return matches
    if isinstance(files, list):
        if not files:
            raise PlanError("MindDataset: dataset files list is empty, check input dataset_files.")
        return [_check_file(os.fspath(name) if isinstance(name, os.PathLike) else name) for name in files]
    return _check_file(files)


def _check_file(name: Any) -> str:
    if not isinstance(name, str):
        raise ArgumentTypeError(f"path: {name} is not string")
    if is_remote(name):
        if not remote_exists(name):
            raise ArgumentValueError(f"The file {name} does not exist or permission denied!")
        return name
    base = os.path.basename(os.path.realpath(name))
    bad = bad_character(base)
    if bad is not None:
        raise ArgumentValueError(
            f"filename should not contain \\/:*?\\\"<>|`&;\\': {name!r} has the character {bad!r} in it"
        )
    if base != base.strip(" "):
        raise ArgumentValueError(f"filename should not start/end with space: {name!r}.")
    if not os.path.isfile(name) or not os.access(name, os.R_OK):
        raise ArgumentValueError(f"The file {os.path.realpath(name)} does not exist or permission denied!")
    return name


def shuffle_mode(shuffle: Any) -> Shuffle:
    """The Shuffle mode for True, False, None or a mode."""
    if shuffle is None or shuffle is True:
        return Shuffle.ADAPTIVE
    if shuffle is False:
        return Shuffle.FALSE
    if isinstance(shuffle, Shuffle):
        return shuffle
    raise ArgumentTypeError(
        "shuffle must be of boolean or enum of 'Shuffle' values like 'Shuffle.ADAPTIVE' or 'Shuffle.GLOBAL' "
        "or 'Shuffle.PARTIAL' or 'Shuffle.FILES' or 'Shuffle.INFILE'."
    )


def _check_sampling(
    sampler: Any, shuffle: Any, num_shards: int | None, shard_id: int | None, num_samples: int | None
) -> None:
    check_sampler_alone(sampler, num_samples, shuffle, num_shards, shard_id)
    check_shard_options(num_shards, shard_id)


def _check_padding(
    padded_sample: dict[str, Any] | None, num_padded: int | None, columns_list: list[str] | None
) -> None:
    if padded_sample is None:
        if num_padded is not None:
            raise PlanError("num_padded is specified but padded_sample is not.")
        return
    if num_padded is None:
        raise PlanError("padded_sample is specified and requires num_padded as well.")
    if num_padded < 0:
        raise ArgumentValueError(f"num_padded is invalid, num_padded={num_padded}.")
    if columns_list is None:
        raise PlanError("padded_sample is specified and requires columns_list as well.")
    if any(name not in padded_sample for name in columns_list):
        raise ArgumentValueError("padded_sample cannot match columns_list.")


def _with_file_order(sampler: BuiltinSampler, source: MindRecordSource) -> BuiltinSampler:
    """The sampler itself, or one with the file sizes if the shuffle mode needs them."""
    if isinstance(sampler, SequentialSampler) and sampler.get_child() is None:
        return sampler.allow_empty()
    mode = sampler.get_shuffle_mode()
    if (
        isinstance(sampler, DistributedSampler)
        and _by_block()
        and sampler.offset < 0
        and not sampler.get_child()
    ):
        number = sampler.num_samples, sampler.num_shards, sampler.shard_id
        return RecordSampler(mode, source.sizes, source.row_bytes, *number, by_block=True)
    if mode not in _MODES or sampler.get_child() is not None:
        alone = mode is Shuffle.FALSE and sampler.get_child() is None
        if isinstance(sampler, DistributedSampler) and sampler.offset >= 0 and alone:
            return sampler.as_contiguous()  # with an offset MindSpore gives each shard neighbours
        return sampler
    file_sampler = RecordSampler(mode, source.sizes, source.row_bytes, sampler.num_samples)
    if isinstance(sampler, DistributedSampler):
        plain = DistributedSampler(
            sampler.num_shards, sampler.shard_id, False, sampler.num_samples, sampler.offset
        )
        file_sampler.num_samples = None
        plain.add_child(file_sampler)
        return plain
    if getattr(sampler, "replacement", False):
        raise ArgumentValueError(f"replacement=True samples from all rows: it cannot be combined with {mode}")
    return file_sampler


def _by_block() -> bool:
    """MindSpore's switch for contiguous instead of strided shards."""
    return os.environ.get("MS_DEV_MINDRECORD_SHARD_BY_BLOCK", "").lower() == "true"


def _rebuild(saved: dict[str, Any]) -> MindDataset:
    if saved.get("num_padded"):
        raise PlanError("Invalid data, a MindDataset with padded samples cannot be rebuilt from JSON")
    sampler = saved.get("sampler") or {}
    if sampler.get("sampler_name") == RecordSampler.__name__:
        names = ("num_shards", "shard_id")
        options = {name: sampler[name] for name in names if name in sampler}
        options |= {"shuffle": Shuffle(sampler["shuffle"]), "num_samples": sampler["num_samples"] or None}
    else:
        options = {"sampler": sampler_from_dict(sampler)} if sampler else {}
    return MindDataset(
        saved["dataset_files"], saved["columns_list"], **options, **workers_of(saved), **cache_of(saved)
    )


can_rebuild(MindDataset, _rebuild)
