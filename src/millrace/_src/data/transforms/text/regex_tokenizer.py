"""Tokenize and replace by regular expressions."""

from __future__ import annotations

from typing import Annotated, Any

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.data.kernels.text import regex_split as patterns
from millrace._src.data.transforms.argument_types import ArgumentRule

from .base import Boolean, StringOperation, Text, Tokenizer

__all__ = ["RegexReplace", "RegexTokenizer"]

_BAD_DELIMITER = "RegexTokenizer: create ICU RegexMatcher failed, you may input one error pattern"
_BAD_PATTERN = "RegexReplace: create icu RegexMatcher failed, you may input one error pattern"


def _check_delimiter(name: str, value: Any) -> None:
    if value is None:
        raise ArgumentValueError(f"{name} is not provided.")
    if not isinstance(value, str):
        raise ArgumentTypeError(f"Wrong input type for {name}, should be string.")


@public("dataset.text", "dataset.text.transforms")
class RegexTokenizer(Tokenizer):
    """Split a text into tokens at the matches of a regular expression.

    Patterns have ICU's syntax and are translated for the library ``regex`` (extra ``text``). The library may support a
    newer Unicode than ICU 74 (15.1): characters that were added later then have properties. It also supports names of
    characters (``\\N{...}``), ``\\p{Emoji}``, ``\\X`` and look-behinds of any length, which MindSpore's ICU does not.

    Args:
        delim_pattern (str): the pattern of the delimiters.
        keep_delim_pattern (str): a delimiter is kept as a token if this pattern matches all of it.
            Default: ``''``, none is kept.
        with_offsets (bool): also return the start and end of each token, in bytes of UTF-8. Default: ``False``.

    >>> import millrace.dataset.text as text
    >>> text.RegexTokenizer("[ ,]", ",")("one, two")
    array(['one', ',', 'two'], dtype='<U3')
    """

    libraries = ("regex",)

    @checked
    def __init__(
        self,
        delim_pattern: Annotated[Any, ArgumentRule(_check_delimiter)],
        keep_delim_pattern: Text = "",
        with_offsets: Boolean = False,
    ) -> None:
        self.delim_pattern = delim_pattern
        self.keep_delim_pattern = keep_delim_pattern
        self.with_offsets = with_offsets

    def _patterns(self) -> tuple[Any, Any]:
        keep = self.keep_delim_pattern
        return (
            patterns.compile_pattern(self.delim_pattern, _BAD_DELIMITER),
            patterns.compile_pattern(keep, _BAD_DELIMITER) if keep else None,
        )

    def tokens(self, text: str) -> list[str]:
        return patterns.split_text(text, *self._patterns())

    def spans(self, text: str) -> tuple[list[str], list[int], list[int]]:
        return patterns.split_spans(text, *self._patterns())


@public("dataset.text", "dataset.text.transforms")
class RegexReplace(StringOperation):
    """Replace the matches of a regular expression in a text.

    Patterns are those of `RegexTokenizer`. In `replace`, ``$1`` and ``${name}`` are groups, ``$0`` is the whole
    match, and a backslash makes the next character literal. In an array each text is transformed separately; MindSpore
    2.7.0 joins them into the first.

    Args:
        pattern (str): the pattern to replace.
        replace (str): the replacement.
        replace_all (bool): replace every match, or only the first of each text. Default: ``True``.

    >>> import millrace.dataset.text as text
    >>> text.RegexReplace(r"\\s+", "_")("one  two three")
    array('one_two_three', dtype='<U13')
    """

    libraries = ("regex",)

    @checked
    def __init__(self, pattern: str, replace: str, replace_all: bool = True) -> None:
        self.pattern = pattern
        self.replace = replace
        self.replace_all = replace_all

    def transform_text(self, text: str) -> str:
        pattern = patterns.compile_pattern(self.pattern, _BAD_PATTERN)
        return patterns.replace_matches(text, pattern, self.replace, self.replace_all)
