"""Character classes that determine where a text is split, as in MindSpore (Unicode 15.1)."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from . import unicode_data as unicode_table

__all__ = ["CONTROL", "IDEOGRAPHS", "SPACES", "char_class", "points", "script_table"]

# Unicode's White_Space. Python's split() and \s include the separators U+001C to U+001F too
SPACES = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)
CONTROL = "\\x00-\\x1f\\x7f-\\x9f"
# in the basic tokenizer, ideographs and ASCII punctuation that Unicode counts as symbols are single tokens
IDEOGRAPHS = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f"
)


def _numbers(packed: str) -> list[int]:
    return [int(one, 36) for one in packed.split()]


def _ranges(packed: str) -> list[tuple[int, int]]:
    """First and last code point of each range of a set; it is stored as gaps and lengths."""
    numbers = _numbers(packed)
    ends = np.cumsum(numbers).tolist()
    return [(end - length, end - 1) for end, length in zip(ends[1::2], numbers[1::2], strict=True)]


@functools.cache
def points(name: str) -> frozenset[str]:
    """The characters of a set in the table.

    >>> "\\u0301" in points("MARKS"), "a" in points("MARKS")
    (True, False)
    """
    ranges = _ranges(getattr(unicode_table, name))
    return frozenset(chr(point) for first, last in ranges for point in range(first, last + 1))


@functools.cache
def char_class(name: str) -> str:
    """A set of the table in the syntax of a character class of a regular expression."""
    ranges = _ranges(getattr(unicode_table, name))
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


@functools.cache
def script_table() -> npt.NDArray[Any]:
    """Script class of every code point: characters of one class stay in one token. White space has a separate class.

    >>> classes = script_table()
    >>> [bool(classes[ord(a)] == classes[ord(b)]) for a, b in ("aé", " ,")]
    [True, False]
    """
    numbers = _numbers(unicode_table.SCRIPTS)
    table = np.repeat(np.array(numbers[1::2], np.uint8), numbers[::2])
    # surrogates have no script; neither has U+0378, which is not assigned
    return np.concatenate([table[:0xD800], np.full(0x800, table[0x378]), table[0xD800:]])
