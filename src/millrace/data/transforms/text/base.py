"""What text transforms share: which values they take, how they read them, and what a tokenizer gives."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from millrace.core.errors import ArgumentTypeError, DataError
from millrace.data.transforms.checks import Rule
from millrace.data.transforms.operation import Operation

__all__ = ["Boolean", "TextOperation", "Tokenizer", "string_of"]


def _boolean(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"Wrong input type for {name}, should be boolean.")


Boolean = Annotated[Any, Rule(_boolean)]


class TextOperation(Operation):
    """An operation on text: eagerly it takes a str, a list of them, or an array of text."""

    _ours = True

    def take(self, value: Any) -> Any:
        """A user's value as `row` takes it."""
        made = None if value is None else np.asarray(value)
        if made is None or (made.dtype.kind == "U" and _halves(made)):
            raise ArgumentTypeError(
                f"Invalid user input. Got {type(value)}: {value}, cannot be converted into tensor."
            )
        if made.size == 0:
            raise DataError("Input Tensor has no data.")
        return made

    def _each(self, values: tuple[Any, ...], params: list[Any]) -> tuple[Any, ...]:
        if self.takes == 1:
            raise DataError(
                f"{type(self).__name__}: input should be one column data, but got {len(values)} columns. Give each a "
                "map of its own: .map(operation, input_columns=[one])."
            )
        return super()._each(values, params)


def _halves(text: np.ndarray[Any, Any]) -> bool:
    """Whether halves of surrogate pairs stand in the text: they have no UTF-8 form."""
    try:
        "".join(text.ravel().tolist()).encode()
    except UnicodeEncodeError:
        return True
    return False


def string_of(value: np.ndarray[Any, Any], op: str) -> str:
    """The one string that a row holds.

    >>> string_of(np.array("a b"), "WhitespaceTokenizer")
    'a b'
    """
    if value.dtype.kind != "U" or value.ndim:
        got = f"an array of shape {value.shape}" if value.ndim else "one value"
        bytes_too = ". Bytes become text with text.to_str()" if value.dtype.kind == "S" else ""
        raise DataError(
            f"{op}: the input shape should be scalar and the input datatype should be string, but got {got} of type "
            f"{value.dtype}{bytes_too}."
        )
    return str(value.item())


class Tokenizer(TextOperation):
    """One string in, its tokens out; with_offsets also where each starts and ends, in bytes of UTF-8."""

    _ours = True
    with_offsets: bool = False

    def tokens(self, text: str) -> list[str]:
        """The tokens; never none at all."""
        raise NotImplementedError

    def spans(self, text: str) -> tuple[list[str], list[int], list[int]]:
        """The tokens, where each starts and where it ends."""
        raise NotImplementedError

    def row(self, value: Any) -> Any:
        text = string_of(value, type(self).__name__)
        if not self.with_offsets:
            return np.array(self.tokens(text))
        tokens, starts, limits = self.spans(text)
        return np.array(tokens), np.array(starts, np.uint32), np.array(limits, np.uint32)
