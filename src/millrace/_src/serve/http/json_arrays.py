"""Convert large JSON arrays of numbers in small steps, without long Python lists and without holding the GIL for long.

`cut_arrays` first removes the texts of the arrays from a large request; the rest is small.
`NumberArray` checks such a text against a shape and converts it in parts. `encode_array` is the inverse.
"""

from __future__ import annotations

import functools
import re
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from millrace._src.core.errors import ServeError
from millrace._src.serve.limits import MAX_JSON_ESCAPES, MAX_JSON_STRINGS
from millrace._src.serve.tensor_codec import (
    DATATYPES,
    MOST_AXES,
    Array,
    TensorSpec,
    array_from_list,
    element_size,
)

__all__ = ["Divided", "NumberArray", "cut_arrays", "encode_array", "json_size"]

# Arrays with a longer text are cut out.
_CUT = 256
# Maximum size of the rest, without quoted strings.
_MAX_REST = 1 << 20
_CHUNK = 64 << 10
_WINDOW = 1 << 20
_ELEMENTS = 16 << 10
_OPENS = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*(?=\[)")
_LEADING = re.compile(rb"[ \t\r\n\[]*")
_SPACES = b" \t\r\n"
_NUMBER = b"0123456789+-.eEtrufalsn"
_NOT_STRUCTURE = _NUMBER + _SPACES
_NUMBERS_TO_DIGITS = bytes.maketrans(_NUMBER, b"0" * len(_NUMBER))
_BRACKETS_TO_SPACES = bytes.maketrans(b"[]", b"  ")
_LISTS: dict[str, Any] = {"b": list[bool], "i": list[int], "u": list[int], "f": list[float], "O": list[str]}
# The longest JSON text of an element. A float32 is written with the digits of a float64.
_ELEMENT_SIZES = {"b1": 5, "i1": 4, "i2": 6, "i4": 11, "i8": 20, "u1": 3, "u2": 5, "u4": 10, "u8": 20}
_FLOAT_SIZE = 24

_encode = msgspec.json.Encoder().encode


@functools.cache
def _list_of(element: str) -> Any:
    return msgspec.json.Decoder(_LISTS[element])


class Divided(NamedTuple):
    """JSON without its long arrays, and the arrays by their placeholder strings."""

    text: bytes
    arrays: dict[str, NumberArray]


def cut_arrays(text: bytes) -> Divided:
    """Cut each long array that is a value of an object out of `text`, up to the next string or object in it.

    Invalid JSON stays invalid: the decoder of the rest, or of an array, refuses it.
    """
    mark = secrets.token_hex(8)  # a client cannot guess it
    pieces: list[bytes] = []
    arrays: dict[str, NumberArray] = {}
    kept = position = quoted = quotes = 0
    braces = [-1, -1]  # positions of the next "{" and "}"
    size = len(text)
    while (start := text.find(b'"', position)) >= 0:
        end, count = _string_end(text, start)
        quotes += count
        quoted += end - start
        if quotes > 2 * MAX_JSON_STRINGS:
            raise ServeError(
                f"the request: expected JSON with at most {MAX_JSON_STRINGS} texts, got more. Send BYTES as binary "
                "tensors",
                413,
            )
        position = end
        match = _OPENS.match(text, end)
        if match is None:
            continue
        begins = match.end()
        stop = text.find(b'"', begins)
        stop = size if stop < 0 else stop
        for which, brace in enumerate(b"{}"):
            if braces[which] < begins:
                at = text.find(brace, begins)
                braces[which] = size if at < 0 else at
            stop = min(stop, braces[which])
        ends = text.rfind(b"]", begins, stop) + 1
        position = max(position, stop)
        if ends - begins > _CUT:
            name = f"{mark}{len(arrays)}"
            pieces += (text[kept:begins], b'"%s"' % name.encode())
            arrays[name] = NumberArray(memoryview(text)[begins:ends])
            kept = ends
    if quoted > _CHUNK:
        _check_escapes(text)
    pieces.append(text[kept:])
    rest = b"".join(pieces)
    if len(rest) - quoted > _MAX_REST:
        raise ServeError(
            f"the request: expected at most {_MAX_REST} bytes of JSON besides texts and tensors, got more",
            413,
        )
    return Divided(rest, arrays)


def _check_escapes(text: bytes) -> None:
    """Refuse too many escapes: each takes time to decode."""
    windows = range(0, len(text), _WINDOW)
    if sum(text.count(b"\\", start, start + _WINDOW) for start in windows) > MAX_JSON_ESCAPES:
        raise ServeError(
            f"the request: expected JSON with at most {MAX_JSON_ESCAPES} escaped characters, got more. Send BYTES as "
            "binary tensors",
            413,
        )


def _string_end(text: bytes, start: int) -> tuple[int, int]:
    """End of the string that starts at `start`, and the number of its quotation marks."""
    before, count = start, 1
    while (at := text.find(b'"', before + 1)) >= 0:
        count += 1
        content = text[before + 1 : at]
        if (len(content) - len(content.rstrip(b"\\"))) % 2 == 0 or count > 2 * MAX_JSON_STRINGS:
            return at + 1, count
        before = at
    return len(text), count


class NumberArray:
    """The JSON text of an array of numbers, nested or flat."""

    def __init__(self, text: memoryview) -> None:
        self._text = text
        leading = _LEADING.match(text)
        self.depth = 0 if leading is None else bytes(leading[0]).count(b"[")

    @functools.cached_property
    def _structure(self) -> bytes:
        """Its brackets and commas, and invalid characters."""
        text = self._text
        parts = (bytes(text[start : start + _WINDOW]) for start in range(0, len(text), _WINDOW))
        return b"".join(part.translate(None, _NOT_STRUCTURE) for part in parts)

    def shape(self) -> list[int]:
        """Shape by the lengths of the first list of each axis."""
        if self.depth > MOST_AXES:
            return [1] * (MOST_AXES + 1)
        structure, lengths, inner = self._structure, [], 1
        for closing in range(1, self.depth + 1):
            end = structure.find(b"]" * closing)
            elements = structure.count(b",", 0, end if end >= 0 else None) + 1
            lengths.append(elements // inner)
            inner = max(1, elements)
        return lengths[::-1]

    def read(self, spec: TensorSpec, count: int, shape: Sequence[int]) -> Array:
        """Convert to an array of this shape whose `count` elements have passed ``spec.check``. A flat list is fine."""
        flat = self.depth == 1
        self._check(spec, (count,) if flat else shape)
        del self._structure
        dtype = DATATYPES[spec.datatype]
        decode = _list_of(dtype.kind).decode
        values = np.empty(count, dtype)
        text, start, filled = self._text, 0, 0
        while start < len(text) and count:
            part = bytes(text[start : start + _CHUNK])
            if start + _CHUNK < len(text):
                part = part[: part.rfind(b",") + 1]
                if not part:
                    raise ServeError(
                        f"input '{spec.name}': expected numbers, got one of more than {_CHUNK} characters"
                    )
            start += len(part)
            if not flat and _is_misplaced(part):
                raise _not_json(spec)
            part = part.translate(_BRACKETS_TO_SPACES).removesuffix(b",")
            try:
                elements = decode(b"[%s]" % part)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise ServeError(f"input '{spec.name}': expected {spec.datatype} data: {error}") from None
            if filled + len(elements) > count:
                raise _not_json(spec)
            values[filled : filled + len(elements)] = array_from_list(
                spec, len(elements), elements, (len(elements),)
            )
            filled += len(elements)
        if filled != count:
            raise _not_json(spec)
        return values.reshape(shape)

    def _check(self, spec: TensorSpec, shape: Sequence[int]) -> None:
        """Refuse a text whose brackets and commas do not match the shape."""
        if len(self._structure) != _structure_size(shape) or self._structure != _structure_of(shape):
            got = self._structure.count(b",") + 1
            raise ServeError(
                f"input '{spec.name}': expected lists of shape {list(shape)}, got {got} elements in other lists"
            )


def _is_misplaced(part: bytes) -> bool:
    """Whether a number is on the outer side of a bracket."""
    digits = part.translate(_NUMBERS_TO_DIGITS, _SPACES)
    return b"0[" in digits or b"]0" in digits


def _structure_size(shape: Sequence[int]) -> int:
    """Length of `_structure_of`, without creating it."""
    size = 0
    for length in reversed(shape):
        size = 2 + length * size + max(0, length - 1)
    return size


def _structure_of(shape: Sequence[int]) -> bytes:
    structure = b""
    for length in reversed(shape):
        structure = b"[" + (structure + b",") * (length - 1) + structure * (length > 0) + b"]"
    return structure


def _not_json(spec: TensorSpec) -> ServeError:
    return ServeError(f"input '{spec.name}': expected a JSON array of {spec.datatype}, got a malformed one")


def json_size(array: Array) -> int:
    """Upper bound of the size of an array as JSON, from its shape; escapes in text are not counted."""
    if array.dtype.kind in "SUO":
        return sum(element_size(element) + 3 for element in array.reshape(-1)) + 2
    code = f"{array.dtype.kind}{array.dtype.itemsize}"
    return array.size * _ELEMENT_SIZES.get(code, _FLOAT_SIZE) + _structure_size(array.shape)


def encode_array(array: Array) -> bytes:
    """Encode an array of numbers as nested JSON."""
    if array.size <= _ELEMENTS:
        return _encode(array.tolist())
    row = array.size // len(array)
    if row > _ELEMENTS:
        return b"[" + b",".join(encode_array(part) for part in array) + b"]"
    step = max(1, _ELEMENTS // row)
    parts = (_encode(array[start : start + step].tolist())[1:-1] for start in range(0, len(array), step))
    return b"[" + b",".join(parts) + b"]"
