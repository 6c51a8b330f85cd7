"""TFRecord files of Example messages as columns."""

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

NAMES = {BYTES: "string", FLOATS: "float32", INTS: "int64"}
MAKERS = {BYTES: byte_values, FLOATS: float_values, INTS: int_values}


@dataclass(frozen=True)
class FeatureSpec:
    """What a column must be: its type (None: as it is stored) and shape (None: flat, -1: as many as there are).

    ``scalar``: a row with exactly one value has no axis; others are flat. ``named``: the user asked for it by name.
    """

    dtype: np.dtype[Any] | None = None
    shape: tuple[int, ...] | None = None
    scalar: bool = False
    named: bool = False


class ExampleFormat:
    """Records of Examples. ``columns`` says which features make the columns, and what they must be.

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
        self.kind = f"tfrecord {compression}"
        self._forms: dict[int, Any] = {}

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
        odd = {row: _parsed(block, row) for row in layout.odd}
        made: dict[str, Column] = {}
        for name, wanted in self.columns.items():
            made[name] = _column(name, wanted, raw, layout, odd, block)
        return made


def first_example(data: bytes, path: str) -> dict[str, FeatureSpec]:
    """The columns that a record has, in the order of their names."""
    return {name: FeatureSpec() for name in sorted(parse_example(data, path))}


def _parsed(block: RowBlock, row: int) -> dict[str, Any]:
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
        starts, kinds = layout.starts[key], layout.kinds[key]
        if isinstance(kinds, int) and not odd:
            values = _filled(MAKERS[kinds](raw, starts, layout.sizes[key]), name, kinds, block)
            return _as_wanted(name, wanted, kinds, values, block)
        kinds = np.broadcast_to(np.asarray(kinds, np.uint8), starts.shape)
        present = starts >= 0
        if odd:
            present[list(odd)] = True
        if not present.all():
            raise _missing(name, block, int(np.flatnonzero(~present)[0]))
        kind = int(kinds.max())
        for row in np.flatnonzero((kinds != kind) & (layout.starts[key] >= 0)).tolist():
            raise _fault(block, row, f"the type of {name} differs from that of other records")
        if odd:
            values = _with_odd(name, kind, raw, layout, odd, block)
        else:
            values = _filled(MAKERS[kind](raw, starts, layout.sizes[key]), name, kind, block)
    else:
        kind, values = _all_odd(name, odd, block)
    return _as_wanted(name, wanted, kind, values, block)


def _filled(values: Column, name: str, kind: int, block: RowBlock) -> Column:
    """The values, with those parsed by themselves that are written in another way."""
    if isinstance(values, np.ndarray) or all(value is not None for value in values):
        return values
    return [
        _one(_parsed(block, row).get(name), name, block, row, kind) if value is None else value
        for row, value in enumerate(values)
    ]


def _with_odd(
    name: str, kind: int, raw: Any, layout: FeatureOffsets, odd: dict[int, dict[str, Any]], block: RowBlock
) -> list[Any]:
    key = name.encode()
    rows = np.array([row for row in range(len(block)) if row not in odd], np.int64)
    found = MAKERS[kind](raw, layout.starts[key][rows], layout.sizes[key][rows])
    made: list[Any] = [None] * len(block)
    for row, value in zip(rows.tolist(), found):
        made[row] = value
    return [
        _one((odd.get(row) or _parsed(block, row)).get(name), name, block, row, kind)
        if value is None
        else value
        for row, value in enumerate(made)
    ]


def _all_odd(name: str, odd: dict[int, dict[str, Any]], block: RowBlock) -> tuple[int, list[Any]]:
    kind = 0
    for row in range(len(block)):
        if row not in odd or name not in odd[row]:
            raise _missing(name, block, row)
        kind = kind or _kind_of(odd[row][name])
    kind = kind or INTS
    return kind, [_one(odd[row][name], name, block, row, kind) for row in range(len(block))]


def _kind_of(value: Any) -> int:
    if isinstance(value, list):
        return BYTES if value else 0
    return FLOATS if value.dtype == np.float32 else INTS


def _one(value: Any, name: str, block: RowBlock, row: int, kind: int) -> Any:
    """One record's value as the fast way would give it: texts in a list stay one, others become an array."""
    if value is None:
        raise _missing(name, block, row)
    own = _kind_of(value)
    if own and own != kind:
        raise _fault(block, row, f"the type of {name} differs from that of other records")
    if not own:
        return [] if kind == BYTES else np.empty(0, np.float32 if kind == FLOATS else np.int64)
    return value


def _as_wanted(name: str, wanted: FeatureSpec, kind: int, values: Column, block: RowBlock) -> Column:
    text = wanted.dtype is not None and wanted.dtype.kind == "U"
    if wanted.dtype is not None and text != (kind == BYTES) and (kind != BYTES or wanted.dtype != np.uint8):
        raise _type_fault(name, wanted, kind, block)
    if text:
        return _texts(name, wanted, values, block)
    if kind == BYTES:
        wanted = replace(wanted, scalar=False)  # bytes as numbers always have their axis
        if isinstance(values, list):
            join = _padded if wanted.dtype is None and not wanted.named else _joined
            values = [join(value) if isinstance(value, list) else value for value in values]
    if isinstance(values, np.ndarray):
        values = values if wanted.dtype is None else cast_numbers(values, wanted.dtype)
        shape = _shape(name, wanted, values.shape[1], block, 0)
        return values if shape is None else values.reshape(len(values), *shape)
    made = []
    for row, value in enumerate(values):
        value = value if wanted.dtype is None else cast_numbers(value, wanted.dtype)
        shape = _shape(name, wanted, value.size, block, row)
        made.append(value if shape is None else value.reshape(shape))
    return made


def _padded(parts: list[bytes]) -> Any:
    """Several values of bytes as one array: each is filled with spaces to the longest, as MindSpore does where neither
    a schema nor ``columns_list`` names the column.
    """
    width = max(map(len, parts), default=0)
    return _joined([part.ljust(width) for part in parts])


def _joined(parts: list[bytes]) -> Any:
    """Several values of bytes one after the other: what MindSpore gives where the column is named."""
    return np.frombuffer(b"".join(parts), np.uint8).copy()


def _texts(name: str, wanted: FeatureSpec, values: Column, block: RowBlock) -> Column:
    made = []
    for row, value in enumerate(values):
        parts = value if isinstance(value, list) else [value.tobytes()]
        try:
            array = np.array([part.decode() for part in parts], dtype=np.str_)
        except UnicodeDecodeError as error:
            raise _fault(block, row, f"{name} is not text in UTF-8: {error}") from None
        shape = _shape(name, wanted, len(parts), block, row)
        made.append(array if shape is None else array.reshape(shape))
    if all(value.ndim == 0 for value in made):
        return text_column([value.item() for value in made])
    return list(made)


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
        raise _fault(block, row, f"{text}: {list(wanted.shape)} and {size} values")
    return wanted.shape


def _missing(name: str, block: RowBlock, row: int) -> FormatError:
    text = f"Invalid columns_list, column name: {name} does not exist in tfrecord file, check tfrecord files"
    return _fault(block, row, text)


def _type_fault(name: str, wanted: FeatureSpec, kind: int, block: RowBlock) -> FormatError:
    shown = "string" if wanted.dtype is not None and wanted.dtype.kind == "U" else str(wanted.dtype)
    text = (
        f"The data type loaded from the example for feature name: {name} does not match the predefined type in "
        f"schema, the actual type: {NAMES[kind]}, but the predefined type: {shown}"
    )
    return _fault(block, 0, text)


def _fault(block: RowBlock, row: int, text: str) -> FormatError:
    error = block.error(row, text, "record")
    error.row_index = int(block.rows[row])  # type: ignore[attr-defined]
    return error
