"""Tokens of a text by its characters alone: words between spaces, single characters."""

from __future__ import annotations

import re

from .offsets import byte_places, nothing

__all__ = ["SPACES", "char_spans", "chars", "space_spans", "spaced"]

Spans = tuple[list[str], list[int], list[int]]

# what Unicode calls White_Space. Python's split() and \s take the separators U+001C to U+001F too
SPACES = (
    "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)
_WORD = re.compile(f"[^{SPACES}]+")
_NO_SPACE = re.compile("[\x1c-\x1f]")


def spaced(text: str) -> list[str]:
    """The words between white space.

    >>> spaced(" a  b\\u3000c")
    ['a', 'b', 'c']
    >>> spaced("")
    ['']
    """
    found = _WORD.findall(text) if _NO_SPACE.search(text) else text.split()
    return found or [""]


def space_spans(text: str) -> Spans:
    """The words between white space, where each starts and where it ends, in bytes."""
    found = [match.span() for match in _WORD.finditer(text)]
    return placed(text, found)


def chars(text: str) -> list[str]:
    """Every character."""
    return list(text) or [""]


def char_spans(text: str) -> Spans:
    """Every character, where it starts and where it ends, in bytes."""
    if not text:
        return nothing()
    places = byte_places(text, range(len(text) + 1))
    return list(text), places[:-1], places[1:]


def placed(text: str, found: list[tuple[int, int]]) -> Spans:
    """The parts of a text between places counted in characters, with their places in bytes."""
    if not found:
        return nothing()
    places = byte_places(text, [place for span in found for place in span])
    return [text[start:limit] for start, limit in found], places[::2], places[1::2]
