"""JSON decoding through msgspec with a fallback to the standard library.

msgspec returns the same values seven times faster. It refuses some inputs that ``json`` accepts (NaN, numbers beyond a
double, a byte order mark, unpaired surrogates). ``json`` then returns the value or raises the error with line and
column.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any

from millrace._src.core.errors import FormatError

__all__ = ["decode_json_lines", "decode_json", "parse_json"]


@functools.cache
def _decoder() -> tuple[Any, tuple[type[Exception], ...]]:
    """The msgspec decoder and the exceptions it raises."""
    import msgspec  # imported on first use

    return msgspec.json.Decoder(), (msgspec.MsgspecError, ValueError, RecursionError)


def decode_json(data: bytes | str) -> Any:
    """Decode a JSON value; invalid text raises the errors of ``json.loads``.

    >>> decode_json(b'{"a": [1, NaN]}')
    {'a': [1, nan]}
    """
    decoder, errors = _decoder()
    try:
        return decoder.decode(data)
    except errors:
        return json.loads(data)


def decode_json_lines(lines: Sequence[bytes]) -> list[Any] | None:
    """Decode many lines at once; None if a line needs the fallback.

    >>> decode_json_lines([b"1", b'{"a": 2}']), decode_json_lines([b"NaN"])
    ([1, {'a': 2}], None)
    """
    decoder, errors = _decoder()
    try:
        values: list[Any] = decoder.decode_lines(b"\n".join(lines))
    except errors:
        return None
    return values if len(values) == len(lines) else None


def parse_json(data: bytes | str, path: str, line: int | None = None) -> Any:
    """Decode a JSON value; errors (invalid text, excessive nesting) name file and line.

    >>> parse_json('{"a": 1}', "x.json")
    {'a': 1}
    """
    try:
        return decode_json(data)
    except (ValueError, RecursionError) as error:
        where = path if line is None else f"{path} at line {line}"
        raise FormatError(f"Invalid json, failed to parse {where}, {error}", file=path) from None
