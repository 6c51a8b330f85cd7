"""Argument checks of Vocab, and the words of a file and of a dataset."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any

import numpy.typing as npt

from millrace._src.core.args import INT32_MAX, Range, check_type
from millrace._src.core.errors import ArgumentValueError, DataError, FormatError, PlanError

__all__ = [
    "Count",
    "PositiveCount",
    "WordIds",
    "WordList",
    "as_column_names",
    "as_frequency_range",
    "count_words",
    "raise_duplicate_word",
    "as_texts",
    "read_words",
]


class _UniqueWords:
    """A list of distinct words."""

    def check(self, name: str, value: Any) -> None:
        check_type(value, (list,), name)
        if set(map(type, value)) <= {str} and len(set(value)) == len(value):
            return
        seen: set[str] = set()
        for word in value:
            check_type(word, (str,), name)
            if word in seen:
                raise ArgumentValueError(f"{name} contains duplicate word: {word}.")
            seen.add(word)


class PositiveCount:
    """An integer above 0, with MindSpore's error message."""

    def check(self, name: str, value: Any) -> None:
        if value <= 0:
            raise ArgumentValueError(f"Input {name} must be greater than 0.")


class WordIds:
    """A dict of words and their ids."""

    def check(self, name: str, value: Any) -> None:
        for word, number in value.items():
            if type(word) is str and type(number) is int and 0 <= number <= INT32_MAX:
                continue
            check_type(word, (str,), "word")
            check_type(number, (int,), "word_id")
            Range(0, INT32_MAX).check("word_id", number)


WordList = Annotated[Any, _UniqueWords()]
Count = Annotated[int | None, PositiveCount()]


# --- files ------------------------------------------------------------------------------------------


def read_words(path: str, delimiter: str, most: int | None) -> list[str]:
    try:
        with open(path, "rb") as file:
            data = b"".join(itertools.islice(file, most))
    except OSError as error:
        raise FormatError(
            f"from_file: Get real path failed, path={path} ({error.strerror})", file=path
        ) from error
    try:
        words = data.decode().split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"from_file: line {line} is not text in UTF-8: {error.reason}", file=path, line=line
        ) from None
    if not words[-1]:
        words.pop()
    return [word.partition(delimiter)[0] for word in words] if delimiter else words


def raise_duplicate_word(path: str, words: Iterable[str], special: set[str]) -> None:
    seen: dict[str, int] = {}
    for line, word in enumerate(words, 1):
        if word in seen:
            raise FormatError(
                f"from_file: word_list contains duplicate word:{word} (lines {seen[word]} and {line})",
                file=path,
            )
        if word in special:
            raise FormatError(
                f"from_file: special_tokens and word_list contain duplicate word:{word} (line {line})",
                file=path,
            )
        seen[word] = line


# --- datasets ---------------------------------------------------------------------------------------


def as_column_names(columns: Any) -> list[str]:
    if columns is None:
        return []
    names: list[str] = columns if isinstance(columns, list) else [columns]
    for i, name in enumerate(names):
        check_type(name, (str,), f"col[{i}]")
        if name in names[:i]:
            raise PlanError(
                f"BuildVocabNode: 'columns' : Invalid parameter, duplicate column names are not allowed: {name}"
            )
    return names


def as_frequency_range(freq_range: Any) -> tuple[int, float]:
    if freq_range is None:
        return 0, float("inf")
    check_type(freq_range, (tuple,), "freq_range")
    if len(freq_range) != 2:
        raise ArgumentValueError("freq_range needs to be a tuple of 2 element.")
    if not all(number is None or isinstance(number, int) for number in freq_range):
        raise ArgumentValueError(
            "freq_range needs to be either None or a tuple of 2 integers or an int and a None."
        )
    least, most = freq_range[0] or 0, float("inf") if freq_range[1] is None else freq_range[1]
    if not 0 <= least <= most:
        if None not in freq_range:
            raise ArgumentValueError("frequency range [a,b] should be 0 <= a <= b (a,b are inclusive).")
        raise PlanError(
            "BuildVocabNode: frequency_range [a,b] violates 0 <= a <= b (a,b are inclusive), but got "
            f"{list(freq_range)}"
        )
    return least, most


def count_words(dataset: Any, columns: list[str]) -> Counter[str]:
    """Frequency of each word in these columns."""
    if columns:
        dataset = dataset.project(columns)
    counts: Counter[str] = Counter()
    with dataset.create_tuple_iterator(num_epochs=1, output_numpy=True) as rows:
        for row in rows:
            for value in row:
                counts.update(as_texts(value, "build_vocab"))
    return counts


def as_texts(value: npt.NDArray[Any], what: str) -> list[str]:
    """The texts of a value; ``what`` names the operation in the error."""
    type_code = value.dtype.kind
    if type_code not in "US":
        raise DataError(
            f"Invalid datatype, '{what}' only supports string type of input, but got numeric type: "
            f"{value.dtype}. Name the columns of text: from_dataset(dataset, columns=[...])."
        )
    words: list[str] = value.reshape(-1).tolist()
    return words if type_code == "U" else [word.decode() for word in words]  # type: ignore[attr-defined]
