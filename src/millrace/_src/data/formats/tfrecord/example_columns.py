"""TFRecord files of ``tf.train.Example`` messages as columns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.values.cast import cast_numbers
from millrace._src.core.values.chunk import Column
from millrace._src.data.formats.files.byte_ranges import ByteRanges, RowBlock
from millrace._src.data.formats.files.decompression import DecompressedFile
from millrace._src.data.formats.text.lines import text_column

from .example import parse_example
from .feature_decoder import byte_values, float_values, int_values
from .feature_offsets import BYTES, FLOATS, INTS, MARGIN, FeatureOffsets, locate_features
from .record_file import TAIL, check_records, record_spans

__all__ = ["ExampleFormat", "FeatureSpec", "first_example"]

TYPE_NAMES = {BYTES: "string", FLOATS: "float32", INTS: "int64"}
DECODERS = {BYTES: byte_values, FLOATS: float_values, INTS: int_values}


@dataclass(frozen=True)
class FeatureSpec:
    """Required dtype (None: as stored) and shape (None: flat, -1: any length) of a column.

    ``scalar``: a row with exactly one value becomes a scalar, others stay flat. ``named``: the user selected the column
    by name.
    """

    dtype: np.dtype[Any] | None = None
    shape: tuple[int, ...] | None = None
    scalar: bool = False
    named: bool = False


class ExampleFormat:
    """Format of tf.train.Example records. ``columns`` maps the selected features to their specification.

    >>> from millrace._src.data.formats.tfrecord.example import encode_example
    >>> from millrace._src.data.formats.tfrecord.record_file import write_record
    >>> with open("t.tfrecord", "wb") as file:
    ...     write_record(file, encode_example({"n": [1, 2]}))
    >>> len(ExampleFormat({"n": FeatureSpec()}).scan("t.tfrecord"))
    1
    """

    def __init__(self, columns: Mapping[str, FeatureSpec], compression: str = "") -> None:
        self.columns = dict(columns)
        self.opener = DecompressedFile(compression) if compression else None
        self._forms: dict[int, Any] = {}

    @property
    def scan_id(self) -> str:
        return f"tfrecord {self.opener.compression if self.opener else ''}"

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_forms": {}}

    def scan(self, path: str) -> ByteRanges:
        if self.opener is None:
            with open(path, "rb") as file:
                return record_spans(file, path)
        with os.fdopen(self.opener(path), "rb") as file:
            return record_spans(file, path)

    def rows(self, block: RowBlock) -> dict[str, Column]:
        check_records(block)
        raw = np.frombuffer(block.data + bytes(MARGIN * 64), np.uint8)
        stops = block.stops - TAIL
        layout = locate_features(raw, block.starts, stops, self._forms)
        odd = {row: _parse_row(block, row) for row in layout.odd}
        columns: dict[str, Column] = {}
        for name, wanted in self.columns.items():
            columns[name] = _column(name, wanted, raw, layout, odd, block)
        return columns


def first_example(data: bytes, path: str) -> dict[str, FeatureSpec]:
    """The columns of a record, sorted by name."""
    return {name: FeatureSpec() for name in sorted(parse_example(data, path))}


def _parse_row(block: RowBlock, row: int) -> dict[str, Any]:
    data = block.data[int(block.starts[row]) : int(block.stops[row]) - TAIL]
    return parse_example(data, block.path, int(block.rows[row]) + 1)


def _column(
    name: str,
    wanted: FeatureSpec,
    raw: Any,
    layout: FeatureOffsets,
    odd: dict[int, dict[str, Any]],
    block: RowBlock,
) -> Column:
    key = name.encode()
    values: Column
    if key in layout.starts:
        starts, list_types = layout.starts[key], layout.list_types[key]
        if isinstance(list_types, int) and not odd:
            values = _fill_unparsed(
                DECODERS[list_types](raw, starts, layout.sizes[key]), name, list_types, block
            )
            return _convert_column(name, wanted, list_types, values, block)
        list_types = np.broadcast_to(np.asarray(list_types, np.uint8), starts.shape)
        present = starts >= 0
        if odd:
            present[list(odd)] = True
        if not present.all():
            raise _missing_feature_error(name, block, int(np.flatnonzero(~present)[0]))
        list_type = int(list_types.max())
        for row in np.flatnonzero((list_types != list_type) & (layout.starts[key] >= 0)).tolist():
            raise _record_error(block, row, f"the type of {name} differs from that of other records")
        if odd:
            values = _merge_odd_rows(name, list_type, raw, layout, odd, block)
        else:
            values = _fill_unparsed(
                DECODERS[list_type](raw, starts, layout.sizes[key]), name, list_type, block
            )
    else:
        list_type, values = _odd_rows_column(name, odd, block)
    return _convert_column(name, wanted, list_type, values, block)


def _fill_unparsed(values: Column, name: str, list_type: int, block: RowBlock) -> Column:
    """Replace None by the individually parsed values of rows with another encoding."""
    if isinstance(values, np.ndarray) or all(value is not None for value in values):
        return values
    return [
        _check_value(_parse_row(block, row).get(name), name, block, row, list_type)
        if value is None
        else value
        for row, value in enumerate(values)
    ]


def _merge_odd_rows(
    name: str,
    list_type: int,
    raw: Any,
    layout: FeatureOffsets,
    odd: dict[int, dict[str, Any]],
    block: RowBlock,
) -> list[Any]:
    key = name.encode()
    rows = np.array([row for row in range(len(block)) if row not in odd], np.int64)
    values = DECODERS[list_type](raw, layout.starts[key][rows], layout.sizes[key][rows])
    column: list[Any] = [None] * len(block)
    for row, value in zip(rows.tolist(), values):
        column[row] = value
    return [
        _check_value((odd.get(row) or _parse_row(block, row)).get(name), name, block, row, list_type)
        if value is None
        else value
        for row, value in enumerate(column)
    ]


def _odd_rows_column(name: str, odd: dict[int, dict[str, Any]], block: RowBlock) -> tuple[int, list[Any]]:
    list_type = 0
    for row in range(len(block)):
        if row not in odd or name not in odd[row]:
            raise _missing_feature_error(name, block, row)
        list_type = list_type or _list_type_of(odd[row][name])
    list_type = list_type or INTS
    return list_type, [_check_value(odd[row][name], name, block, row, list_type) for row in range(len(block))]


def _list_type_of(value: Any) -> int:
    if isinstance(value, list):
        return BYTES if value else 0
    return FLOATS if value.dtype == np.float32 else INTS


def _check_value(value: Any, name: str, block: RowBlock, row: int, list_type: int) -> Any:
    """Check the type of one parsed value; empty values get the type of the column."""
    if value is None:
        raise _missing_feature_error(name, block, row)
    value_type = _list_type_of(value)
    if value_type and value_type != list_type:
        raise _record_error(block, row, f"the type of {name} differs from that of other records")
    if not value_type:
        return [] if list_type == BYTES else np.empty(0, np.float32 if list_type == FLOATS else np.int64)
    return value


def _convert_column(
    name: str, wanted: FeatureSpec, list_type: int, values: Column, block: RowBlock
) -> Column:
    is_text = wanted.dtype is not None and wanted.dtype.kind == "U"
    if (
        wanted.dtype is not None
        and is_text != (list_type == BYTES)
        and (list_type != BYTES or wanted.dtype != np.uint8)
    ):
        raise _type_mismatch_error(name, wanted, list_type, block)
    if is_text:
        return _decode_texts(name, wanted, values, block)
    if list_type == BYTES:
        wanted = replace(wanted, scalar=False)  # bytes as numbers always keep their axis
        if isinstance(values, list):
            join = _join_padded if wanted.dtype is None and not wanted.named else _join_bytes
            values = [join(value) if isinstance(value, list) else value for value in values]
    if isinstance(values, np.ndarray):
        values = values if wanted.dtype is None else cast_numbers(values, wanted.dtype)
        shape = _shape(name, wanted, values.shape[1], block, 0)
        return values if shape is None else values.reshape(len(values), *shape)
    converted = []
    for row, value in enumerate(values):
        value = value if wanted.dtype is None else cast_numbers(value, wanted.dtype)
        shape = _shape(name, wanted, value.size, block, row)
        converted.append(value if shape is None else value.reshape(shape))
    return converted


def _join_padded(parts: list[bytes]) -> Any:
    """Concatenate byte values, each padded with spaces to the longest one.

    MindSpore does this where neither a schema nor ``columns_list`` names the column.
    """
    width = max(map(len, parts), default=0)
    return _join_bytes([part.ljust(width) for part in parts])


def _join_bytes(parts: list[bytes]) -> Any:
    """Concatenate byte values, as MindSpore does where the column is named."""
    return np.frombuffer(b"".join(parts), np.uint8).copy()


def _decode_texts(name: str, wanted: FeatureSpec, values: Column, block: RowBlock) -> Column:
    texts = []
    for row, value in enumerate(values):
        parts = value if isinstance(value, list) else [value.tobytes()]
        try:
            array = np.array([part.decode() for part in parts], dtype=np.str_)
        except UnicodeDecodeError as error:
            raise _record_error(block, row, f"{name} is not text in UTF-8: {error}") from None
        shape = _shape(name, wanted, len(parts), block, row)
        texts.append(array if shape is None else array.reshape(shape))
    if all(value.ndim == 0 for value in texts):
        return text_column([value.item() for value in texts])
    return list(texts)


def _shape(name: str, wanted: FeatureSpec, size: int, block: RowBlock, row: int) -> tuple[int, ...] | None:
    if wanted.shape is None:
        return () if wanted.scalar and size == 1 else None
    known = 1
    for axis in wanted.shape:
        known *= axis if axis >= 0 else 1
    if wanted.shape.count(-1) == 1 and known and size % known == 0:
        return tuple(size // known if axis < 0 else axis for axis in wanted.shape)
    if -1 in wanted.shape or known != size:
        text = f"Column shape of {name} defined in schema does not match the shape actually load"
        raise _record_error(block, row, f"{text}: {list(wanted.shape)} and {size} values")
    return wanted.shape


def _missing_feature_error(name: str, block: RowBlock, row: int) -> FormatError:
    text = f"Invalid columns_list, column name: {name} does not exist in tfrecord file, check tfrecord files"
    return _record_error(block, row, text)


def _type_mismatch_error(name: str, wanted: FeatureSpec, list_type: int, block: RowBlock) -> FormatError:
    shown = "string" if wanted.dtype is not None and wanted.dtype.kind == "U" else str(wanted.dtype)
    text = (
        f"The data type loaded from the example for feature name: {name} does not match the predefined type in "
        f"schema, the actual type: {TYPE_NAMES[list_type]}, but the predefined type: {shown}"
    )
    return _record_error(block, 0, text)


def _record_error(block: RowBlock, row: int, text: str) -> FormatError:
    error = block.error(row, text, "record")
    error.row_index = int(block.rows[row])  # type: ignore[attr-defined]
    return error
