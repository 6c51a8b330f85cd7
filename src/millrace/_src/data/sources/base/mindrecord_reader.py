"""Reader of MindRecord rows for the engine, with read-ahead and padded samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, FormatError
from millrace._src.core.random.permutation import Indices
from millrace._src.core.values.chunk import Column
from millrace._src.data.formats.mindrecord import MindRecordReader
from millrace._src.data.formats.mindrecord.encoding.row_encoder import exact_value
from millrace._src.data.formats.mindrecord.schema import Field, RecordSchema

from .record_sampler import BLOCK_BYTES, WINDOW_BYTES

__all__ = ["MindRecordBlockReader", "padded_values"]

_SMALL = 64 << 20  # for sets up to this size the read-ahead of the kernel is sufficient


class MindRecordBlockReader:
    """Reader of blocks of rows; indices after the last row are padded samples."""

    def __init__(self, reader: MindRecordReader, columns: list[str], padding: dict[str, Any]) -> None:
        self.reader, self.padding = reader, padding
        self.choose(columns)
        self._ahead = _ReadAhead(reader) if reader.total_bytes > _SMALL and reader.is_local else None

    def choose(self, columns: Sequence[str]) -> None:
        """Restrict reading to these columns."""
        self.columns, schema = list(columns), self.reader.schema
        self._bytes_columns = [name for name in columns if schema[name].type == "bytes"]
        self._text_columns = [name for name in columns if schema[name].type == "string"]
        self._has_blobs = any(schema[name].is_blob for name in columns)

    def read(self, indices: Indices) -> dict[str, Column]:
        if self.padding and int(indices.max()) >= len(self.reader):
            return self._read_padded(indices)
        if self._ahead is not None and self._has_blobs:
            self._ahead.advise(indices)
        try:
            columns = self.reader.read(indices, self.columns, views=True)
        except FormatError as error:
            row = error.context.get("row")
            if row is not None and row in indices:
                error.row_index = row  # type: ignore[attr-defined]  # the engine need not search for it
            raise
        for name in self._bytes_columns:
            columns[name] = [_as_bytes(view) for view in columns[name]]
        for name in self._text_columns:
            columns[name] = [np.array(text) for text in columns[name]]
        return columns

    def _read_padded(self, indices: Indices) -> dict[str, Column]:
        real = np.flatnonzero(indices < len(self.reader))
        padded = np.flatnonzero(indices >= len(self.reader))
        real_columns = self.read(indices[real]) if len(real) else {}
        columns: dict[str, Column] = {}
        for name in self.columns:
            filler, column = self.padding[name], real_columns.get(name)
            if isinstance(column, np.ndarray) and column.shape[1:] == filler.shape:
                dense = np.empty((len(indices), *filler.shape), column.dtype)
                dense[real], dense[padded] = column, filler
                columns[name] = dense
                continue
            values: list[Any] = [filler] * len(indices)
            for index, value in zip(real.tolist(), column if column is not None else ()):
                values[index] = value
            columns[name] = values
        return columns

    def close(self) -> None:
        self.reader.close()


class _ReadAhead:
    """Read-ahead: advises the kernel to load a whole block when its first row is read."""

    def __init__(self, reader: MindRecordReader) -> None:
        self.reader = reader
        self.block = max(1, BLOCK_BYTES // reader.row_bytes)
        self.advised = np.zeros(-(-len(reader) // self.block), bool)
        self.count, self.most = 0, 2 * WINDOW_BYTES // BLOCK_BYTES

    def advise(self, indices: Indices) -> None:
        blocks = np.unique(indices // self.block)
        fresh = blocks[~self.advised[blocks]]
        if not len(fresh):
            return
        self.count += len(fresh)
        if self.count > self.most:  # blocks advised long ago may be evicted from the page cache
            self.advised[:] = False
            self.count = len(fresh)
        self.advised[fresh] = True
        for number in fresh.tolist():
            first = number * self.block
            self.reader.will_need(first, min(first + self.block, len(self.reader)))


def _as_bytes(view: npt.NDArray[np.uint8] | bytes) -> npt.NDArray[np.bytes_]:
    """One value of dtype S, as in MindSpore, on the same memory."""
    return np.frombuffer(view, f"S{len(view)}") if len(view) else np.array([b""])


def padded_values(schema: RecordSchema, columns: list[str], sample: dict[str, Any] | None) -> dict[str, Any]:
    """Convert the padded sample to column values; inexact conversions are refused."""
    return {name: _padded_value(schema[name], (sample or {})[name]) for name in columns}


def _padded_value(field: Field, value: Any) -> npt.NDArray[Any]:
    try:
        exact = exact_value(field, value)
    except (ArgumentTypeError, ArgumentValueError) as error:
        raise type(error)(f"padded_sample: {error}") from None
    if field.type == "bytes":
        return _as_bytes(exact)
    if field.type == "string":
        return np.array(exact)
    return np.asarray(exact, field.type)
