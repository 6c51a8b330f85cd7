"""MessagePack codec of raw rows, vectorized over many rows.

The encoder produces exactly the bytes of MindSpore. The decoder reads MindSpore's layout (sorted keys) vectorized, one
field at a time over all rows; any other valid map is decoded row by row.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError
from millrace._src.data.formats.mindrecord.schema import Field

__all__ = [
    "DUMMY_RAW",
    "decode_columns",
    "decode_row",
    "encode_floats",
    "encode_ints",
    "encode_strings",
    "row_prefix",
]

DUMMY_RAW = b"\x81\xa2id\x00"  # payload of a row without scalar fields
Ints = npt.NDArray[np.int64]

# --- writing ------------------------------------------------------------------------------------------------

_SMALL = [struct.pack("B", v & 0xFF) for v in range(-32, 128)]
_FORMS = [  # (low, high, tag and big-endian value), shortest first
    (0, 0xFF, struct.Struct(">BB"), 0xCC),
    (0, 0xFFFF, struct.Struct(">BH"), 0xCD),
    (0, 0xFFFFFFFF, struct.Struct(">BI"), 0xCE),
    (0, 2**63 - 1, struct.Struct(">BQ"), 0xCF),
    (-(2**7), -1, struct.Struct(">Bb"), 0xD0),
    (-(2**15), -1, struct.Struct(">Bh"), 0xD1),
    (-(2**31), -1, struct.Struct(">Bi"), 0xD2),
    (-(2**63), -1, struct.Struct(">Bq"), 0xD3),
]
_FLOAT, _DOUBLE = struct.Struct(">Bf"), struct.Struct(">Bd")


def _encode_int(value: int) -> bytes:
    if -32 <= value < 128:
        return _SMALL[value + 32]
    for low, high, form, tag in _FORMS:
        if low <= value <= high:
            return form.pack(tag, value)
    raise OverflowError(f"{value} does not fit in 64 bits")


def encode_ints(values: Sequence[int]) -> list[bytes]:
    """Encode each integer in its shortest form.

    >>> encode_ints([7, -300, 200])
    [b'\\x07', b'\\xd1\\xfe\\xd4', b'\\xcc\\xc8']
    """
    small = _SMALL
    return [small[v + 32] if -32 <= v < 128 else _encode_int(v) for v in values]


def encode_floats(values: Sequence[float]) -> list[bytes]:
    """Encode each float as float32 if that is exact, else as float64.

    >>> encode_floats([0.5, 0.1])
    [b'\\xca?\\x00\\x00\\x00', b'\\xcb?\\xb9\\x99\\x99\\x99\\x99\\x99\\x9a']
    """
    wide = np.array(values, np.float64)
    with np.errstate(over="ignore"):
        short = (wide.astype(np.float32) == wide) & np.isfinite(wide)
    one, two = _FLOAT.pack, _DOUBLE.pack
    return [one(0xCA, v) if s else two(0xCB, v) for v, s in zip(values, short.tolist())]


def _encode_text(data: bytes) -> bytes:
    size = len(data)
    if size < 32:
        return bytes((0xA0 | size,)) + data
    if size < 256:
        return bytes((0xD9, size)) + data
    if size < 65536:
        return struct.pack(">BH", 0xDA, size) + data
    return struct.pack(">BI", 0xDB, size) + data


def encode_strings(values: Sequence[str]) -> list[bytes]:
    """Encode each string as UTF-8 with its length.

    >>> encode_strings(["é"])
    [b'\\xa2\\xc3\\xa9']
    """
    return [_encode_text(v.encode("utf-8")) for v in values]


def map_header(count: int) -> bytes:
    """The header of a map with this many entries."""
    return bytes((0x80 | count,)) if count < 16 else struct.pack(">BH", 0xDE, count)


def key_bytes(name: str) -> bytes:
    """Encode a field name as a key."""
    return _encode_text(name.encode())


def row_prefix(fields: Sequence[Field]) -> bytes:
    """The first bytes of every raw row of a schema, as MindSpore and Millrace write it."""
    return map_header(len(fields)) + key_bytes(fields[0].name) if fields else DUMMY_RAW


# --- reading, many rows at once -----------------------------------------------------------------------------

_WIDTH = np.zeros(256, np.int64)  # bytes of a number, including its tag; 0: not a number
_WIDTH[:128] = _WIDTH[224:] = 1
for _tag, _size in {
    0xCC: 2,
    0xCD: 3,
    0xCE: 5,
    0xCF: 9,
    0xD0: 2,
    0xD1: 3,
    0xD2: 5,
    0xD3: 9,
    0xCA: 5,
    0xCB: 9,
}.items():
    _WIDTH[_tag] = _size
_PAYLOAD = np.ones(256, np.int64)  # offset of the value's bytes: 0 (the tag itself) for small integers
_PAYLOAD[:128] = _PAYLOAD[224:] = 0
_SHIFT = np.zeros(256, np.int64)  # bits to shift the eight bytes read, which leaves the bytes of the value
_SHIFT[:] = 64 - 8 * np.maximum(_WIDTH - _PAYLOAD, 1)
_UNSIGNED = np.zeros(256, bool)
_UNSIGNED[[0xCC, 0xCD, 0xCE, 0xCF]] = True
_IS_INT = _WIDTH > 0
_IS_INT[[0xCA, 0xCB]] = False


class _UnusualLayout(Exception):
    """A row does not have MindSpore's layout and must be decoded individually."""


class _Uint64Windows:
    """Big-endian uint64 values at any offsets of a buffer that ends in eight spare bytes."""

    def __init__(self, data: bytes) -> None:
        self.bytes = np.frombuffer(data, np.uint8)
        self.windows = np.ndarray((len(data) - 7,), np.uint64, data, 0, (1,))
        self.last = len(data) - 8

    def at(self, offsets: Ints) -> npt.NDArray[np.uint64]:
        if bool((offsets > self.last).any()):
            raise _UnusualLayout
        return self.windows[offsets].byteswap()


def _skip_expected(windows: _Uint64Windows, offsets: Ints, text: bytes) -> Ints:
    """Check that all rows have this text at their offset; return the offsets after it."""
    for begin in range(0, len(text), 8):
        part = text[begin : begin + 8]
        actual = windows.at(offsets + begin) >> np.uint64(64 - 8 * len(part))
        if bool((actual != np.uint64(int.from_bytes(part, "big"))).any()):
            raise _UnusualLayout
    return offsets + len(text)


def _read_numbers(
    windows: _Uint64Windows, offsets: Ints, field: Field, want: bool
) -> tuple[Ints, npt.NDArray[Any] | None]:
    tags = windows.bytes[offsets]
    widths = _WIDTH[tags]
    after = offsets + widths
    is_int = _IS_INT[tags]
    if not bool(widths.all()) or (field.is_integer and not bool(is_int.all())):
        raise _UnusualLayout
    if not want:
        return after, None
    raw = windows.at(offsets + _PAYLOAD[tags])
    if field.is_float and not bool(is_int.any()):
        wide = tags == 0xCB
        if bool(wide.all()):
            return after, raw.view(np.float64)
        with np.errstate(invalid="ignore"):
            short = (raw >> np.uint64(32)).astype(np.uint32).view(np.float32).astype(np.float64)
        return after, np.where(wide, raw.view(np.float64), short)
    shifts = _SHIFT[tags]
    values = raw.view(np.int64) >> shifts
    unsigned = _UNSIGNED[tags]
    if bool(unsigned.any()):
        unsigned_values = (raw >> shifts.view(np.uint64)).view(np.int64)
        if bool((unsigned & (unsigned_values < 0)).any()):
            raise _UnusualLayout  # beyond int64: the row decoder raises the error
        values = np.where(unsigned, unsigned_values, values)
    if field.is_float:
        raise _UnusualLayout  # integers in a float field: valid but rare
    return after, values


def _string_bounds(windows: _Uint64Windows, offsets: Ints) -> tuple[Ints, Ints]:
    """Start and end offset of each string."""
    tags = windows.bytes[offsets].astype(np.int64)
    short = (tags >= 0xA0) & (tags < 0xC0)
    if bool(short.all()):
        return offsets + 1, offsets + 1 + (tags & 31)
    sized = (tags >= 0xD9) & (tags <= 0xDB)
    if not bool((short | sized).all()):
        raise _UnusualLayout
    count = np.where(short, 0, np.left_shift(1, np.clip(tags - 0xD9, 0, 2)))  # bytes of the length
    lengths = (
        windows.at(np.minimum(offsets + 1, windows.last)) >> (64 - 8 * np.maximum(count, 1)).view(np.uint64)
    ).view(np.int64)
    begin = offsets + 1 + count
    return begin, begin + np.where(short, tags & 31, lengths)


def decode_columns(
    data: bytes, starts: Ints, ends: Ints, fields: Sequence[Field], wanted: Sequence[str]
) -> dict[str, Any]:
    """Decode the wanted columns of rows at [starts, ends) of data, which ends in eight spare bytes.

    Integers are returned as int64, floats as float64 (as stored), strings as a list.
    """
    try:
        return _decode_by_field(data, starts, ends, fields, set(wanted))
    except _UnusualLayout:
        pass
    rows = []
    for number, (start, end) in enumerate(zip(starts.tolist(), ends.tolist())):
        try:
            rows.append(decode_row(data[start:end], fields))
        except FormatError as error:
            error.context["block_row"] = number
            raise
    columns: dict[str, Any] = {}
    for field in fields:
        if field.name in wanted:
            column = [row[field.name] for row in rows]
            dtype = np.int64 if field.is_integer else np.float64
            columns[field.name] = column if field.type == "string" else np.array(column, dtype)
    return columns


def _decode_by_field(
    data: bytes, starts: Ints, ends: Ints, fields: Sequence[Field], wanted: set[str]
) -> dict[str, Any]:
    windows = _Uint64Windows(data)
    columns: dict[str, Any] = {}
    offsets = starts
    prefix = map_header(len(fields))
    for field in fields:
        # compare map header and key together: most keys are short
        offsets = _skip_expected(windows, offsets, prefix + key_bytes(field.name))
        prefix = b""
        if bool((offsets >= ends).any()):
            raise _UnusualLayout
        if field.type != "string":
            offsets, values = _read_numbers(windows, offsets, field, field.name in wanted)
            if values is not None:
                columns[field.name] = values
            continue
        begin, offsets = _string_bounds(windows, offsets)
        if bool((offsets > ends).any()) or bool((begin > offsets).any()):
            raise _UnusualLayout
        if field.name in wanted:
            try:
                columns[field.name] = [
                    str(data[b:e], "utf-8") for b, e in zip(begin.tolist(), offsets.tolist())
                ]
            except UnicodeDecodeError:
                raise _UnusualLayout from None
    if bool((offsets != ends).any()):
        raise _UnusualLayout
    return columns


# --- reading, any legal row ---------------------------------------------------------------------------------

_NUMBER = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_FIXED = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}
_COUNTED = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1)}
_NESTED = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}


class _Cursor:
    """A read position in one row; every read is bounds-checked."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise FormatError("a value extends past the end of its raw row")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count), "big")

    def scalar(self) -> int | float | str | None:
        """Read the next value if it is a number or text; skip any other value and return None."""
        tag = self.number(1)
        if tag < 0x80:
            return tag
        if tag >= 0xE0:
            return tag - 256
        if tag in _NUMBER:
            form = _NUMBER[tag]
            return struct.unpack(form, self.take(struct.calcsize(form)))[0]
        if 0xA0 <= tag < 0xC0 or 0xD9 <= tag <= 0xDB:
            size = tag & 31 if tag < 0xC0 else self.number(1 << (tag - 0xD9))
            try:
                return self.take(size).decode("utf-8")
            except UnicodeDecodeError:
                raise FormatError("a string of a raw row is not UTF-8") from None
        self._skip(tag)
        return None

    def _skip(self, tag: int) -> None:
        pending = 1
        while True:
            if 0x80 <= tag < 0x90:
                pending += 2 * (tag & 15)
            elif 0x90 <= tag < 0xA0:
                pending += tag & 15
            elif tag in _NESTED:
                size, items_per_entry = _NESTED[tag]
                pending += items_per_entry * self.number(size)
            elif tag in _FIXED:
                self.take(_FIXED[tag])
            elif tag in _COUNTED:
                size, extra = _COUNTED[tag]
                self.take(self.number(size) + extra)
            elif tag in _NUMBER:
                self.take(struct.calcsize(_NUMBER[tag]))
            elif 0xA0 <= tag < 0xC0 or 0xD9 <= tag <= 0xDB:
                self.take(tag & 31 if tag < 0xC0 else self.number(1 << (tag - 0xD9)))
            elif 0x80 <= tag < 0xE0:
                raise FormatError(f"a raw row holds the byte {tag:#x}, which begins no value")
            pending -= 1
            if not pending:
                return
            tag = self.number(1)


def decode_row(data: bytes, fields: Sequence[Field]) -> dict[str, Any]:
    """Decode the scalar fields of one raw row with keys in any order; unknown keys are ignored.

    >>> decode_row(b"\\x82\\xa1x\\x05\\xa1b\\xcb" + b"\\0" * 8, [Field("b", "float64"), Field("x", "int32")])
    {'b': 0.0, 'x': 5}
    """
    cursor = _Cursor(data)
    tag = cursor.number(1)
    if 0x80 <= tag < 0x90:
        count = tag & 15
    elif tag in (0xDE, 0xDF):
        count = cursor.number(2 if tag == 0xDE else 4)
    else:
        raise FormatError(f"a raw row begins with {tag:#x}, not with a map")
    values: dict[str, Any] = {}
    for _ in range(count):
        key = cursor.scalar()
        value = cursor.scalar()
        if isinstance(key, str):
            if key in values:
                raise FormatError("a raw row holds a field twice", column=key)
            values[key] = value
    if cursor.at != len(data):
        raise FormatError(f"{len(data) - cursor.at} bytes follow the map in a raw row")
    return {field.name: _check_value(field, values) for field in fields}


def _check_value(field: Field, values: dict[str, Any]) -> Any:
    if field.name not in values:
        raise FormatError("a raw row lacks a field of the schema", column=field.name)
    value = values[field.name]
    if field.type == "string":
        good = isinstance(value, str)
    elif field.is_integer:
        good = isinstance(value, int) and value < 2**63
    else:
        good = isinstance(value, (int, float))
        value = float(value) if good else value
    if not good:
        raise FormatError(f"a raw row holds a {type(value).__name__} for {field.type}", column=field.name)
    return value
