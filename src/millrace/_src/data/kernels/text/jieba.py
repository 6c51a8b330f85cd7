"""Chinese text into words, as cppjieba does it, from its two files: a dictionary and a hidden Markov model.

The dictionary has "word frequency tag" in each line. Of all ways to cut a text into its words, the likeliest is taken
(MP). The model tells of each character whether it begins, goes on with or ends a word, or is one (HMM). MIX is the
first, with the second for runs of single characters. The files are the user's own, which is why no library does this:
rjieba has one dictionary built in and takes no model.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from millrace._src.core.errors import FormatError

from .enums import JiebaMode

__all__ = ["JiebaSegmenter", "cutter_of"]

# Text is cut at these first; each of them is a word.
SEPARATORS = frozenset(" \t\n，。")
LONGEST = 512
NEVER = -3.14e100
BEGIN, END, MIDDLE, SINGLE = range(4)
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset("0123456789")

Span = tuple[int, int]


class JiebaDictionary(NamedTuple):
    """A dictionary: the weight of each word, None for the beginning of a longer one, and what other words weigh."""

    weights: dict[str, float | None]
    least: float
    usual: float
    total: float


class HiddenMarkovModel(NamedTuple):
    """A hidden Markov model: where a text begins, what follows what, and how likely a character is in each state."""

    start: list[float]
    change: list[list[float]]
    emit: list[dict[str, float]]


class JiebaSegmenter:
    """Cuts texts. ``words`` is a dictionary to which the user's words have been added."""

    def __init__(self, words: JiebaDictionary, model: HiddenMarkovModel, mode: JiebaMode) -> None:
        self.words, self.model, self.mode = words, model, mode

    def spans(self, text: str) -> list[Span]:
        """Where each word begins and ends.

        An empty text is one empty word.
        """
        found: list[Span] = []
        for start, stop in _parts(text):
            if self.mode == JiebaMode.HMM:
                found += self._by_model(text, start, stop)
            elif self.mode == JiebaMode.MP:
                found += self._by_words(text, start, stop)
            else:
                found += self._by_both(text, start, stop)
        return found or [(0, 0)]

    def _by_both(self, text: str, start: int, stop: int) -> list[Span]:
        found: list[Span] = []
        left = start  # where the single characters begin that were not cut yet
        for one, end in self._by_words(text, start, stop):
            if end - one > 1:
                if left < one:
                    found += self._by_model(text, left, one)
                found.append((one, end))
                left = end
        if left < stop:
            found += self._by_model(text, left, stop)
        return found

    def _by_words(self, text: str, start: int, stop: int) -> list[Span]:
        """The likeliest way to cut into words of the dictionary; of two as likely, that with a shorter first word."""
        weights, least = self.words.weights, self.words.least
        size = stop - start
        best = [0.0] * (size + 1)
        ends = [0] * size
        for at in range(size - 1, -1, -1):
            here = start + at
            known = weights.get(text[here], None)
            top = best[at + 1] + (least if known is None else known)
            end = at + 1
            for length in range(2, min(size - at, LONGEST) + 1):
                piece = text[here : here + length]
                if piece not in weights:
                    break
                weight = weights[piece]
                if weight is not None and best[at + length] + weight > top:
                    top, end = best[at + length] + weight, at + length
            best[at], ends[at] = top, end
        found: list[Span] = []
        at = 0
        while at < size:
            found.append((start + at, start + ends[at]))
            at = ends[at]
        return found

    def _by_model(self, text: str, start: int, stop: int) -> list[Span]:
        """Words of letters and digits by rule, all else by the model."""
        found: list[Span] = []
        left = right = start
        while right < stop:
            if text[right] >= "\x80":
                right += 1
                continue
            if left < right:
                found += self._states(text[left:right], left)
            left = right
            right = _end_of_name(text, left, stop)
            found.append((left, right))
            left = right
        if left < right:
            found += self._states(text[left:right], left)
        return found

    def _states(self, text: str, start: int) -> list[Span]:
        """Viterbi's algorithm over the four states."""
        begin, change, emit = self.model
        weights = [begin[state] + emit[state].get(text[0], NEVER) for state in range(4)]
        paths: list[list[int]] = []
        for sign in text[1:]:
            now, path = [NEVER] * 4, [END] * 4
            for state in range(4):
                likely = emit[state].get(sign, NEVER)
                for before in range(4):
                    weight = weights[before] + change[before][state] + likely
                    if weight > now[state]:
                        now[state], path[state] = weight, before
            weights = now
            paths.append(path)
        state = END if weights[END] >= weights[SINGLE] else SINGLE
        states = [state]
        for path in reversed(paths):
            state = path[state]
            states.append(state)
        found: list[Span] = []
        left = start
        for right, state in enumerate(reversed(states), start + 1):
            if state in (END, SINGLE):
                found.append((left, right))
                left = right
        return found


def _parts(text: str) -> Iterator[Span]:
    """What lies between separators, and each separator."""
    left = 0
    for at, sign in enumerate(text):
        if sign in SEPARATORS:
            if left < at:
                yield left, at
            yield at, at + 1
            left = at + 1
    if left < len(text):
        yield left, len(text)


def _end_of_name(text: str, start: int, stop: int) -> int:
    """Where a run of letters and digits that begins with a letter ends, or a number, or else one character."""
    first = text[start]
    if first in _LETTERS:
        more = _LETTERS | _DIGITS
    elif first in _DIGITS:
        more = _DIGITS | {"."}
    else:
        return start + 1
    at = start + 1
    while at < stop and text[at] in more:
        at += 1
    return at


# --- files ------------------------------------------------------------------------------------------


def cutter_of(
    mp_path: str, hmm_path: str, mode: JiebaMode, added: Sequence[tuple[str, int]]
) -> JiebaSegmenter:
    """A cutter from these files, with words added; one and the same as long as nothing of it changes."""
    return _cutter(_place(mp_path), _place(hmm_path), JiebaMode(mode), tuple((w, n) for w, n in added))


def _place(path: str) -> tuple[str, int, int]:
    try:
        state = os.stat(path)
    except OSError as error:
        raise FormatError(f"JiebaTokenizer: {path} cannot be opened: {error.strerror}", file=path) from error
    return os.path.realpath(path), state.st_size, state.st_mtime_ns


@functools.lru_cache(maxsize=8)
def _cutter(
    mp: tuple[str, int, int], hmm: tuple[str, int, int], mode: JiebaMode, added: tuple[tuple[str, int], ...]
) -> JiebaSegmenter:
    words, model = _words(mp), _model(hmm)
    if added:
        weights = dict(words.weights)
        for word, times in added:
            _insert(weights, word, math.log(times / words.total) if times else words.usual)
        words = words._replace(weights=weights)
    return JiebaSegmenter(words, model, mode)


@functools.lru_cache(maxsize=4)
def _words(place: tuple[str, int, int]) -> JiebaDictionary:
    path = place[0]
    times: dict[str, float] = {}
    total = 0.0
    all_times: list[float] = []
    for number, line in enumerate(_lines(path), 1):
        if not line:
            continue
        fields = line.split(" ")
        try:
            word, count = fields[0], float(fields[1])
            right = len(fields) == 3 and bool(word) and count > 0
        except (IndexError, ValueError):
            right = False
        if not right:
            raise FormatError(
                f"JiebaTokenizer: line {number} of the dictionary is not 'word frequency tag': {line[:40]!r}",
                file=path,
                line=number,
            )
        times[word] = count
        all_times.append(count)
        total += count
    if not times:
        raise FormatError("JiebaTokenizer: the dictionary holds no words", file=path)
    all_times.sort()
    weights: dict[str, float | None] = {}
    for word, count in times.items():
        _insert(weights, word, math.log(count / total))
    least, usual = math.log(all_times[0] / total), math.log(all_times[len(all_times) // 2] / total)
    return JiebaDictionary(weights, least, usual, total)


def _insert(weights: dict[str, float | None], word: str, weight: float) -> None:
    for end in range(1, len(word)):
        weights.setdefault(word[:end], None)
    weights[word] = weight


@functools.lru_cache(maxsize=4)
def _model(place: tuple[str, int, int]) -> HiddenMarkovModel:
    path = place[0]
    lines = [line.strip() for line in _lines(path)]
    lines = [line for line in lines if line and not line.startswith("#")]
    try:
        start, *change = [[float(field) for field in line.split()] for line in lines[:5]] or [[]]
        emit = [_emissions(line) for line in lines[5:9]]
    except ValueError as error:
        raise FormatError(f"JiebaTokenizer: this is no hidden Markov model: {error}", file=path) from error
    if len(emit) != 4 or [len(row) for row in (start, *change)] != [4] * 5:
        raise FormatError(
            "JiebaTokenizer: a hidden Markov model has 4 probabilities to begin with, 4 lines of 4 for what follows "
            "what, and 4 lines of 'character:probability,...'",
            file=path,
        )
    return HiddenMarkovModel(start, change, emit)


def _emissions(line: str) -> dict[str, float]:
    made: dict[str, float] = {}
    for field in line.split(","):
        sign, _, weight = field.rpartition(":")
        if len(sign) != 1:
            raise ValueError(f"{field[:20]!r} is not 'character:probability'")
        made[sign] = float(weight)
    return made


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            return file.read().removesuffix("\n").split("\n")
    except OSError as error:
        raise FormatError(f"JiebaTokenizer: {path} cannot be opened: {error.strerror}", file=path) from error
    except UnicodeDecodeError as error:
        raise FormatError(f"JiebaTokenizer: {path} is not text in UTF-8: {error.reason}", file=path) from None
