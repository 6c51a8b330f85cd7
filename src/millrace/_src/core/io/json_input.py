"""JSON from files and sockets: parsed with limits, with one class of error for every defect."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["MAX_DEPTH", "check_depth", "parse_json"]

# Levels of lists and dicts inside one another. Python's own limit is about 1,000 calls, which the caller shares.
MAX_DEPTH = 200


def parse_json(text: str | bytes, refuse: Callable[[str], Exception], max_depth: int = MAX_DEPTH) -> Any:
    """Parse JSON that may be damaged or hostile.

    Args:
        text (Union[str, bytes]): the document; bytes are UTF-8.
        refuse (Callable): makes the exception to raise from an error message.
        max_depth (int): levels of lists and dicts inside one another. Default: ``200``.

    Returns:
        Any, the value: dict, list, str, int, float, bool or None.

    Raises:
        Exception: what `refuse` returns, for a document that is not JSON, repeats a key of an object, holds an integer
            of more than 4,300 digits, or is nested too deeply.

    Examples:
        >>> parse_json('{"a": [1]}', ValueError)
        {'a': [1]}
        >>> parse_json('{"a": 1, "a": 2}', ValueError)
        Traceback (most recent call last):
        ...
        ValueError: expected each key of a JSON object once, got 'a' twice
    """
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        value = json.loads(decoded, object_pairs_hook=_unique_keys)
    except RecursionError as error:
        raise refuse(f"expected JSON of at most {max_depth} levels, got more") from error
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise refuse(str(error)) from error
    check_depth(value, refuse, max_depth)
    return value


def check_depth(value: Any, refuse: Callable[[str], Exception], max_depth: int = MAX_DEPTH) -> None:
    """Raise what `refuse` returns where lists and dicts are nested more than `max_depth` levels deep."""
    level = [value]
    for _ in range(max_depth):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return
    raise refuse(f"expected JSON of at most {max_depth} levels, got more")


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        counts = Counter([name for name, _ in pairs])
        repeated = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"expected each key of a JSON object once, got {repeated!r} twice")
    return values
