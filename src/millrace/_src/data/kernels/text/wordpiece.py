"""WordPiece: greedy longest-match-first segmentation of words."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

__all__ = ["WordpieceModel", "MemoDict"]

# maximum number of cached words; above it the cache is cleared, so that an endless stream does not fill the memory
_MAX_ENTRIES = 1 << 18
# maximum length of a cached word: longer ones rarely occur twice, and would fill the memory
_MAX_KEY_LENGTH = 64


class MemoDict(dict[str, tuple[Any, ...]]):
    """Cache of a function of a word. Safe to use from several threads.

    >>> letters = MemoDict(tuple)
    >>> letters["ab"], letters.lookup_all(["ab", "c"])
    (('a', 'b'), ['a', 'b', 'c'])
    """

    def __init__(self, function: Callable[[str], tuple[Any, ...]], max_entries: int = _MAX_ENTRIES) -> None:
        self.function, self.max_entries = function, max_entries

    def __missing__(self, word: str) -> tuple[Any, ...]:
        value = self.function(word)
        if len(word) <= _MAX_KEY_LENGTH:
            if len(self) >= self.max_entries:
                self.clear()
            self[word] = value
        return value

    def lookup_all(self, words: list[str]) -> list[Any]:
        """The values of the words, concatenated."""
        return list(chain.from_iterable(map(self.__getitem__, words)))


class WordpieceModel:
    """Segmentation of words by a vocabulary.

    >>> pieces = WordpieceModel({"un": 0, "##aff": 1, "##able": 2, "[UNK]": 3}, "##", 100, "[UNK]")
    >>> pieces.pieces_of["unaffable"], pieces.pieces_of["affable"]
    (('un', '##aff', '##able'), ('[UNK]',))
    """

    def __init__(self, vocab: dict[str, int], suffix: str, max_bytes: int, unknown: str) -> None:
        self.vocab = vocab
        self.suffix, self.max_bytes, self.unknown = suffix, max_bytes, unknown
        self.longest = max(map(len, vocab), default=0)
        # pieces of a word: none for an empty word; the unknown token, or the word itself, where it has no pieces
        self.pieces_of = MemoDict(self._split_word)

    def _split_word(self, word: str) -> tuple[str, ...]:
        if not word:
            return ()
        if _utf8_size(word) > self.max_bytes:
            return (self.unknown or word,)
        vocab, pieces, start, prefix = self.vocab, [], 0, ""
        length = len(word)
        while start < length:
            limit = min(length, start + self.longest - len(prefix))
            while limit > start and prefix + word[start:limit] not in vocab:
                limit -= 1
            if limit <= start:
                return (self.unknown or word,)
            pieces.append(prefix + word[start:limit])
            start, prefix = limit, self.suffix
        return tuple(pieces)

    def spans(self, word: str, start: int) -> tuple[tuple[str, ...], list[int], list[int]]:
        """Pieces of a word that starts at this byte, with their start and end offsets."""
        pieces = self.pieces_of[word]
        if len(pieces) == 1:
            return pieces, [start], [start + _utf8_size(word)]
        offsets, consumed = [start], 0
        for piece in pieces:
            size = len(piece) - (len(self.suffix) if consumed else 0)
            offsets.append(offsets[-1] + _utf8_size(word[consumed : consumed + size]))
            consumed += size
        return pieces, offsets[:-1], offsets[1:]


def _utf8_size(text: str) -> int:
    """Length in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
