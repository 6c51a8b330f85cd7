"""Tokenizers and replacements by regular expressions."""

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


def _delimiter(name: str, value: Any) -> None:
    if value is None:
        raise ArgumentValueError(f"{name} is not provided.")
    if not isinstance(value, str):
        raise ArgumentTypeError(f"Wrong input type for {name}, should be string.")


@public("dataset.text", "dataset.text.transforms")
class RegexTokenizer(Tokenizer):
    """The parts of a text between what a regular expression matches.

    Patterns are ICU's and run on the library ``regex`` (extra ``text``), which is rewritten where the two differ. The
    library may know a newer Unicode than ICU 74 (15.1): characters that came later then have properties. It also takes
    names of characters (``\\N{...}``), ``\\p{Emoji}``, ``\\X`` and look-behinds of any length, which MindSpore's ICU
    does not.

    Args:
        delim_pattern (str): what parts the tokens.
        keep_delim_pattern (str): what parted them is kept as a token if all of it matches this.
            Default: ``''``, nothing.
        with_offsets (bool): also give where each token starts and where it ends, in bytes of UTF-8. Default: ``False``.

    >>> import millrace.dataset.text as text
    >>> text.RegexTokenizer("[ ,]", ",")("one, two")
    array(['one', ',', 'two'], dtype='<U3')
    """

    libraries = ("regex",)

    @checked
    def __init__(
        self,
        delim_pattern: Annotated[Any, ArgumentRule(_delimiter)],
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
    """A text with something else where a regular expression matches.

    Patterns are those of `RegexTokenizer`. In `replace`, ``$1`` and ``${name}`` stand for groups, ``$0`` for the whole
    match, and a backslash makes what follows it plain. In an array each text is treated by itself; MindSpore 2.7.0
    joins them into the first.

    Args:
        pattern (str): what is replaced.
        replace (str): what stands there instead.
        replace_all (bool): every match, or only the first of each text. Default: ``True``.

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
