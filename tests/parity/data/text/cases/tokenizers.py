"""Tokenizers that look at characters alone."""

from __future__ import annotations

from tests.parity.data.text.cases.case import bad, each
from tests.parity.data.text.inputs import NO_TEXT, ODD, SCRIPTS

_TEXT = f"{SCRIPTS} {ODD}"
_CALLS = """
    T.WhitespaceTokenizer()
    T.WhitespaceTokenizer(True)
    T.UnicodeCharTokenizer()
    T.UnicodeCharTokenizer(with_offsets=True)
"""
_PLAIN = "T.WhitespaceTokenizer()\nT.UnicodeCharTokenizer()"

CASES = [
    *each(_CALLS, _TEXT),
    *each(_PLAIN, f"{NO_TEXT} words grid no_words word,word"),
    *bad("T.WhitespaceTokenizer({})", "5; 'x'; None; 1.5"),
    *bad("T.UnicodeCharTokenizer({})", "5; 'x'; None"),
]
