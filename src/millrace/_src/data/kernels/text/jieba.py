"""Chinese word segmentation like cppjieba's, from its two files: a dictionary and a hidden Markov model.

The dictionary has "word frequency tag" in each line. MP takes the most probable segmentation into words of the
dictionary. HMM labels each character as the beginning, the middle or the end of a word, or as a single word. MIX is
MP, then HMM for runs of single characters. The user supplies both files, which is why no library is used: rjieba has
one dictionary built in and takes no model.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from millrace._src.core.errors import FormatError

from .enums import JiebaMode

__all__ = ["JiebaSegmenter", "load_segmenter"]

# Text is split at these first; each of them is a word.
SEPARATORS = frozenset(" \t\n，。")
MAX_WORD_LENGTH = 512
LOG_ZERO = -3.14e100
BEGIN, END, MIDDLE, SINGLE = range(4)
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset("0123456789")

Span = tuple[int, int]


class JiebaDictionary(NamedTuple):
    """A dictionary: the weight of each word, None for a prefix of longer words, and the weights of other words."""

    weights: dict[str, float | None]
    min_weight: float
    median_weight: float
    total: float


class HiddenMarkovModel(NamedTuple):
    """A hidden Markov model: log probabilities of the start state, of transitions, and of characters in each state."""

    start: list[float]
    change: list[list[float]]
    emit: list[dict[str, float]]


class JiebaSegmenter:
    """Splits texts into words. ``dictionary`` includes the words that the user added."""

    def __init__(self, dictionary: JiebaDictionary, model: HiddenMarkovModel, mode: JiebaMode) -> None:
        self.dictionary, self.model, self.mode = dictionary, model, mode

    def spans(self, text: str) -> list[Span]:
        """Start and end of each word.

        An empty text is one empty word.
        """
        spans: list[Span] = []
        for start, stop in _split_at_separators(text):
            if self.mode == JiebaMode.HMM:
                spans += self._cut_by_model(text, start, stop)
            elif self.mode == JiebaMode.MP:
                spans += self._cut_by_dictionary(text, start, stop)
            else:
                spans += self._cut_mixed(text, start, stop)
        return spans or [(0, 0)]

    def _cut_mixed(self, text: str, start: int, stop: int) -> list[Span]:
        spans: list[Span] = []
        pending = start  # start of the single characters that are not segmented yet
        for begin, end in self._cut_by_dictionary(text, start, stop):
            if end - begin > 1:
                if pending < begin:
                    spans += self._cut_by_model(text, pending, begin)
                spans.append((begin, end))
                pending = end
        if pending < stop:
            spans += self._cut_by_model(text, pending, stop)
        return spans

    def _cut_by_dictionary(self, text: str, start: int, stop: int) -> list[Span]:
        """The most probable segmentation by the dictionary; of two equal ones, that with the shorter first word."""
        weights, min_weight = self.dictionary.weights, self.dictionary.min_weight
        size = stop - start
        best = [0.0] * (size + 1)
        ends = [0] * size
        for offset in range(size - 1, -1, -1):
            position = start + offset
            known = weights.get(text[position], None)
            best_weight = best[offset + 1] + (min_weight if known is None else known)
            end = offset + 1
            for length in range(2, min(size - offset, MAX_WORD_LENGTH) + 1):
                piece = text[position : position + length]
                if piece not in weights:
                    break
                weight = weights[piece]
                if weight is not None and best[offset + length] + weight > best_weight:
                    best_weight, end = best[offset + length] + weight, offset + length
            best[offset], ends[offset] = best_weight, end
        spans: list[Span] = []
        offset = 0
        while offset < size:
            spans.append((start + offset, start + ends[offset]))
            offset = ends[offset]
        return spans

    def _cut_by_model(self, text: str, start: int, stop: int) -> list[Span]:
        """Words of letters and digits by rule, all else by the model."""
        spans: list[Span] = []
        left = right = start
        while right < stop:
            if text[right] >= "\x80":
                right += 1
                continue
            if left < right:
                spans += self._viterbi_spans(text[left:right], left)
            left = right
            right = _end_of_name(text, left, stop)
            spans.append((left, right))
            left = right
        if left < right:
            spans += self._viterbi_spans(text[left:right], left)
        return spans

    def _viterbi_spans(self, text: str, start: int) -> list[Span]:
        """Viterbi's algorithm over the four states."""
        begin, change, emit = self.model
        weights = [begin[state] + emit[state].get(text[0], LOG_ZERO) for state in range(4)]
        paths: list[list[int]] = []
        for character in text[1:]:
            next_weights, path = [LOG_ZERO] * 4, [END] * 4
            for state in range(4):
                likely = emit[state].get(character, LOG_ZERO)
                for previous in range(4):
                    weight = weights[previous] + change[previous][state] + likely
                    if weight > next_weights[state]:
                        next_weights[state], path[state] = weight, previous
            weights = next_weights
            paths.append(path)
        state = END if weights[END] >= weights[SINGLE] else SINGLE
        states = [state]
        for path in reversed(paths):
            state = path[state]
            states.append(state)
        spans: list[Span] = []
        left = start
        for right, state in enumerate(reversed(states), start + 1):
            if state in (END, SINGLE):
                spans.append((left, right))
                left = right
        return spans


def _split_at_separators(text: str) -> Iterator[Span]:
    """Spans between separators, and each separator."""
    left = 0
    for index, character in enumerate(text):
        if character in SEPARATORS:
            if left < index:
                yield left, index
            yield index, index + 1
            left = index + 1
    if left < len(text):
        yield left, len(text)


def _end_of_name(text: str, start: int, stop: int) -> int:
    """End of a run of letters and digits that begins with a letter, of a number, or of one other character."""
    first = text[start]
    if first in _LETTERS:
        allowed = _LETTERS | _DIGITS
    elif first in _DIGITS:
        allowed = _DIGITS | {"."}
    else:
        return start + 1
    end = start + 1
    while end < stop and text[end] in allowed:
        end += 1
    return end


# --- files ------------------------------------------------------------------------------------------


def load_segmenter(
    mp_path: str, hmm_path: str, mode: JiebaMode, user_words: Sequence[tuple[str, int]]
) -> JiebaSegmenter:
    """A segmenter from these files and the user's words; cached while the files do not change."""
    return _cached_segmenter(
        _file_key(mp_path), _file_key(hmm_path), JiebaMode(mode), tuple((w, n) for w, n in user_words)
    )


def _file_key(path: str) -> tuple[str, int, int]:
    try:
        state = os.stat(path)
    except OSError as error:
        raise FormatError(f"JiebaTokenizer: {path} cannot be opened: {error.strerror}", file=path) from error
    return os.path.realpath(path), state.st_size, state.st_mtime_ns


@functools.lru_cache(maxsize=8)
def _cached_segmenter(
    mp: tuple[str, int, int],
    hmm: tuple[str, int, int],
    mode: JiebaMode,
    user_words: tuple[tuple[str, int], ...],
) -> JiebaSegmenter:
    dictionary, model = _load_dictionary(mp), _load_model(hmm)
    if user_words:
        weights = dict(dictionary.weights)
        for word, count in user_words:
            _insert(weights, word, math.log(count / dictionary.total) if count else dictionary.median_weight)
        dictionary = dictionary._replace(weights=weights)
    return JiebaSegmenter(dictionary, model, mode)


@functools.lru_cache(maxsize=4)
def _load_dictionary(file_key: tuple[str, int, int]) -> JiebaDictionary:
    path = file_key[0]
    counts: dict[str, float] = {}
    total = 0.0
    all_counts: list[float] = []
    for number, line in enumerate(_read_lines(path), 1):
        if not line:
            continue
        fields = line.split(" ")
        try:
            word, count = fields[0], float(fields[1])
            valid = len(fields) == 3 and bool(word) and count > 0
        except (IndexError, ValueError):
            valid = False
        if not valid:
            raise FormatError(
                f"JiebaTokenizer: line {number} of the dictionary is not 'word frequency tag': {line[:40]!r}",
                file=path,
                line=number,
            )
        counts[word] = count
        all_counts.append(count)
        total += count
    if not counts:
        raise FormatError("JiebaTokenizer: the dictionary holds no words", file=path)
    all_counts.sort()
    weights: dict[str, float | None] = {}
    for word, count in counts.items():
        _insert(weights, word, math.log(count / total))
    min_weight, median_weight = (
        math.log(all_counts[0] / total),
        math.log(all_counts[len(all_counts) // 2] / total),
    )
    return JiebaDictionary(weights, min_weight, median_weight, total)


def _insert(weights: dict[str, float | None], word: str, weight: float) -> None:
    for end in range(1, len(word)):
        weights.setdefault(word[:end], None)
    weights[word] = weight


@functools.lru_cache(maxsize=4)
def _load_model(file_key: tuple[str, int, int]) -> HiddenMarkovModel:
    path = file_key[0]
    lines = [line.strip() for line in _read_lines(path)]
    lines = [line for line in lines if line and not line.startswith("#")]
    try:
        start, *change = [[float(field) for field in line.split()] for line in lines[:5]] or [[]]
        emit = [_parse_emissions(line) for line in lines[5:9]]
    except ValueError as error:
        raise FormatError(f"JiebaTokenizer: this is no hidden Markov model: {error}", file=path) from error
    if len(emit) != 4 or [len(row) for row in (start, *change)] != [4] * 5:
        raise FormatError(
            "JiebaTokenizer: a hidden Markov model has 4 probabilities to begin with, 4 lines of 4 for what follows "
            "what, and 4 lines of 'character:probability,...'",
            file=path,
        )
    return HiddenMarkovModel(start, change, emit)


def _parse_emissions(line: str) -> dict[str, float]:
    probabilities: dict[str, float] = {}
    for field in line.split(","):
        character, _, weight = field.rpartition(":")
        if len(character) != 1:
            raise ValueError(f"{field[:20]!r} is not 'character:probability'")
        probabilities[character] = float(weight)
    return probabilities


def _read_lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            return file.read().removesuffix("\n").split("\n")
    except OSError as error:
        raise FormatError(f"JiebaTokenizer: {path} cannot be opened: {error.strerror}", file=path) from error
    except UnicodeDecodeError as error:
        raise FormatError(f"JiebaTokenizer: {path} is not text in UTF-8: {error.reason}", file=path) from None
