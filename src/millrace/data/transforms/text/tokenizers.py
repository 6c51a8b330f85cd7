"""Tokenizers that look at characters alone."""

from __future__ import annotations

from millrace.core.args import checked
from millrace.data.kernels.text import splits

from .base import Boolean, Tokenizer

__all__ = ["UnicodeCharTokenizer", "WhitespaceTokenizer"]


class WhitespaceTokenizer(Tokenizer):
    """The words of a text: what stands between white space, as Unicode has it.

    Args:
        with_offsets (bool): also give where each word starts and where it ends, in bytes of UTF-8. Default: ``False``.

    >>> import millrace.dataset.text as text
    >>> text.WhitespaceTokenizer()("Welcome to  Beijing!")
    array(['Welcome', 'to', 'Beijing!'], dtype='<U8')
    >>> text.WhitespaceTokenizer(with_offsets=True)("北京 Beijing")
    (array(['北京', 'Beijing'], dtype='<U7'), array([0, 7], dtype=uint32), array([ 6, 14], dtype=uint32))
    """

    @checked
    def __init__(self, with_offsets: Boolean = False) -> None:
        self.with_offsets = with_offsets

    tokens = staticmethod(splits.spaced)
    spans = staticmethod(splits.space_spans)


class UnicodeCharTokenizer(Tokenizer):
    """Every character of a text (every code point) by itself.

    Args:
        with_offsets (bool): also give where each character starts and where it ends, in bytes of UTF-8.
            Default: ``False``.

    >>> import millrace.dataset.text as text
    >>> text.UnicodeCharTokenizer()("北京 ok")
    array(['北', '京', ' ', 'o', 'k'], dtype='<U1')
    """

    @checked
    def __init__(self, with_offsets: Boolean = False) -> None:
        self.with_offsets = with_offsets

    tokens = staticmethod(splits.chars)
    spans = staticmethod(splits.char_spans)
