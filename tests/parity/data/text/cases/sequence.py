"""Rows of words made longer, shorter or into pieces."""

from __future__ import annotations

from tests.parity.data.text.cases.case import bad, each
from tests.parity.data.text.inputs import NO_TEXT

_EARLY = "refused when it is made, not when it is called"
_WORDS = "words one_word pieces grid word digits no_words"
_PAIRS = "words,words words,pieces one_word,pieces pieces,one_word ints,words floats,ints byte_words,words flags,floats"

CASES = [
    *each(
        "T.AddToken('a')\nT.Truncate(1)\nT.Ngram(1)\nT.SlidingWindow(1)",
        "words,words",
        "names the op, and says how each column gets a map",
    ),
    *each("T.AddToken('[CLS]')\nT.AddToken('中', False)", f"{_WORDS} {NO_TEXT}"),
    *each("T.AddToken('')", "words", _EARLY),
    *bad("T.AddToken({})", "1; None; 'a', 1; 'a', None"),
    *each("T.Truncate(1)\nT.Truncate(3)\nT.Truncate(100)", f"{_WORDS} {NO_TEXT}"),
    *bad("T.Truncate({})", "0; -1; 2147483648; 1.0; 'a'; True; None"),
    *each("\n".join(f"T.TruncateSequencePair({n})" for n in (0, 1, 2, 5, 8, 9, 100)), _PAIRS),
    *each(
        "T.TruncateSequencePair(3)", "words words,words,words word,words grid,words grid,grid no_words,words"
    ),
    *each("T.TruncateSequencePair(-1)", "words,words", _EARLY),
    *each("T.TruncateSequencePair(1.5)\nT.TruncateSequencePair('a')", "words,words", _EARLY),
    *each(
        """
        T.Ngram(1)
        T.Ngram(2)
        T.Ngram([3, 1])
        T.Ngram([2, 9], separator='')
        T.Ngram(9)
        T.Ngram(3, ('<', 2), ('>', 1), '-')
        T.Ngram([1, 2, 4], ('<', 9), ('', 9), '中')
        """,
        f"{_WORDS} {NO_TEXT}",
    ),
    *bad("T.Ngram({})", "[]; 0; [1, 0]; [1.0]; (1, 2); 'a'; True; None; [-1]"),
    *bad(
        "T.Ngram(2, {})",
        "('a',); ['a', 1]; ('a', -1); ('a', 1), (1, 1); ('a', 1), ('a', -1); separator=1; None",
    ),
    *each(
        "T.SlidingWindow(1)\nT.SlidingWindow(2)\nT.SlidingWindow(7, -1)\nT.SlidingWindow(9)",
        f"{_WORDS} {NO_TEXT}",
    ),
    *each("T.SlidingWindow(2, 1)\nT.SlidingWindow(2, -2)", "words", _EARLY),
    *bad("T.SlidingWindow({})", "0; -1; 2147483648; 1.0; 'a'; True; None; 1, 1.0; 1, True; 1, None"),
]
