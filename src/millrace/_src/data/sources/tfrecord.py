"""``TFRecordDataset``: ``tf.train.Example`` records of TFRecord files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.core.values.schema import ColumnType
from millrace._src.core.values.schema import Schema as PlanSchema
from millrace._src.data.formats.files.byte_ranges import FileHandles
from millrace._src.data.formats.tfrecord.example_columns import ExampleFormat, FeatureSpec, first_example
from millrace._src.data.formats.tfrecord.record_file import TAIL
from millrace._src.data.pipeline.schema import Schema, read_schema_file

from .base.argument_types import column_types
from .base.indexed_files import IndexedFilesDataset, IndexedFilesSource, Mode, find_files
from .base.sampler_arguments import check_shard_options
from .base.table_dataset import Cache, NumSamples, NumWorkers

__all__ = ["TFRecordDataset"]


class ExampleSource(IndexedFilesSource):
    """Source of Examples in files. Without a schema the columns are those of the first record."""

    wanted: list[str] | None = None
    described: dict[str, FeatureSpec] | None = None
    _known: PlanSchema | None = None

    def schema(self) -> PlanSchema:
        if self._known is None:
            form = self.parts[0][0][1]
            assert isinstance(form, ExampleFormat)
            columns = self.described or self._first_record_columns(form)
            for name in self.wanted or ():
                if name not in columns:
                    raise PlanError(
                        f"Invalid columns_list, tfrecord file failed to find column name: {name}; there are "
                        f"{list(columns)} in {self.parts[0][0][0]}"
                    )
            named = self.wanted is not None
            form.columns = {name: replace(columns[name], named=named) for name in self.wanted or columns}
            self._known = PlanSchema({name: _type(wanted) for name, wanted in form.columns.items()})
        return self._known

    def _first_record_columns(self, form: ExampleFormat) -> dict[str, FeatureSpec]:
        for part, (spans,) in zip(self.parts, self.spans()):
            if len(spans):
                path, handles = part[0][0], FileHandles(self.copies.path)
                try:
                    span = int(spans.starts[0]), int(spans.stops[0]) - TAIL
                    return first_example(handles.read(path, *span, form.opener), path)
                finally:
                    handles.close()
        raise PlanError(
            "Invalid file. The following files either cannot be opened, or are not valid TFRecordDataset files: "
            + " ".join(part[0][0] for part in self.parts)
        )


def _type(wanted: FeatureSpec) -> ColumnType:
    shape = None if wanted.shape is None else tuple(None if n < 0 else n for n in wanted.shape)
    return ColumnType(wanted.dtype, shape)


@public("dataset")
class TFRecordDataset(IndexedFilesDataset):
    """Examples of TFRecord files, in any order; every checksum is verified.

    Without a ``schema`` (a ``ds.Schema`` or its JSON file) the columns are the features of the first record: int64,
    float32, and bytes as uint8, all flat. In a schema file a column without "shape" is flat too, of any length, and
    a column of "rank" 0 is a scalar if there is exactly one value. ``columns_list`` selects columns.

    Shards get whole files, which a shuffle redistributes each epoch, unless ``shard_equal_rows`` is set.
    ``compression_type`` is ``''``, ``'GZIP'`` or ``'ZLIB'``: such a file is decompressed into a temporary file
    (``TMPDIR``), and refused if that would need more than 200 times its size and more than 256 MB.

    >>> from millrace._src.data.formats.tfrecord.example import encode_example
    >>> from millrace._src.data.formats.tfrecord.record_file import write_record
    >>> with open("t.tfrecord", "wb") as file:
    ...     for n in range(3):
    ...         write_record(file, encode_example({"n": [n, n + 1], "name": b"x"}))
    >>> data = TFRecordDataset("t.tfrecord", columns_list=["n"], shuffle=False)
    >>> [row["n"].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    [[0, 1], [1, 2], [2, 3]]
    """

    @checked
    def __init__(
        self,
        dataset_files: Any,
        schema: Any = None,
        columns_list: list[Any] | None = None,
        num_samples: NumSamples = None,
        num_parallel_workers: NumWorkers = None,
        shuffle: Mode = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        shard_equal_rows: bool | None = False,
        cache: Cache = None,
        compression_type: Any = None,
    ) -> None:
        if not isinstance(dataset_files, (str, list)):
            raise ArgumentTypeError("dataset_files should be type str or a list of strings.")
        if not dataset_files:
            raise ArgumentValueError(f"Input dataset_files can not be empty, but got '{dataset_files}'.")
        if compression_type not in (None, "", "ZLIB", "GZIP"):
            raise ArgumentValueError(
                "Input compression_type can only be either '' (no compression), 'ZLIB', or 'GZIP', but got "
                f"'{compression_type}'."
            )
        dataset_files = sorted(find_files(dataset_files))
        described = _schema_columns(schema, columns_list)
        if schema is not None and not num_samples:
            num_samples = _num_rows(schema) or None
        check_shard_options(num_shards, shard_id)
        if not shard_equal_rows:
            _check_shards(len(dataset_files), num_shards or 1, compression_type and num_samples)
        form = ExampleFormat({}, compression_type or "")
        arguments = locals() | {"schema": schema if isinstance(schema, str) else None}
        parts = [[(path, form)] for path in dataset_files]
        self._open_files(parts, {}, arguments, arguments, by_files=not shard_equal_rows)
        source = self._source
        source.described, source.wanted = described, list(columns_list) if columns_list else None  # type: ignore[attr-defined]

    _source_class = ExampleSource


def _check_shards(files: int, shards: int, compressed: Any) -> None:
    if files < shards and compressed:
        raise ArgumentValueError(
            "When compression_type is provided, the number of dataset files cannot be less than num_shards, but the "
            f"actual number of files is {files} and actual num_shards is {shards}."
        )
    if files < shards:
        raise PlanError(
            "Invalid file, numbers of tfrecord file should not less than num_shards when shard_equal_rows is false, "
            f"but got numbers of tfrecord file: {files}, num_shards: {shards}"
        )


def _schema_columns(schema: Any, picked: list[Any] | None) -> dict[str, FeatureSpec] | None:
    """The columns of a schema. The selected columns of a schema file are sorted by name, as in MindSpore."""
    if schema is None:
        return None
    if isinstance(schema, Schema):
        return {column["name"]: _feature_spec(column, column.get("shape")) for column in schema.columns}
    if not (isinstance(schema, str) and os.path.isfile(schema)):
        raise ArgumentValueError(
            f"schema should be a Schema or the path of its JSON file, but got {schema!r}"
        )
    Schema(schema)  # refuses an invalid file
    columns = read_schema_file(schema)["columns"]
    if isinstance(columns, list):
        columns = {column["name"]: column for column in columns}
    chosen = [name for name in sorted(columns) if not picked or name in picked]
    return {name: _feature_spec_from_file(name, columns[name], schema) for name in chosen}


def _feature_spec(column: Mapping[str, Any], shape: Any, scalar: bool = False) -> FeatureSpec:
    dtype = np.dtype(column_types([column["type"]])[0])
    return FeatureSpec(dtype, None if shape is None else tuple(shape), scalar)


# Attributes of a column in a schema file.
_ATTRIBUTES = ("name", "type", "rank", "t_impl", "shape")


def _feature_spec_from_file(name: str, column: Mapping[str, Any], path: str) -> FeatureSpec:
    """The specification of a column of a schema file; without "shape" the column is flat, of any length."""
    for key in column:
        if key not in _ATTRIBUTES:
            raise PlanError(
                f"Invalid data, unexpected column attribute {key} for column {name}, expected attribute: name, type, "
                f"rank, t_impl or shape, in {path}"
            )
    if "shape" in column:
        return _feature_spec(column, column["shape"])
    rank = column.get("rank", -1)
    if not isinstance(rank, (int, float)) or rank < 0:
        raise PlanError(
            f'Invalid data, "rank" field of column {name} must have value >= 0 in JSON schema file, but {path} has '
            f'{column}; add "rank": 1 for values of any number, or "shape"'
        )
    return _feature_spec(column, None, scalar=rank == 0)


def _num_rows(schema: Any) -> int:
    return int(Schema(schema).num_rows if isinstance(schema, str) else schema.num_rows or 0)
