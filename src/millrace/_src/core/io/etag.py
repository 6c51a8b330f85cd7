"""The tags that object stores give to objects: most are MD5 sums, and tell whether what arrived is what was stored."""

from __future__ import annotations

import hashlib
import re
from typing import Any

__all__ = ["is_checksum", "etag_matches"]

_WHOLE = re.compile(r'"?([0-9a-f]{32})"?')
_IN_PARTS = re.compile(r'"?([0-9a-f]{32})-([0-9]+)"?')
# The sizes of parts that programs upload in; ours is among them.
_SIZES = [count << 20 for count in (5, 8, 10, 15, 16, 32, 50, 64, 100, 128, 256, 512)]


def etag_matches(tag: str | None, data: Any) -> bool | None:
    """Whether bytes are those that a tag was made of; None where it cannot be told.

    A store that encrypts objects with keys of its own has tags that look the same and fit nothing.

    >>> (
    ...     etag_matches('"900150983cd24fb0d6963f7d28e17f72"', b"abc"),
    ...     etag_matches('"900150983cd24fb0d6963f7d28e17f72"', b"abd"),
    ... )
    (True, False)
    >>> etag_matches("version 3", b"abc") is None
    True
    """
    if match := _WHOLE.fullmatch(tag or ""):
        return bool(_md5(data).hexdigest() == match[1])
    if not (match := _IN_PARTS.fullmatch(tag or "")):
        return None
    view, count = memoryview(data), int(match[2])
    sizes = [size for size in (*_SIZES, -(-len(view) // 9000)) if size and -(-len(view) // size) == count]
    for size in sizes:
        sums = b"".join(_md5(view[offset : offset + size]).digest() for offset in range(0, len(view), size))
        if _md5(sums).hexdigest() == match[1]:
            return True
    return False if sizes else None  # parts of a size that nobody uses tell nothing


def is_checksum(tag: str | None) -> bool:
    """Whether a tag looks like one.

    >>> is_checksum('"900150983cd24fb0d6963f7d28e17f72-3"'), is_checksum(None)
    (True, False)
    """
    return bool(_WHOLE.fullmatch(tag or "") or _IN_PARTS.fullmatch(tag or ""))


def _md5(data: Any) -> Any:
    return hashlib.md5(data, usedforsecurity=False)
