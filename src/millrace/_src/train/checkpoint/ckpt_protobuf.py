"""Protobuf encoding of ``.ckpt`` files: one message per chunk of a value.

A message has a name, a shape, a type name and the elements. No arrays are created here: reading returns the byte ranges
of the elements after checking all lengths against the file size; writing returns the bytes before the elements.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from millrace._src.core.io.protobuf import field, varint

__all__ = [
    "CHUNK",
    "CRC_BYTES",
    "CRC_MARK",
    "CorruptCheckpointError",
    "Record",
    "head",
    "join",
    "parse_print_records",
    "scan",
]

# MindSpore splits longer values into several messages of the same name, so that no message reaches 2 GB.
CHUNK = 512 << 20
# Optional end of the file: a marker, and the CRC-32 of everything before it in ten bytes.
CRC_MARK = b"crc_num"
CRC_BYTES = len(CRC_MARK) + 10

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_DIMS = 64


class CorruptCheckpointError(Exception):
    """The file is not a valid checkpoint; ``offset`` and ``name`` locate the damage."""

    def __init__(self, text: str, offset: int, name: str = "") -> None:
        super().__init__(text)
        self.text, self.offset, self.name = text, offset, name

    def __str__(self) -> str:
        return f"{self.text} (byte {self.offset}{f', in {self.name!r}' if self.name else ''})"


@dataclasses.dataclass(slots=True)
class Record:
    """One value. ``spans`` are the byte ranges of its elements; a hash table (``parts``) has three values."""

    name: str
    element_type: str
    dims: tuple[int, ...]
    spans: list[tuple[int, int]]
    offset: int
    parts: list[Record] = dataclasses.field(default_factory=list)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return sum(end - start for start, end in self.spans)


def scan(buffer: Any) -> Iterator[Record]:
    """Iterate over the messages in the buffer, up to the first damaged one.

    >>> made = head("w", "Int16", (2,), 4) + bytes([1, 0, 2, 0])
    >>> [(record.name, record.element_type, record.dims, record.nbytes) for record in scan(made)]
    [('w', 'Int16', (2,), 4)]
    >>> list(scan(made[:-1]))
    Traceback (most recent call last):
    ...
    millrace._src.train.checkpoint.ckpt_protobuf.CorruptCheckpointError: the file ends inside of a message of 20 ...
    """
    at, size = 0, len(buffer)
    while at < size:
        begin = at
        number, wire, at = _read_key(buffer, at, size, "")
        if wire == _BYTES:
            count, start = _read_varint(buffer, at, size, "")
            if start + count > size:
                raise CorruptCheckpointError(f"the file ends inside of a message of {count} bytes", begin)
            at = start + count
            if number == 1:
                yield _parse_value(buffer, start, at, begin)
        else:
            at = _skip_field(buffer, at, size, wire, "")


def join(records: Iterator[Record]) -> Iterator[Record]:
    """Join adjacent messages of one name, which are the chunks of one value.

    >>> made = b"".join(head("w", "Int8", (3,), 1) + bytes([i]) for i in range(3))
    >>> [(record.name, len(record.spans)) for record in join(scan(made))]
    [('w', 3)]
    """
    last: Record | None = None
    for record in records:
        if last is not None and record.name == last.name:
            if (record.element_type, record.dims) != (last.element_type, last.dims) and not record.parts:
                raise CorruptCheckpointError(
                    f"a chunk has {record.element_type}{list(record.dims)}, the one before it has "
                    f"{last.element_type}{list(last.dims)}",
                    record.offset,
                    record.name,
                )
            last.spans += record.spans
            for index, part in enumerate(record.parts[: len(last.parts)]):
                mine = last.parts[index]
                mine.spans += part.spans
                mine.dims = (mine.dims[0] + part.dims[0], *mine.dims[1:]) if mine.dims and part.dims else ()
            continue
        if last is not None:
            yield last
        last = record
    if last is not None:
        yield last


def head(name: str, element_type: str, dims: tuple[int, ...], count: int) -> bytes:
    """Encode a message without its elements, the last ``count`` bytes.

    >>> head("w", "Float32", (2, 3), 24).hex(" ")
    '0a 2c 0a 01 77 12 27 08 02 08 03 12 07 46 6c 6f 61 74 33 32 1a 18'
    """
    tensor = (
        b"".join(b"\x08" + varint(dim) for dim in dims)
        + field(2, element_type.encode())
        + b"\x1a"
        + varint(count)
    )
    tagged = field(1, name.encode()) + b"\x12" + varint(len(tensor) + count) + tensor
    return b"\x0a" + varint(len(tagged) + count) + tagged


# --- reading ------------------------------------------------------------------------------------------------


def _read_varint(buffer: Any, at: int, end: int, name: str) -> tuple[int, int]:
    value = shift = 0
    begin = at
    while True:
        if at >= end:
            raise CorruptCheckpointError("the file ends inside of a number", begin, name)
        byte = buffer[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 63:
            raise CorruptCheckpointError("a number has more than ten bytes", begin, name)
    return value & 0xFFFFFFFFFFFFFFFF, at


def _read_key(buffer: Any, at: int, end: int, name: str) -> tuple[int, int, int]:
    begin = at
    key, at = _read_varint(buffer, at, end, name)
    number, wire = key >> 3, key & 7
    if not number or wire not in (_VARINT, _FIXED64, _BYTES, _FIXED32):
        raise CorruptCheckpointError("this is no part of a checkpoint", begin, name)
    return number, wire, at


def _skip_field(buffer: Any, at: int, end: int, wire: int, name: str) -> int:
    """Skip an unknown field; returns the offset behind it."""
    if wire == _VARINT:
        return _read_varint(buffer, at, end, name)[1]
    if wire == _BYTES:
        count, start = _read_varint(buffer, at, end, name)
        after = start + count
    else:
        after = at + (8 if wire == _FIXED64 else 4)
    if after > end:
        raise CorruptCheckpointError("a part is longer than what holds it", at, name)
    return after


def _iterate_fields(buffer: Any, at: int, end: int, name: str) -> Iterator[tuple[int, int, int, int]]:
    """(number, wire type, start, end) of each field of a message."""
    while at < end:
        number, wire, start = _read_key(buffer, at, end, name)
        if wire == _BYTES:
            count, start = _read_varint(buffer, start, end, name)
            at = start + count
            if at > end:
                raise CorruptCheckpointError(
                    f"a part of {count} bytes is longer than what holds it", start, name
                )
        else:
            at = _skip_field(buffer, start, end, wire, name)
        yield number, wire, start, at


def _parse_value(buffer: Any, at: int, end: int, offset: int) -> Record:
    name = ""
    record: Record | None = None
    try:
        for number, wire, start, stop in _iterate_fields(buffer, at, end, ""):
            if wire != _BYTES:
                continue
            if number == 1:
                name = _decode_text(buffer, start, stop, "")
            elif number == 2:
                record = _parse_tensor(buffer, start, stop, name, offset)
            elif number == 3:
                record = _parse_table(buffer, start, stop, name, offset)
    except CorruptCheckpointError as damage:
        damage.name = damage.name or name
        raise
    if record is None:
        raise CorruptCheckpointError("a message holds no value", offset, name)
    if not name:
        raise CorruptCheckpointError("a value has no name", offset)
    record.name = name
    return record


def parse_print_records(buffer: Any) -> Iterator[str | Record]:
    """Records of a print file in order: strings and tensors. Its messages have no names."""
    for number, wire, start, stop in _iterate_fields(buffer, 0, len(buffer), ""):
        if number != 1 or wire != _BYTES:
            continue
        value: str | Record | None = None
        for inner, wire_type, begin, end in _iterate_fields(buffer, start, stop, ""):
            if wire_type == _BYTES and inner in (1, 2):
                value = (
                    _decode_text(buffer, begin, end, "")
                    if inner == 1
                    else _parse_tensor(buffer, begin, end, "", start)
                )
        if value is None:
            raise CorruptCheckpointError("a message holds no value", start)
        yield value


def _parse_table(buffer: Any, at: int, end: int, name: str, offset: int) -> Record:
    parts = [
        _parse_tensor(buffer, start, stop, name, offset)
        for number, wire, start, stop in _iterate_fields(buffer, at, end, name)
        if number == 1 and wire == _BYTES
    ]
    return Record(name, "map", (), [], offset, parts)


def _parse_tensor(buffer: Any, at: int, end: int, name: str, offset: int) -> Record:
    dims: list[int] = []
    element_type, span = "", None
    for number, wire, start, stop in _iterate_fields(buffer, at, end, name):
        if number == 1 and wire == _VARINT:
            dims.append(_read_varint(buffer, start, stop, name)[0])
        elif number == 1 and wire == _BYTES:  # packed, as newer protobuf versions write them
            while start < stop:
                dim, start = _read_varint(buffer, start, stop, name)
                dims.append(dim)
        elif number == 2 and wire == _BYTES:
            element_type = _decode_text(buffer, start, stop, name)
        elif number == 3 and wire == _BYTES:
            span = (start, stop)
        if len(dims) > _MOST_DIMS or any(dim >= 1 << 62 for dim in dims[-1:]):
            raise CorruptCheckpointError(f"the shape {dims[:8]} cannot be", start, name)
    if not element_type or span is None:
        raise CorruptCheckpointError(f"a value has no {'elements' if element_type else 'type'}", offset, name)
    return Record(name, element_type, tuple(dims), [span], offset)


def _decode_text(buffer: Any, start: int, end: int, name: str) -> str:
    try:
        return bytes(buffer[start:end]).decode()
    except UnicodeDecodeError:
        raise CorruptCheckpointError("a name is no text", start, name) from None
