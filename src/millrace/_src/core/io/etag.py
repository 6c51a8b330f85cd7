"""Entity tags of object stores: most are MD5 checksums, with which a transfer can be verified."""

from __future__ import annotations

import hashlib
import re
from typing import Any

__all__ = ["is_checksum", "etag_matches"]

_WHOLE = re.compile(r'"?([0-9a-f]{32})"?')
_IN_PARTS = re.compile(r'"?([0-9a-f]{32})-([0-9]+)"?')
# Common part sizes of multipart uploads, including that of Millrace.
_SIZES = [count << 20 for count in (5, 8, 10, 15, 16, 32, 50, 64, 100, 128, 256, 512)]


def etag_matches(tag: str | None, data: Any) -> bool | None:
    """Whether data has the checksum of a tag; None where the tag is not a known checksum.

    The tags of a store that encrypts objects with its keys look the same and match no data.

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
    return False if sizes else None  # for unknown part sizes the checksum cannot be computed


def is_checksum(tag: str | None) -> bool:
    """Whether a tag has the form of a checksum.

    >>> is_checksum('"900150983cd24fb0d6963f7d28e17f72-3"'), is_checksum(None)
    (True, False)
    """
    return bool(_WHOLE.fullmatch(tag or "") or _IN_PARTS.fullmatch(tag or ""))


def _md5(data: Any) -> Any:
    return hashlib.md5(data, usedforsecurity=False)
