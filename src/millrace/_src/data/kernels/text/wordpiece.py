"""Words as pieces of a vocabulary: always the longest that fits, from the left."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

__all__ = ["WordpieceModel", "MemoDict"]

# words that are remembered; past it all are forgotten, so that a stream without end does not fill the memory
_MOST = 1 << 18
# characters of a word that is remembered: longer ones hardly come twice, and would fill the memory
_LONGEST = 64


class MemoDict(dict[str, tuple[Any, ...]]):
    """What a function of a word gives, kept for the next time. Several threads may ask at once.

    >>> letters = MemoDict(tuple)
    >>> letters["ab"], letters.of_all(["ab", "c"])
    (('a', 'b'), ['a', 'b', 'c'])
    """

    def __init__(self, function: Callable[[str], tuple[Any, ...]], most: int = _MOST) -> None:
        self.function, self.most = function, most

    def __missing__(self, word: str) -> tuple[Any, ...]:
        made = self.function(word)
        if len(word) <= _LONGEST:
            if len(self) >= self.most:
                self.clear()
            self[word] = made
        return made

    def of_all(self, words: list[str]) -> list[Any]:
        """What the words give, one after the other."""
        return list(chain.from_iterable(map(self.__getitem__, words)))


class WordpieceModel:
    """How a vocabulary cuts words.

    >>> pieces = WordpieceModel({"un": 0, "##aff": 1, "##able": 2, "[UNK]": 3}, "##", 100, "[UNK]")
    >>> pieces.of["unaffable"], pieces.of["affable"]
    (('un', '##aff', '##able'), ('[UNK]',))
    """

    def __init__(self, words: dict[str, int], suffix: str, most_bytes: int, unknown: str) -> None:
        self.words = words
        self.suffix, self.most_bytes, self.unknown = suffix, most_bytes, unknown
        self.longest = max(map(len, words), default=0)
        # the pieces of a word: none of an empty one; of one that cannot be cut the unknown token, or the word itself
        self.of = MemoDict(self._cut)

    def _cut(self, word: str) -> tuple[str, ...]:
        if not word:
            return ()
        if _size(word) > self.most_bytes:
            return (self.unknown or word,)
        words, made, start, prefix = self.words, [], 0, ""
        length = len(word)
        while start < length:
            limit = min(length, start + self.longest - len(prefix))
            while limit > start and prefix + word[start:limit] not in words:
                limit -= 1
            if limit <= start:
                return (self.unknown or word,)
            made.append(prefix + word[start:limit])
            start, prefix = limit, self.suffix
        return tuple(made)

    def spans(self, word: str, at: int) -> tuple[tuple[str, ...], list[int], list[int]]:
        """The pieces of a word that begins at this byte, and where each starts and ends."""
        found = self.of[word]
        if len(found) == 1:
            return found, [at], [at + _size(word)]
        places, cut = [at], 0
        for piece in found:
            size = len(piece) - (len(self.suffix) if cut else 0)
            places.append(places[-1] + _size(word[cut : cut + size]))
            cut += size
        return found, places[:-1], places[1:]


def _size(text: str) -> int:
    """Bytes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
