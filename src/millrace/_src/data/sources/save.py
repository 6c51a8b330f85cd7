"""``Dataset.save``: writes a pipeline to MindRecord or TFRecord files."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import secrets
import string
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError, DataError, PlanError
from millrace._src.core.log import warn_once
from millrace._src.core.progress_bar import progress
from millrace._src.data.formats.mindrecord import FileWriter
from millrace._src.data.formats.mindrecord.encryption import current
from millrace._src.data.formats.mindrecord.file_names import FileExists, checked_name, shard_names
from millrace._src.data.formats.tfrecord.example import encode_example
from millrace._src.data.formats.tfrecord.record_file import write_record
from millrace._src.data.pipeline.dataset import Dataset

__all__ = ["save_mindrecord", "save_tfrecord"]

_BATCH = 256
_PUNCTUATION = str.maketrans(dict.fromkeys(string.punctuation, "_"))
# stored type of each element type, as in MindSpore
_TYPES = {
    "bool": "int32", "int8": "int32", "uint8": "int32", "int16": "int32", "uint16": "int32",
    "int32": "int32", "uint32": "int64", "int64": "int64", "uint64": "int64",
    "float16": "float32", "float32": "float32", "float64": "float64",
}  # fmt: skip


def save_mindrecord(dataset: Dataset, file_name: str, num_files: int, checksums: bool = False) -> None:
    """Write one epoch to ``num_files`` MindRecord files; they appear when all of them are complete.

    Elements become int32, int64, float32 or float64 as in MindSpore. The first dimension of arrays may vary.
    Punctuation in a column name becomes ``_``. Types without a field type (complex numbers, dicts, arrays of text) are
    refused.

    >>> import millrace.dataset as ds
    >>> save_mindrecord(ds.NumpySlicesDataset({"x": [[1, 2], [3, 4]]}, shuffle=False), "saved.mindrecord", 1)
    >>> from millrace.mindrecord import FileReader
    >>> [row["x"].tolist() for row in FileReader("saved.mindrecord").get_next()]
    [[1, 2], [3, 4]]
    """
    if current().key is not None and num_files > 1:
        raise PlanError("When encode mode is enabled, the automatic sharding function is unavailable.")
    unindexed: set[str] = set()
    while (unindexable := _write(dataset, file_name, num_files, unindexed, checksums)) is not None:
        warn_once(
            f"save {file_name} {unindexable}",
            f"column '{unindexable}' holds a number that is not finite, so it is stored without an index: MindSpore "
            "cannot open an index with such a number",
        )
        unindexed.add(unindexable)


def _write(
    dataset: Dataset, file_name: str, num_files: int, unindexed: set[str], checksums: bool
) -> str | None:
    """Write all rows. If a column cannot be indexed, write nothing and return its name."""
    with contextlib.closing(_iterate_rows(dataset)) as rows:
        first = next(rows, None)
        if first is None:
            raise PlanError("there is no row to save, so the types of the columns are not known")
        columns = _rename_fields({name: _ColumnEncoder(name, value) for name, value in first.items()})
        writer = FileWriter(file_name, num_files, checksums=checksums)
        try:
            indexed = _declare_fields(writer, columns, unindexed)
            return _write_rows(writer, columns, itertools.chain([first], rows), indexed, _num_rows(dataset))
        finally:
            writer.discard()


def _rename_fields(columns: dict[str, _ColumnEncoder]) -> dict[str, _ColumnEncoder]:
    """Columns by field name; punctuation becomes ``_``, as in MindSpore."""
    fields: dict[str, _ColumnEncoder] = {}
    for name, column in columns.items():
        field = name.translate(_PUNCTUATION)
        if field in fields:
            raise ArgumentValueError(
                f"columns '{fields[field].name}' and '{name}' would both be stored as '{field}': rename one of them"
            )
        fields[field] = column
    return fields


def _declare_fields(writer: FileWriter, columns: dict[str, _ColumnEncoder], unindexed: set[str]) -> list[str]:
    writer.add_schema({name: column.entry() for name, column in columns.items()}, "mindrecord")
    indexed = [name for name, column in columns.items() if column.is_scalar and name not in unindexed]
    if indexed:
        writer.add_index(indexed)
    elif unindexed:
        raise ArgumentValueError(
            f"column '{min(unindexed)}' holds a number that is not finite, which no index can hold, and there "
            "is no other column to index: add one, or replace the number"
        )
    try:
        writer.open_and_set_header()
    except FileExists as error:
        error.message = (
            "Invalid file, mindrecord files already exist. Please check file path, and remove the files if "
            "you do not want to keep them."
        )
        raise
    return indexed


def _write_rows(
    writer: FileWriter,
    columns: dict[str, _ColumnEncoder],
    rows: Iterator[dict[str, Any]],
    indexed: list[str],
    total: int | None,
) -> str | None:
    float_fields = [name for name in indexed if columns[name].type_char == "f"]
    number = 0
    with progress("saving", total) as count:
        while batch := list(itertools.islice(rows, _BATCH)):
            records = []
            for row in batch:
                records.append(
                    {field: column.value(row[column.name], number) for field, column in columns.items()}
                )
                number += 1
            for name in float_fields:
                if not all(math.isfinite(row[name]) for row in records):
                    return name
            writer.write_raw_data(records)
            count(len(records))
    writer.commit()
    return None


def _iterate_rows(dataset: Dataset) -> Generator[dict[str, Any], None, None]:
    with dataset.create_dict_iterator(num_epochs=1, output_numpy=True) as iterator:
        yield from iterator


def _num_rows(dataset: Dataset) -> int | None:
    return dataset._known_size()


class _ColumnEncoder:
    """Encoder of the values of a column, based on its first value."""

    def __init__(self, name: str, first: Any) -> None:
        self.name = name
        if not isinstance(first, np.ndarray):
            raise ArgumentValueError(
                f"column '{name}' holds a {type(first).__name__}, which no type of field can hold"
            )
        self.type_char, self.dtype, self.inner = first.dtype.kind, first.dtype, first.shape[1:]
        self.rank = first.ndim
        if self.type_char == "U" and first.ndim:
            raise PlanError(
                f"column '{name}': Invalid data, mindrecord can not support multi-dimensional string tensor."
            )
        if self.type_char == "S" and first.size != 1:
            raise PlanError(
                f"column '{name}': Invalid data, mindrecord can not support multi-dimensional bytes tensor."
            )
        if self.type_char not in "USbiuf" or (self.type_char not in "US" and first.dtype.name not in _TYPES):
            raise ArgumentValueError(f"column '{name}' holds {first.dtype}, which no type of field can hold")

    @property
    def is_scalar(self) -> bool:
        return self.type_char == "U" or (self.rank == 0 and self.type_char != "S")

    def entry(self) -> dict[str, Any]:
        """The field of the schema."""
        if self.type_char in "US":
            return {"type": "string" if self.type_char == "U" else "bytes"}
        field_type = _TYPES[self.dtype.name]
        return {"type": field_type, "shape": [-1, *self.inner]} if self.rank else {"type": field_type}

    def value(self, value: Any, row: int) -> Any:
        """Convert the value of a row for the writer."""
        same = isinstance(value, np.ndarray) and value.dtype.kind == self.type_char
        if not same or (self.type_char not in "US" and value.dtype != self.dtype):
            actual = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
            raise DataError(f"row {row} has {actual}, the first row {self.dtype}", column=self.name, row=row)
        if self.type_char == "U" and value.ndim == 0:
            return str(value)
        if self.type_char == "S" and value.size == 1:
            return value.tobytes()
        if value.ndim != self.rank or value.shape[1:] != self.inner:
            raise DataError(
                "Tensor with dynamic shape do not currently support saving. Except for the shape of dimension "
                f"0, the other dimension shapes must be fixed: row {row} has {list(value.shape)}, the first "
                f"row {'[*' + ''.join(f', {n}' for n in self.inner) + ']' if self.rank else '[]'}",
                column=self.name,
                row=row,
            )
        if self.rank == 0:
            return int(value) if self.type_char == "b" else value.item()
        return value.astype(np.int32) if self.type_char == "b" else value


def save_tfrecord(dataset: Dataset, file_name: str, num_files: int) -> None:
    """Write one epoch to ``num_files`` TFRecord files of Examples; rows go to the files in turn.

    Arrays are stored flat in an Example. Their shapes are stored in ``<file_name>.schema.json``, which TFRecordDataset
    reads. Numbers that int64 and float32 cannot represent exactly are refused.

    >>> import millrace.dataset as ds
    >>> save_tfrecord(ds.NumpySlicesDataset({"x": [1, 2]}, shuffle=False), "saved.tfrecord", 1)
    >>> from millrace._src.data.formats.tfrecord.example import parse_example
    >>> from millrace._src.data.formats.tfrecord.record_file import read_records
    >>> [parse_example(record)["x"].tolist() for record in read_records("saved.tfrecord")]
    [[1], [2]]
    """
    finals = shard_names(checked_name(file_name), num_files)
    schema = finals[0].with_name(f"{Path(file_name).name}.schema.json")
    for final in [*finals, schema]:
        if final.exists():
            raise DataError("the file exists: remove it first", file=str(final))
    token = secrets.token_hex(8)
    drafts = [final.with_name(f".{final.name}.{token}.tmp") for final in finals]
    try:
        columns = _write_examples(dataset, drafts, os.path.basename(file_name))
        schema.write_text(json.dumps(_tf_schema(columns)), encoding="utf-8")
        for draft, final in zip(drafts, finals):
            os.replace(draft, final)
    except OSError as error:
        raise DataError(f"writing failed: {error.strerror}", file=file_name) from error
    finally:
        for draft in drafts:
            draft.unlink(missing_ok=True)


def _write_examples(dataset: Dataset, drafts: list[Path], name: str) -> dict[str, _ColumnEncoder]:
    columns: dict[str, _ColumnEncoder] = {}
    files = [draft.open("xb") for draft in drafts]
    try:
        with progress(f"saving {name}", _num_rows(dataset)) as count:
            for number, row in enumerate(_iterate_rows(dataset)):
                columns = columns or {key: _ColumnEncoder(key, value) for key, value in row.items()}
                values = {key: column.value(row[key], number) for key, column in columns.items()}
                write_record(files[number % len(files)], encode_example(values))
                count(1)
        for file in files:
            file.flush()
            os.fsync(file.fileno())
    finally:
        for file in files:
            file.close()
    if not columns:
        raise PlanError("there is no row to save, so the types of the columns are not known")
    return columns


def _tf_schema(columns: dict[str, _ColumnEncoder]) -> dict[str, Any]:
    entries = {}
    for name, column in columns.items():
        feature_type = (
            "string" if column.type_char in "US" else "float32" if column.type_char == "f" else "int64"
        )
        shape = [-1, *column.inner] if column.rank and column.type_char not in "US" else []
        entries[name] = {"type": feature_type, "rank": len(shape), "shape": shape}
    return {"datasetType": "TF", "columns": entries}
