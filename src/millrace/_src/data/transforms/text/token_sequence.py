"""Token sequences: add tokens, truncate, n-grams, sliding windows."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from millrace._src.core.args import INT32_MAX, Range, check_type, checked
from millrace._src.core.errors import ArgumentValueError, DataError, PlanError
from millrace._src.core.public import public
from millrace._src.core.values.columns import RaggedColumn, StringColumn
from millrace._src.core.values.string_array import shrink_width
from millrace._src.data.kernels.text.sequences import ngrams, pair_lengths, windows
from millrace._src.data.kernels.text.token_sequence import row_lengths, truncate_rows
from millrace._src.data.transforms.argument_types import ArgumentRule, PositiveInt, check_positive

from .base import TextTensorOperation

__all__ = ["AddToken", "Ngram", "SlidingWindow", "Truncate", "TruncateSequencePair"]


def _shrink_text(values: Any) -> Any:
    """Shrink the dtype of text to the longest remaining string."""
    return shrink_width(values) if values.dtype.kind in "US" else values


@public("dataset.text", "dataset.text.transforms")
class AddToken(TextTensorOperation):
    """Add a token to the beginning or end of a row of tokens; with two dimensions, of each row.

    Args:
        token (str): the token.
        begin (bool): whether to add it before the first token or after the last. Default: ``True``, before.

    >>> import millrace.dataset.text as text
    >>> text.AddToken("[CLS]")(["a", "b"])
    array(['[CLS]', 'a', 'b'], dtype='<U5')
    """

    batch_column_types = (StringColumn,)

    @checked
    def __init__(self, token: str, begin: bool = True) -> None:
        if not token:
            raise PlanError("AddToken: Parameter token is not provided. It is a text that is not empty.")
        self.token = token
        self.begin = begin

    def row(self, value: Any) -> Any:
        if value.ndim not in (1, 2):
            raise DataError(f"AddToken: input tensor rank should be 1 or 2, but got {value.ndim}.")
        if value.dtype.kind != "U":
            raise DataError(f"AddToken: input tensor type should be string, but got {value.dtype}.")
        token = np.full((*value.shape[:-1], 1), self.token)
        return np.concatenate([token, value] if self.begin else [value, token], axis=-1)

    def batch(self, column: StringColumn) -> Any:
        if column.rows is None:
            return None
        token = [self.token]
        return StringColumn.of_lists([token + row if self.begin else row + token for row in column.lists()])


@public("dataset.text", "dataset.text.transforms")
class Truncate(TextTensorOperation):
    """Truncate a row of tokens or numbers to a maximum length; with two dimensions, each row.

    Args:
        max_seq_len (int): the maximum length.

    >>> import millrace.dataset.text as text
    >>> text.Truncate(2)(["a", "b", "c"])
    array(['a', 'b'], dtype='<U1')
    """

    batch_column_types = (StringColumn, RaggedColumn, np.ndarray)

    @checked
    def __init__(self, max_seq_len: PositiveInt) -> None:
        self.max_seq_len = max_seq_len

    def row(self, value: Any) -> Any:
        if value.ndim not in (1, 2):
            raise DataError(
                f"Truncate: the input tensor should be of dimension 1 or 2, but got {value.ndim}."
            )
        if value.dtype.kind not in "biufU":
            raise DataError(
                "Truncate: Truncate: the input tensor should be in type of [bool, int, float, double, string], but got "
                f"{value.dtype}."
            )
        return _shrink_text(value[..., : self.max_seq_len])

    def batch(self, column: Any) -> Any:
        if isinstance(column, np.ndarray):
            right = column.ndim in (2, 3) and column.dtype.kind in "biuf"
            return column[..., : self.max_seq_len] if right else None
        if column.rows is None or (
            isinstance(column, RaggedColumn) and column.values.dtype.kind not in "biuf"
        ):
            return None
        return truncate_rows(column, np.minimum(column.lengths, self.max_seq_len))


def _check_length(name: str, value: Any) -> None:
    check_type(value, (int,), name)
    if value < 0:
        raise PlanError(
            f"TruncateSequencePair : The parameter {name} must be greater than or equal to 0: {value}"
        )
    Range(0, INT32_MAX).check(name, value)


@public("dataset.text", "dataset.text.transforms")
class TruncateSequencePair(TextTensorOperation):
    """Truncate a pair of rows of tokens or numbers to a maximum total length; the longer one is truncated first.

    Where both are equally long, the second is truncated.

    Args:
        max_length (int): the maximum total length of both.

    >>> import millrace.dataset.text as text
    >>> text.TruncateSequencePair(4)(["a", "b", "c"], ["x", "y"])
    (array(['a', 'b'], dtype='<U1'), array(['x', 'y'], dtype='<U1'))
    """

    num_inputs = 2
    batch_column_types = (StringColumn, RaggedColumn, np.ndarray)

    @checked
    def __init__(self, max_length: Annotated[Any, ArgumentRule(_check_length)]) -> None:
        self.max_length = max_length

    def _apply_per_column(self, values: tuple[Any, ...], params: list[Any]) -> tuple[Any, ...]:
        raise DataError(f"TruncateSequencePair: Expected two inputs, but got {len(values)} inputs.")

    def row(self, one: Any, two: Any) -> Any:
        if one.ndim != 1 or two.ndim != 1:
            raise DataError(
                f"TruncateSequencePair: both data column should be of rank 1, but got {one.ndim} and {two.ndim}."
            )
        first, second = pair_lengths(len(one), len(two), self.max_length)
        return _shrink_text(one[:first]), _shrink_text(two[:second])

    def batch(self, one: Any, two: Any) -> Any:
        for column in (one, two):
            flat = column.ndim == 2 if isinstance(column, np.ndarray) else column.rows is not None
            if not flat:
                return None
        first, second = pair_lengths(row_lengths(one), row_lengths(two), self.max_length)
        return truncate_rows(one, first), truncate_rows(two, second)


def _check_sizes(name: str, value: Any) -> None:
    sizes = [value] if isinstance(value, int) else value
    if not isinstance(sizes, list) or not sizes:
        raise ArgumentValueError(f"{name} needs to be a non-empty list of positive integers.")
    for i, size in enumerate(sizes):
        check_type(size, (int,), f"gram[{i}]")
        check_positive(size, f"gram_{i}")


def _check_pad(name: str, value: Any) -> None:
    right = isinstance(value, tuple) and len(value) == 2
    if not right or not isinstance(value[0], str) or not isinstance(value[1], int):
        raise ArgumentValueError(
            f"{name} needs to be a tuple of (str, int) str is pad token and int is pad_width."
        )


Padding = Annotated[Any, ArgumentRule(_check_pad)]


@public("dataset.text", "dataset.text.transforms")
class Ngram(TextTensorOperation):
    """Generate the n-grams of a row of tokens: each run of n tokens, joined.

    Args:
        n (list[int]): the number of tokens in an n-gram; with several numbers, all n-grams of the first come before
            those of the second. Where there are too few tokens, one empty text replaces the n-grams of that n.
        left_pad (tuple): (text, count): padding before the tokens, at most n - 1 times. Default: ``('', 0)``.
        right_pad (tuple): (text, count): padding after the tokens, at most n - 1 times. Default: ``('', 0)``.
        separator (str): the separator between the joined tokens. Default: ``' '``.

    >>> import millrace.dataset.text as text
    >>> text.Ngram([2, 3], separator="-")(["a", "b", "c"])
    array(['a-b', 'b-c', 'a-b-c'], dtype='<U5')
    """

    batch_column_types = (StringColumn,)
    json_arguments: ClassVar[dict[str, str]] = {"ngrams": "n"}
    json_lists = frozenset({"n"})

    @checked
    def __init__(
        self,
        n: Annotated[Any, ArgumentRule(_check_sizes)],
        left_pad: Padding = ("", 0),
        right_pad: Padding = ("", 0),
        separator: str = " ",
    ) -> None:
        if left_pad[1] < 0 or right_pad[1] < 0:
            raise ArgumentValueError("padding width need to be positive numbers.")
        self.ngrams = [n] if isinstance(n, int) else n
        self.left_pad = left_pad
        self.right_pad = right_pad
        self.separator = separator

    def row(self, value: Any) -> Any:
        if value.dtype.kind != "U" or value.ndim != 1:
            raise DataError(
                f"Ngram: input is not a 1D data with string datatype, but {value.ndim}D with {value.dtype}."
            )
        return np.array(ngrams(value.tolist(), self.ngrams, self.left_pad, self.right_pad, self.separator))

    def batch(self, column: StringColumn) -> Any:
        if column.rows is None:
            return None
        arguments = (self.ngrams, self.left_pad, self.right_pad, self.separator)
        return StringColumn.of_lists([ngrams(row, *arguments) for row in column.lists()])


def _check_axis(name: str, value: Any) -> None:
    check_type(value, (int,), name)
    if value not in (0, -1):
        raise PlanError(f"SlidingWindow: The parameter axis supports 0 or -1 only for now, but got {value}.")


@public("dataset.text", "dataset.text.transforms")
class SlidingWindow(TextTensorOperation):
    """Apply a sliding window to a row of values; the windows are the rows of the result.

    A row with fewer values than the window gives an empty result.

    Args:
        width (int): the width of the window.
        axis (int): the axis of the window: 0 or -1, which are the same, since a row has one axis. Default: ``0``.

    >>> import millrace.dataset.text as text
    >>> text.SlidingWindow(3)([1, 2, 3, 4, 5])
    array([[1, 2, 3],
           [2, 3, 4],
           [3, 4, 5]])
    """

    @checked
    def __init__(self, width: PositiveInt, axis: Annotated[Any, ArgumentRule(_check_axis)] = 0) -> None:
        self.width = width
        self.axis = axis

    def row(self, value: Any) -> Any:
        if value.ndim != 1:
            raise DataError(
                f"SlidingWindow: SlidingWindow supports 1D input only for now, but got {value.ndim}D."
            )
        return _shrink_text(windows(value, self.width))
