"""Parse and encode single ``tf.train.Example`` messages without TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, FormatError
from millrace._src.core.io.protobuf import field, varint

__all__ = ["encode_example", "parse_example"]

_MAX_FEATURES = 100_000

Feature = npt.NDArray[Any] | list[bytes]


class _InvalidExample(Exception):
    pass


def parse_example(data: bytes, file: str = "", row: int = 0) -> dict[str, Feature]:
    """Parse a serialized tf.train.Example into int64 and float32 arrays and lists of bytes.

    >>> features = parse_example(encode_example({"n": [1, -2], "x": [0.5], "s": b"hi"}))
    >>> features["n"].tolist(), features["x"].tolist(), features["s"]
    ([1, -2], [0.5], [b'hi'])
    """
    parsed: dict[str, Feature] = {}
    view = memoryview(data)
    try:
        for number, features in _fields(view):
            if number == 1:
                for inner, entry in _fields(_message(features)):
                    if inner == 1:
                        name, feature = _parse_entry(_message(entry))
                        parsed[name] = feature
                        if len(parsed) > _MAX_FEATURES:
                            raise _InvalidExample(f"more than {_MAX_FEATURES} features")
    except (_InvalidExample, UnicodeDecodeError) as error:
        raise FormatError(f"the record is not an Example: {error}", file=file or None, row=row) from None
    return parsed


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise _InvalidExample("a number is cut short")


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """Iterate over (field number, value): an int for a varint, else a memoryview."""
    offset = 0
    while offset < len(data):
        key, offset = _varint(data, offset)
        wire_type = key & 7
        if wire_type == 0:
            value, offset = _varint(data, offset)
            yield key >> 3, value
            continue
        if wire_type == 2:
            size, offset = _varint(data, offset)
        elif wire_type in (1, 5):
            size = 8 if wire_type == 1 else 4
        else:
            raise _InvalidExample(f"wire type {wire_type}")
        if size > len(data) - offset:
            raise _InvalidExample("a field reaches past its end")
        yield key >> 3, data[offset : offset + size]
        offset += size


def _message(value: Any) -> memoryview:
    if not isinstance(value, memoryview):
        raise _InvalidExample("a number stands where a message must")
    return value


def _parse_entry(data: memoryview) -> tuple[str, Feature]:
    name, feature = "", memoryview(b"")
    for number, value in _fields(data):
        if number == 1:
            name = bytes(_message(value)).decode()
        elif number == 2:
            feature = _message(value)
    values: Feature = []
    for number, value in _fields(feature):
        if number == 1:
            values = [bytes(_message(item)) for n, item in _fields(_message(value)) if n == 1]
        elif number == 2:
            values = _parse_floats(_message(value))
        elif number == 3:
            values = _parse_ints(_message(value))
    return name, values


def _parse_floats(data: memoryview) -> npt.NDArray[np.float32]:
    parts = []
    for number, value in _fields(data):
        if number == 1:
            if len(_message(value)) % 4:
                raise _InvalidExample("a list of floats of another length")
            parts.append(np.frombuffer(value, "<f4"))
    return np.concatenate(parts).astype(np.float32) if parts else np.empty(0, np.float32)


def _parse_ints(data: memoryview) -> npt.NDArray[np.int64]:
    parts: list[npt.NDArray[np.uint64]] = []
    for number, value in _fields(data):
        if number == 1:
            parts.append(
                np.array([value], np.uint64) if isinstance(value, int) else _parse_packed_ints(value)
            )
    return np.concatenate(parts).view(np.int64) if parts else np.empty(0, np.int64)


def _parse_packed_ints(data: memoryview) -> npt.NDArray[np.uint64]:
    """Decode all varints of a packed list at once."""
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw < 0x80)
    if len(raw) and (not len(ends) or ends[-1] != len(raw) - 1):
        raise _InvalidExample("a number is cut short")
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    if len(ends) and int((ends - starts).max()) > 9:
        raise _InvalidExample("a number of more than ten bytes")
    number_index = np.repeat(np.arange(len(ends)), ends - starts + 1)
    shifts = ((np.arange(len(raw)) - starts[number_index]) * 7).astype(np.uint64)
    values = np.zeros(len(ends), np.uint64)
    np.bitwise_or.at(values, number_index, (raw & 0x7F).astype(np.uint64) << shifts)
    return values


def encode_example(features: Mapping[str, Any]) -> bytes:
    """Serialize a tf.train.Example of ints, floats, text and bytes, or flat lists of them.

    Values are never rounded: a float that float32 cannot represent, or an int beyond int64, is refused.

    >>> encode_example({"a": 1})
    b'\\n\\x0c\\n\\n\\n\\x01a\\x12\\x05\\x1a\\x03\\n\\x01\\x01'
    """
    entries = []
    for name, value in features.items():
        entries.append(field(1, field(1, name.encode()) + field(2, _encode_feature(name, value))))
    return field(1, b"".join(entries))


def _encode_feature(name: str, value: Any) -> bytes:
    if isinstance(value, (str, bytes)):
        value = [value]
    if isinstance(value, list) and value and all(isinstance(item, (str, bytes)) for item in value):
        texts = [item.encode() if isinstance(item, str) else item for item in value]
        return field(1, b"".join(field(1, text) for text in texts))
    array = np.asarray(value)
    if array.dtype.kind in "SU":
        return _encode_feature(name, array.ravel().tolist())
    if array.dtype.kind not in "biuf":
        raise ArgumentTypeError(
            f"'{name}': an Example cannot hold {array.dtype}, only integers, floats or bytes"
        )
    flat = array.ravel()
    if array.dtype.kind in "biu":
        if array.dtype == np.uint64 and flat.size and int(flat.max()) > 2**63 - 1:
            raise ArgumentValueError(f"'{name}': {int(flat.max())} is beyond int64")
        packed = b"".join(map(varint, flat.astype(np.int64).tolist()))
        return field(3, field(1, packed))
    with np.errstate(over="ignore"):
        narrow = flat.astype("<f4")
    lost = (narrow.astype(flat.dtype) != flat) & ~np.isnan(flat)
    if bool(lost.any()):
        text = f"'{name}': {flat[lost][0]} is not a float32; round it with astype(np.float32) first"
        raise ArgumentValueError(text)
    return field(2, field(1, narrow.tobytes()))
