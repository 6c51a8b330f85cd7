"""Base classes of the text transforms and tokenizers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Annotated, Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, DataError
from millrace._src.core.values.columns import RaggedColumn, StringColumn
from millrace._src.data.transforms.argument_types import ArgumentRule
from millrace._src.data.transforms.tensor_operation import TensorOperation

__all__ = [
    "Boolean",
    "StringOperation",
    "Text",
    "TextTensorOperation",
    "Tokenizer",
    "non_text_hint",
    "single_string",
    "token_offset_columns",
]


def _check_boolean(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"Wrong input type for {name}, should be boolean.")


def _check_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ArgumentTypeError(f"Wrong input type for {name}, should be string.")


Boolean = Annotated[Any, ArgumentRule(_check_boolean)]
Text = Annotated[Any, ArgumentRule(_check_text)]


class TextTensorOperation(TensorOperation):
    """Base of the operations on text; eagerly it takes a str, a list of them, or an array of text."""

    _is_builtin = True
    _family = "text"
    single_column_only = True
    holds_gil = True
    # MindSpore's message
    _one_column = "input should be one column data"

    def as_input(self, value: Any) -> Any:
        """Convert a user's value to the input of `row`."""
        array = None if value is None else np.asarray(value)
        if array is None or (array.dtype.kind == "U" and _has_lone_surrogate(array)):
            raise ArgumentTypeError(
                f"Invalid user input. Got {type(value)}: {value}, cannot be converted into tensor."
            )
        if array.size == 0:
            raise DataError("Input Tensor has no data.")
        return array

    def _apply_per_column(self, values: tuple[Any, ...], params: list[Any]) -> tuple[Any, ...]:
        if self.single_column_only and self.num_inputs == 1:
            raise DataError(
                f"{type(self).__name__}: {self._one_column}, but got {len(values)} columns. Use a separate map for "
                "each: .map(operation, input_columns=[one])."
            )
        return super()._apply_per_column(values, params)


def _has_lone_surrogate(text: np.ndarray[Any, Any]) -> bool:
    """Whether a text has lone surrogates, which have no UTF-8 form."""
    try:
        "".join(text.ravel().tolist()).encode()
    except UnicodeEncodeError:
        return True
    return False


def non_text_hint(value: np.ndarray[Any, Any]) -> str:
    """Hint for an error about a value that is not text; empty where there is none."""
    return " Bytes become text with text.to_str()." if value.dtype.kind == "S" else ""


def single_string(value: np.ndarray[Any, Any], op: str) -> str:
    """The string of a row with a single one.

    >>> single_string(np.array("a b"), "WhitespaceTokenizer")
    'a b'
    """
    if value.dtype.kind != "U" or value.ndim:
        got = f"an array of shape {value.shape}" if value.ndim else "one value"
        raise DataError(
            f"{op}: the input shape should be scalar and the input datatype should be string, but got {got} of type "
            f"{value.dtype}.{non_text_hint(value)}"
        )
    return str(value.item())


class StringOperation(TextTensorOperation):
    """Base of the operations that map each text to another text, in an array of any shape."""

    _is_builtin = True
    batch_column_types = (StringColumn,)
    _no_text = "input is not string datatype"
    _one_column = "The op is OneToOne, can only accept one tensor as input"

    def transform_text(self, text: str) -> str:
        """Transform one text."""
        raise NotImplementedError

    def row(self, value: Any) -> Any:
        if value.dtype.kind != "U":
            raise DataError(
                f"{type(self).__name__}: {self._no_text}, but {value.dtype}.{non_text_hint(value)}"
            )
        transform = self.transform_text
        if value.ndim == 0:
            return np.array(transform(value.item()))
        return np.array([transform(text) for text in value.ravel().tolist()], np.str_).reshape(value.shape)

    def batch(self, xs: StringColumn) -> StringColumn:
        return StringColumn.of(list(map(self.transform_text, xs.strings)), xs.rows)


class Tokenizer(TextTensorOperation):
    """Base of the tokenizers: the tokens of one string; `with_offsets` adds their start and end, in bytes of UTF-8."""

    _is_builtin = True
    batch_column_types = (StringColumn,)
    with_offsets: bool = False
    _read: Callable[[Any, str], str] = staticmethod(single_string)

    def tokens(self, text: str) -> list[str]:
        """The tokens; at least one."""
        raise NotImplementedError

    def spans(self, text: str) -> tuple[list[str], list[int], list[int]]:
        """The tokens, and the start and end of each."""
        raise NotImplementedError

    def row(self, value: Any) -> Any:
        text = self._read(value, type(self).__name__)
        if not self.with_offsets:
            return np.array(self.tokens(text))
        tokens, starts, limits = self.spans(text)
        return np.array(tokens), np.array(starts, np.uint32), np.array(limits, np.uint32)

    def lists(self, texts: list[str]) -> list[list[str]]:
        """The tokens of each text."""
        return list(map(self.tokens, texts))

    def batch(self, xs: StringColumn) -> Any:
        if xs.rows is not None:
            return None  # more than one text in a row
        if not self.with_offsets:
            return StringColumn.of_lists(self.lists(xs.strings))
        return token_offset_columns(list(map(self.spans, xs.strings)))


def token_offset_columns(
    spans: list[tuple[list[str], list[int], list[int]]],
) -> tuple[StringColumn, RaggedColumn, RaggedColumn]:
    """Columns of the tokens of each row, and of the start and end of each token."""
    texts = StringColumn.of_lists([tokens for tokens, _, _ in spans])
    rows = texts.rows
    assert rows is not None
    starts = np.fromiter(chain.from_iterable(first for _, first, _ in spans), np.uint32, int(rows[-1]))
    limits = np.fromiter(chain.from_iterable(last for _, _, last in spans), np.uint32, int(rows[-1]))
    return texts, RaggedColumn(starts, rows), RaggedColumn(limits, rows)
