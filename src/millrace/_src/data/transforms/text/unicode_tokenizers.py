"""Tokenizers by white space, character, Unicode script, or a Python function."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentTypeError, DataError
from millrace._src.core.public import public
from millrace._src.core.stable_ids import public_module
from millrace._src.data.kernels.text import unicode_tokenizers as splits
from millrace._src.data.transforms.argument_types import ArgumentRule
from millrace._src.data.transforms.base import display_name

from .base import Boolean, TextTensorOperation, Tokenizer

__all__ = ["PythonTokenizer", "UnicodeCharTokenizer", "UnicodeScriptTokenizer", "WhitespaceTokenizer"]


@public("dataset.text", "dataset.text.transforms")
class WhitespaceTokenizer(Tokenizer):
    """Split a text at Unicode white space.

    Args:
        with_offsets (bool): also return the start and end of each word, in bytes of UTF-8. Default: ``False``.

    >>> import millrace.dataset.text as text
    >>> text.WhitespaceTokenizer()("Welcome to  Beijing!")
    array(['Welcome', 'to', 'Beijing!'], dtype='<U8')
    >>> text.WhitespaceTokenizer(with_offsets=True)("北京 Beijing")
    (array(['北京', 'Beijing'], dtype='<U7'), array([0, 7], dtype=uint32), array([ 6, 14], dtype=uint32))
    """

    @checked
    def __init__(self, with_offsets: Boolean = False) -> None:
        self.with_offsets = with_offsets

    lists = staticmethod(splits.whitespace_token_lists)
    tokens = staticmethod(splits.whitespace_tokens)
    spans = staticmethod(splits.whitespace_spans)


@public("dataset.text", "dataset.text.transforms")
class UnicodeCharTokenizer(Tokenizer):
    """Split a text into characters (code points).

    Args:
        with_offsets (bool): also return the start and end of each character, in bytes of UTF-8.
            Default: ``False``.

    >>> import millrace.dataset.text as text
    >>> text.UnicodeCharTokenizer()("北京 ok")
    array(['北', '京', ' ', 'o', 'k'], dtype='<U1')
    """

    @checked
    def __init__(self, with_offsets: Boolean = False) -> None:
        self.with_offsets = with_offsets

    tokens = staticmethod(splits.characters)
    spans = staticmethod(splits.char_spans)


@public("dataset.text", "dataset.text.transforms")
class UnicodeScriptTokenizer(Tokenizer):
    """Split a text into runs of characters of one Unicode script; white space counts as a separate script.

    Digits, punctuation and symbols are common to all scripts and stay together; marks that belong to several scripts
    (the acute accent of a decomposed é) are a separate script.

    Args:
        keep_whitespace (bool): keep runs of white space as tokens. Default: ``False``.
        with_offsets (bool): also return the start and end of each token, in bytes of UTF-8. Default: ``False``.

    >>> import millrace.dataset.text as text
    >>> text.UnicodeScriptTokenizer()("我爱Python编程 3.14")
    array(['我爱', 'Python', '编程', '3.14'], dtype='<U6')
    """

    @checked
    def __init__(self, keep_whitespace: Boolean = False, with_offsets: Boolean = False) -> None:
        self.keep_whitespace = keep_whitespace
        self.with_offsets = with_offsets

    def tokens(self, text: str) -> list[str]:
        return splits.script_runs(text, self.keep_whitespace)

    def spans(self, text: str) -> tuple[list[str], list[int], list[int]]:
        return splits.script_spans(text, self.keep_whitespace)


def _check_callable(name: str, value: Any) -> None:
    if not callable(value):
        raise ArgumentTypeError(f"{name} is not a callable Python function.")


@public("dataset.text", "dataset.text.transforms")
class PythonTokenizer(TextTensorOperation, ours=False):
    """Tokenize a text with a user-defined Python function of a str.

    Bytes are decoded as UTF-8 first. An array of several texts gives a result with one more dimension, and all texts
    must have the same number of tokens.

    Args:
        tokenizer (Callable): a function of a str that returns a list of str.

    >>> import millrace.dataset.text as text
    >>> text.PythonTokenizer(str.split)(np.array("Hello big world"))
    array(['Hello', 'big', 'world'], dtype='<U5')
    """

    runs_in_python = True

    @checked
    def __init__(self, tokenizer: Annotated[Any, ArgumentRule(_check_callable)]) -> None:
        self.tokenizer: Callable[[str], Any] = tokenizer

    def as_input(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            raise ArgumentTypeError(f"input should be a NumPy array. Got {type(value)}.")
        return value

    def row(self, value: Any) -> Any:
        texts = value.ravel().tolist()
        rows = [self._tokens(text.decode() if isinstance(text, bytes) else text) for text in texts]
        try:
            return np.array(rows, np.str_).reshape(*value.shape, -1 if rows else 0)
        except ValueError as error:
            counts = ", ".join(str(len(row)) for row in rows)
            raise DataError(
                f"PythonTokenizer: the texts of an array must have as many tokens as each other, but got {counts}."
            ) from error

    def _tokens(self, text: str) -> list[str]:
        try:
            tokens = self.tokenizer(text)
        except Exception as error:
            raise DataError(
                f"Error occurred in Pyfunc [{display_name(self.tokenizer)}], error message: {error}"
            ) from error
        if not isinstance(tokens, (list, tuple, np.ndarray)) or np.ndim(np.array(tokens, object)) != 1:
            raise DataError(
                f"Error occurred in Pyfunc [{display_name(self.tokenizer)}], error message: a "
                "tokenizer returns a list of "
                f"tokens, but got {tokens!r}."
            )
        return [token.decode() if isinstance(token, bytes) else str(token) for token in tokens]

    def to_json(self) -> str:
        """The JSON form: name and module of the function only."""
        name = getattr(self.tokenizer, "__name__", type(self.tokenizer).__name__)
        return json.dumps({"tensor_op_name": name, "python_module": public_module(type(self))})
