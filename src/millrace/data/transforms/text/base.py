"""What text transforms share: which values they take, and how they read them."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace.core.errors import ArgumentTypeError, DataError
from millrace.data.transforms.operation import Operation

__all__ = ["TextOperation", "string_of"]


class TextOperation(Operation):
    """An operation on text: eagerly it takes a str, a list of them, or an array of text."""

    _ours = True

    def take(self, value: Any) -> Any:
        """A user's value as `row` takes it."""
        if value is None:
            raise ArgumentTypeError(
                f"Invalid user input. Got {type(value)}: {value}, cannot be converted into tensor."
            )
        return np.asarray(value)


def string_of(value: np.ndarray[Any, Any], op: str) -> str:
    """The one string that a row holds.

    >>> string_of(np.array("a b"), "WhitespaceTokenizer")
    'a b'
    """
    if value.dtype.kind != "U":
        raise DataError(f"{op}: the type of the input should be string, but got {value.dtype}.")
    if value.ndim:
        raise DataError(f"{op}: the input shape should be a scalar, but got rank {value.ndim}.")
    return str(value.item())
