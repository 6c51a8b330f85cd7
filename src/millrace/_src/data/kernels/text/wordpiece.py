"""Words as pieces of a vocabulary: always the longest that fits, from the left."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

__all__ = ["WordpieceModel", "MemoDict"]

# words that are remembered; past it all are forgotten, so that a stream without end does not fill the memory
_MAX_ENTRIES = 1 << 18
# characters of a word that is remembered: longer ones hardly come twice, and would fill the memory
_MAX_KEY_LENGTH = 64


class MemoDict(dict[str, tuple[Any, ...]]):
    """What a function of a word gives, kept for the next time. Several threads may ask at once.

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
        """What the words give, one after the other."""
        return list(chain.from_iterable(map(self.__getitem__, words)))


class WordpieceModel:
    """How a vocabulary cuts words.

    >>> pieces = WordpieceModel({"un": 0, "##aff": 1, "##able": 2, "[UNK]": 3}, "##", 100, "[UNK]")
    >>> pieces.pieces_of["unaffable"], pieces.pieces_of["affable"]
    (('un', '##aff', '##able'), ('[UNK]',))
    """

    def __init__(self, vocab: dict[str, int], suffix: str, max_bytes: int, unknown: str) -> None:
        self.vocab = vocab
        self.suffix, self.max_bytes, self.unknown = suffix, max_bytes, unknown
        self.longest = max(map(len, vocab), default=0)
        # the pieces of a word: none of an empty one; of one that cannot be cut the unknown token, or the word itself
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
        """The pieces of a word that begins at this byte, and where each starts and ends."""
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
    """Bytes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
