"""JSON text to values: msgspec where it can, Python's own json where that is more lenient or has the words.

What msgspec reads is what json reads, seven times as fast. It refuses what json takes (NaN, numbers beyond a double, a
byte order mark, half a surrogate pair), and then json decides: a value, or the error that names line and column.
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
    """What reads, and what it raises."""
    import msgspec  # only who reads JSON needs it

    return msgspec.json.Decoder(), (msgspec.MsgspecError, ValueError, RecursionError)


def decode_json(data: bytes | str) -> Any:
    """A JSON value; text that is none raises what json.loads raises.

    >>> decode_json(b'{"a": [1, NaN]}')
    {'a': [1, nan]}
    """
    decoder, errors = _decoder()
    try:
        return decoder.decode(data)
    except errors:
        return json.loads(data)


def decode_json_lines(lines: Sequence[bytes]) -> list[Any] | None:
    """The values of many lines at once; None where one of them wants a closer look.

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
    """A JSON value; text that is none, or that nests without end, is an error that names the place.

    >>> parse_json('{"a": 1}', "x.json")
    {'a': 1}
    """
    try:
        return decode_json(data)
    except (ValueError, RecursionError) as error:
        where = path if line is None else f"{path} at line {line}"
        raise FormatError(f"Invalid json, failed to parse {where}, {error}", file=path) from None
