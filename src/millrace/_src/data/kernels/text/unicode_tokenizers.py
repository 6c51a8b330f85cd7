"""Tokenizers by white space, by character and by Unicode script."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from .byte_offsets import byte_offsets, empty_spans
from .unicode_properties import SPACES, script_table

__all__ = [
    "Spans",
    "whitespace_token_lists",
    "char_spans",
    "characters",
    "slice_spans",
    "script_runs",
    "script_spans",
    "whitespace_spans",
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
    """Split a text at white space.

    >>> whitespace_tokens(" a  b\\u3000c")
    ['a', 'b', 'c']
    >>> whitespace_tokens("")
    ['']
    """
    tokens = _WORD.findall(text) if _NO_SPACE.search(text) else text.split()
    return tokens or [""]


def whitespace_token_lists(texts: list[str]) -> list[list[str]]:
    """Split each text at white space."""
    if _NO_SPACE.search("".join(texts)):
        return list(map(whitespace_tokens, texts))
    return [tokens or [""] for tokens in map(str.split, texts)]


def whitespace_spans(text: str) -> Spans:
    """The words between white space, with the byte offsets of start and end."""
    return slice_spans(text, [match.span() for match in _WORD.finditer(text)])


def characters(text: str) -> list[str]:
    """Split a text into characters."""
    return list(text) or [""]


def char_spans(text: str) -> Spans:
    """The characters, with the byte offsets of start and end."""
    if not text:
        return empty_spans()
    offsets = byte_offsets(text, range(len(text) + 1))
    return list(text), offsets[:-1], offsets[1:]


def script_runs(text: str, keep_whitespace: bool) -> list[str]:
    """Split a text into runs of characters of one script.

    >>> script_runs("ok 北京.", False)
    ['ok', '北京', '.']
    """
    if text.isascii():
        runs = (_ASCII_RUN if keep_whitespace else _ASCII_WORD).findall(text)
    else:
        runs = [text[start:limit] for start, limit in _run_spans(text, keep_whitespace)]
    return runs or [""]


def script_spans(text: str, keep_whitespace: bool) -> Spans:
    """Runs of characters of one script, with the byte offsets of start and end."""
    return slice_spans(text, _run_spans(text, keep_whitespace))


def _run_spans(text: str, keep_whitespace: bool) -> list[tuple[int, int]]:
    if not text:
        return []
    classes = script_table()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")]
    boundaries = [0, *(np.flatnonzero(classes[1:] != classes[:-1]) + 1).tolist(), len(text)]
    spans = list(pairwise(boundaries))
    return spans if keep_whitespace else [span for span in spans if text[span[0]] not in _SPACE]


def slice_spans(text: str, spans: list[tuple[int, int]]) -> Spans:
    """Slices of a text at character offsets, with their byte offsets."""
    if not spans:
        return empty_spans()
    offsets = byte_offsets(text, [position for span in spans for position in span])
    return [text[start:limit] for start, limit in spans], offsets[::2], offsets[1::2]
