"""Tokens of a text by its characters alone: words between spaces, single characters, runs of one script."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from .byte_offsets import byte_offsets, nothing
from .unicode_properties import SPACES, script_table

__all__ = [
    "Spans",
    "all_spaced",
    "char_spans",
    "chars",
    "placed",
    "script_runs",
    "script_spans",
    "space_spans",
    "whitespace_tokens",
]

Spans = tuple[list[str], list[int], list[int]]

_WORD = re.compile(f"[^{SPACES}]+")
_NO_SPACE = re.compile("[\x1c-\x1f]")
# the scripts of ASCII: letters are Latin, all else is common to all scripts
_ASCII_RUN = re.compile("[A-Za-z]+|[\t-\r ]+|[^A-Za-z\t-\r ]+")
_ASCII_WORD = re.compile("[A-Za-z]+|[^A-Za-z\t-\r ]+")
_SPACE = frozenset(SPACES)


def whitespace_tokens(text: str) -> list[str]:
    """The words between white space.

    >>> whitespace_tokens(" a  b\\u3000c")
    ['a', 'b', 'c']
    >>> whitespace_tokens("")
    ['']
    """
    found = _WORD.findall(text) if _NO_SPACE.search(text) else text.split()
    return found or [""]


def all_spaced(texts: list[str]) -> list[list[str]]:
    """The words of each text."""
    if _NO_SPACE.search("".join(texts)):
        return list(map(whitespace_tokens, texts))
    return [words or [""] for words in map(str.split, texts)]


def space_spans(text: str) -> Spans:
    """The words between white space, where each starts and where it ends, in bytes."""
    return placed(text, [match.span() for match in _WORD.finditer(text)])


def chars(text: str) -> list[str]:
    """Every character."""
    return list(text) or [""]


def char_spans(text: str) -> Spans:
    """Every character, where it starts and where it ends, in bytes."""
    if not text:
        return nothing()
    places = byte_offsets(text, range(len(text) + 1))
    return list(text), places[:-1], places[1:]


def script_runs(text: str, keep_whitespace: bool) -> list[str]:
    """Runs of characters of one script.

    >>> script_runs("ok 北京.", False)
    ['ok', '北京', '.']
    """
    if text.isascii():
        found = (_ASCII_RUN if keep_whitespace else _ASCII_WORD).findall(text)
    else:
        found = [text[start:limit] for start, limit in _runs(text, keep_whitespace)]
    return found or [""]


def script_spans(text: str, keep_whitespace: bool) -> Spans:
    """Runs of characters of one script, where each starts and where it ends, in bytes."""
    return placed(text, _runs(text, keep_whitespace))


def _runs(text: str, keep_whitespace: bool) -> list[tuple[int, int]]:
    if not text:
        return []
    classes = script_table()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")]
    places = [0, *(np.flatnonzero(classes[1:] != classes[:-1]) + 1).tolist(), len(text)]
    found = list(pairwise(places))
    return found if keep_whitespace else [one for one in found if text[one[0]] not in _SPACE]


def placed(text: str, found: list[tuple[int, int]]) -> Spans:
    """The parts of a text between places counted in characters, with their places in bytes."""
    if not found:
        return nothing()
    places = byte_offsets(text, [place for span in found for place in span])
    return [text[start:limit] for start, limit in found], places[::2], places[1::2]
