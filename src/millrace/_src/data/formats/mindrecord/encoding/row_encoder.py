"""Encoding of user rows to raw and blob payloads, with exact value checks."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.data.formats.mindrecord.exceptions import MRMValidateDataError, ParamTypeError
from millrace._src.data.formats.mindrecord.schema import Field, RecordSchema

from .blob_fields import DUMMY_BLOB
from .msgpack import DUMMY_RAW, encode_floats, encode_ints, encode_strings, key_bytes, map_header
from .packed_integers import pack

__all__ = ["encode_rows", "exact_value"]

_RANGE = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_LENGTH = struct.Struct(">Q")


def encode_rows(
    schema: RecordSchema, rows: Sequence[Mapping[str, Any]], indexed: Sequence[str] = ()
) -> tuple[list[bytes], list[bytes], int]:
    """Encode rows; return raw payloads, blob payloads and the bytes saved by packing integers.

    Values are never dropped or rounded: a row that does not fit the schema raises an error with row and field. Numbers
    and arrays of another type are accepted if the conversion is exact.

    >>> schema = RecordSchema.parse({"n": {"type": "int32"}})
    >>> encode_rows(schema, [{"n": 7}])
    ([b'\\x81\\xa1n\\x07'], [b'\\x00\\x00\\x00\\x00'], 0)
    >>> encode_rows(schema, [{"n": 7}, {"n": 2**31}])
    Traceback (most recent call last):
    ...
    millrace.mindrecord.common.exceptions.MRMValidateDataError: row 1, field 'n': 2147483648 is beyond int32
    """
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ParamTypeError(f"row {number} is a {type(row).__name__}, not a dict")
    raw = _raw_payloads(schema, rows, indexed)
    blob, saved = _blob_payloads(schema, rows)
    return raw, blob, saved


def exact_value(field: Field, value: Any) -> Any:
    """Convert a value to the type of the field (int, float, str, bytes or array); refuse inexact conversions.

    >>> exact_value(Field("n", "int32"), 3.0)
    3
    """
    convert: Callable[[Field, Any], Any]
    if field.is_blob:
        convert = _to_bytes if field.type == "bytes" else _to_array
    elif field.type == "string":
        convert = _to_str
    else:
        convert = _to_int if field.is_integer else _to_float
    try:
        exact: Any = convert(field, value)
    except _ValueMismatch as mismatch:
        raise MRMValidateDataError(f"field '{field.name}': {mismatch}") from None
    if field.is_integer and not field.is_blob:
        low, high = _RANGE[field.type]
        if not low <= exact <= high:
            raise MRMValidateDataError(f"field '{field.name}': {exact} is beyond {field.type}")
    return exact


def _column_values(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    try:
        return [row[name] for row in rows]
    except KeyError:
        number = next(n for n, row in enumerate(rows) if name not in row)
        raise MRMValidateDataError(f"row {number} has no field '{name}'") from None


def _raw_payloads(
    schema: RecordSchema, rows: Sequence[Mapping[str, Any]], indexed: Sequence[str]
) -> list[bytes]:
    if not schema.raw:
        return [DUMMY_RAW] * len(rows)
    parts: list[Any] = []
    front = map_header(len(schema.raw))
    for field in schema.raw:
        parts.append(repeat(front + key_bytes(field.name), len(rows)))
        parts.append(_encode_scalars(field, _column_values(rows, field.name), field.name in indexed))
        front = b""
    return list(map(b"".join, zip(*parts)))


def _convert_values(
    field: Field, values: list[Any], convert: Callable[[Field, Any], Any], python_type: type
) -> list[Any]:
    """Convert the values to one Python type; values that have the type already are kept."""
    if set(map(type, values)) <= {python_type}:
        return values
    converted = []
    for number, value in enumerate(values):
        try:
            converted.append(value if type(value) is python_type else convert(field, value))
        except _ValueMismatch as mismatch:
            raise MRMValidateDataError(f"row {number}, field '{field.name}': {mismatch}") from None
    return converted


class _ValueMismatch(Exception):
    """A value does not fit its field."""


def _encode_scalars(field: Field, column: list[Any], indexed: bool) -> list[bytes]:
    if field.type == "string":
        strings = _convert_values(field, column, _to_str, str)
        try:
            return encode_strings(strings)
        except UnicodeEncodeError:
            bad = next(n for n, text in enumerate(strings) if _has_surrogate(text))
            raise MRMValidateDataError(
                f"row {bad}, field '{field.name}': the text has no UTF-8 form"
            ) from None
    if field.is_integer:
        ints = _convert_values(field, column, _to_int, int)
        low, high = _RANGE[field.type]
        if ints and not (low <= min(ints) and max(ints) <= high):
            bad = next(n for n, v in enumerate(ints) if not low <= v <= high)
            raise MRMValidateDataError(f"row {bad}, field '{field.name}': {ints[bad]} is beyond {field.type}")
        return encode_ints(ints)
    floats = _convert_values(field, column, _to_float, float)
    if indexed and not all(map(math.isfinite, floats)):
        bad = next(n for n, v in enumerate(floats) if not math.isfinite(v))
        raise MRMValidateDataError(
            f"row {bad}, field '{field.name}': {floats[bad]} cannot be in the index (MindSpore crashes on it); "
            "call add_index() with the other fields only"
        )
    return encode_floats(floats)


def _has_surrogate(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _to_python_scalar(value: Any) -> Any:
    """Convert numpy scalars and 0-d arrays to Python numbers; return other values unchanged."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.generic) and not isinstance(value, np.bool_):
        return value.item()
    return value


def _to_str(field: Field, value: Any) -> str:
    value = _to_python_scalar(value)
    if not isinstance(value, str):
        raise _ValueMismatch(f"expected a str, got {type(value).__name__}")
    return str(value)


def _to_int(field: Field, value: Any) -> int:
    number = _to_python_scalar(value)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise _ValueMismatch(f"expected an int, got {type(value).__name__}")
    if isinstance(number, float) and not number.is_integer():
        raise _ValueMismatch(f"{number} is not an integer")
    return int(number)


def _to_float(field: Field, value: Any) -> float:
    number = _to_python_scalar(value)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise _ValueMismatch(f"expected a float, got {type(value).__name__}")
    if isinstance(number, int) and abs(number) > 2**1023:
        raise _ValueMismatch(f"{number} is too big for {field.type}")
    wide = float(number)
    kept = float(np.float32(wide)) if field.type == "float32" else wide
    if isinstance(number, int) and kept != number:
        raise _ValueMismatch(f"{number} has no exact {field.type}")
    return wide


# --- blobs --------------------------------------------------------------------------------------------------


def _blob_payloads(schema: RecordSchema, rows: Sequence[Mapping[str, Any]]) -> tuple[list[bytes], int]:
    fields = schema.blob
    if not fields:
        return [DUMMY_BLOB] * len(rows), 0
    saved = 0
    columns = []
    for field in fields:
        column = _column_values(rows, field.name)
        if field.type == "bytes":
            columns.append(_convert_values(field, column, _to_bytes, bytes))
            continue
        arrays = _convert_values(field, column, _to_array, _NoType)
        if field.is_integer:
            packed = [pack(array) for array in arrays]
            saved += sum(array.nbytes for array in arrays) - sum(map(len, packed))
            columns.append(packed)
        else:
            columns.append([array.tobytes() for array in arrays])
    if len(fields) == 1:
        return columns[0], saved
    prefix = _LENGTH.pack
    pairs: list[Any] = []
    for column in columns:
        pairs += [[prefix(len(value)) for value in column], column]
    return list(map(b"".join, zip(*pairs))), saved


class _NoType:
    """No value has this type, so every value is converted."""


def _to_bytes(field: Field, value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise _ValueMismatch(
        f"expected bytes, got {type(value).__name__}; for an ndarray declare a shape in the schema"
    )


def _to_array(field: Field, value: Any) -> npt.NDArray[Any]:
    """Convert a value to the dtype and shape of the schema; an array with the same number of elements is reshaped."""
    if not isinstance(value, (np.ndarray, list, tuple, np.generic)):
        raise _ValueMismatch(f"expected an ndarray, got {type(value).__name__}")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise _ValueMismatch(str(error)) from None
    if array.size == 0 and not isinstance(value, np.ndarray):
        array = array.astype(field.dtype)
    if array.dtype != field.dtype:
        array = _cast_exact(array, field)
    shape = field.shape_for(array.size)
    if shape is None:
        text = f"{array.size} elements of shape {list(array.shape)} do not fit {list(field.shape or ())}"
        raise _ValueMismatch(text)
    return np.ascontiguousarray(array).reshape(shape)


def _cast_exact(array: npt.NDArray[Any], field: Field) -> npt.NDArray[Any]:
    if array.dtype.kind not in "iuf":
        raise _ValueMismatch(f"elements of {array.dtype} are not {field.type}; convert them with astype()")
    with np.errstate(all="ignore"):
        converted = array.astype(field.dtype)
        back = converted.astype(array.dtype)
        same = (back == array) | ((array != array) & (converted != converted))
    if field.is_integer and array.dtype.kind in "uf":
        # 2**63 as float or uint64 wraps to a negative number and back
        same &= (converted >= 0) == (array >= 0)
    elif field.is_float and array.dtype.kind in "iu":
        same &= np.abs(converted) < 2.0**63  # the reverse conversion would saturate
    if not bool(same.all()):
        bad = array[~same].reshape(-1)[0]
        text = (
            f"an array of {array.dtype} holds {bad}, which {field.type} cannot; change the schema or round it"
        )
        raise _ValueMismatch(text)
    return converted
