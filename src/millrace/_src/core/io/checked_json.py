"""JSON from untrusted files: bounded integers, bounded depth, no duplicate keys, no NaN."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["parse_json"]


def parse_json(data: bytes, depth: int, digits: int) -> Any:
    """The value of a JSON document; ValueError where it is damaged or beyond a limit.

    `depth` bounds the nesting of lists and objects, `digits` the digits of an integer.

    >>> parse_json(b'{"a": [1, 2]}', 8, 20)
    {'a': [1, 2]}
    """

    def parse_int(text: str) -> int:
        if len(text) > digits:
            raise ValueError(f"an integer of {len(text)} digits, more than {digits}")
        return int(text)

    def parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        parsed = dict(pairs)
        if len(parsed) != len(pairs):
            raise ValueError("an object with a duplicate key")
        return parsed

    def refuse_constant(text: str) -> Any:
        raise ValueError(f"{text} is not a number of JSON")

    try:
        value = json.loads(
            data.decode("utf-8"),
            parse_int=parse_int,
            parse_constant=refuse_constant,
            object_pairs_hook=parse_object,
        )
    except RecursionError:
        raise ValueError(f"lists and objects are nested more than {depth} deep") from None
    _check_depth(value, depth)
    return value


def _check_depth(value: Any, depth: int) -> None:
    level = [value]
    while level:
        level = [
            item
            for parent in level
            if isinstance(parent, (dict, list))
            for item in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(item, (dict, list))
        ]
        depth -= 1
        if level and depth <= 0:
            raise ValueError("lists and objects are nested too deeply")
