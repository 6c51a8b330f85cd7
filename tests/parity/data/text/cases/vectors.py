"""Word vectors."""

from __future__ import annotations

from tests.parity.data.text.cases.case import bad, each
from tests.parity.data.text.inputs import NO_TEXT

_WORDS = "words one_word word pieces grid latin no_words"
_EARLY = "refused when it is made, not when it is called"
_KINDS = """
    T.ToVectors(T.Vectors.from_file(F + 'vectors.txt'){})
    T.ToVectors(T.GloVe.from_file(F + 'glove.6B.test.txt'){})
    T.ToVectors(T.FastText.from_file(F + 'head.vec'){})
    T.ToVectors(T.Vectors.from_file(F + 'doubles.txt'){})
    T.ToVectors(T.CharNGram.from_file(F + 'ngrams.txt'){})
"""
_UNKNOWN = """
    T.ToVectors(T.Vectors.from_file(F + 'vectors.txt', {}), [1, -2.5, 1e50])
    T.ToVectors(T.Vectors.from_file(F + 'head.vec', {}), (1, 2, 3))
    T.ToVectors(T.CharNGram.from_file(F + 'ngrams.txt', {}), (-1, -2))
    T.ToVectors(T.Vectors.from_file(F + 'doubles.txt', {}), [])
"""


def _all(calls: str, *arguments: str) -> str:
    return "\n".join(calls.format(*[one] * calls.count("{}")) for one in arguments)


CASES = [
    *each(_all(_KINDS, ""), _WORDS),
    *each(_all(_UNKNOWN, "None", "0", "1", "2", "3", "100"), "words"),
    *each("T.ToVectors(T.Vectors.from_file(F + 'vectors.txt'))", NO_TEXT),
    *each("T.ToVectors(T.Vectors.from_file(F + 'vectors.txt'), None, True)", "word one_word latin"),
    *each(
        "T.ToVectors(T.Vectors.from_file(F + 'vectors.txt'), None, True)",
        "words",
        "the word as it is comes first, as the documentation says",
    ),
    *each("T.ToVectors(T.CharNGram.from_file(F + 'ngrams.txt'), None, True)", "word words pieces"),
    *each("T.ToVectors(T.Vectors.from_file(F + 'windows.txt'))", "words"),
    *each("T.ToVectors(T.Vectors.from_file(F + 'vectors.txt'), [1, 2])", "words", _EARLY),
    *each(
        "T.ToVectors(T.Vectors.from_file(F + 'no_number.txt'))",
        "words",
        "what is no number is an error, not 0",
    ),
    *bad("T.Vectors.from_file(F + {})", "'torn.txt'; 'cut.txt'; 'long.txt'; 'blank.txt'; 'empty.txt'"),
    *bad(
        "T.Vectors.from_file({})",
        "1; None; 'none.txt'; ''; 'a*b.txt'; 'a '; 'v', -1; 'v', 1.0; 'v', True; 'v', 2147483648",
    ),
    *bad("T.GloVe.from_file({})", "'none.txt'; 'glove.6B.txt'; 'glove.6B.none.txt'; 1"),
    *each(
        "T.ToVectors(T.GloVe.from_file(F + 'glove.42B.test.txt'))",
        "words",
        "all files called glove.*.txt are taken",
    ),
    *bad("T.FastText.from_file({})", "'none.txt'; 'none.vec'; 'none.VEC'; 1"),
    *bad("T.CharNGram.from_file({})", "'none.txt'; F + 'torn.txt'"),
    *bad("T.ToVectors({})", "'a'; None; 5"),
    *bad(
        "T.ToVectors(T.Vectors.from_file(F + 'vectors.txt'), {})",
        "1; ['a', 1, 2]; [True, 1, 2]; None, 1; None, None; lower_case_backup='x'",
    ),
]
