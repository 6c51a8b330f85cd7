"""Case folding, Unicode normalization, and plain words from a Wikipedia dump."""

from __future__ import annotations

import re
import unicodedata
from enum import IntEnum
from typing import Literal, cast

from millrace._src.core.public import public
from millrace._src.core.stable_ids import stable_id

from .unicode_properties import points

__all__ = ["NormalizeForm", "case_fold", "filter_wikipedia", "normalize"]


@public("dataset.text", "dataset.text.utils")
@stable_id("enum.NormalizeForm")
class NormalizeForm(IntEnum):
    """Unicode normalization form of `NormalizeUTF8` and the BERT tokenizers.

    NFC and NFD compose and decompose characters; NFKC and NFKD also replace compatibility characters (ligatures,
    full-width forms); NONE leaves the text unchanged.

    >>> import millrace.dataset.text as text
    >>> text.NormalizeForm.NFKC.name
    'NFKC'
    """

    NONE = 0
    NFC = 1
    NFKC = 2
    NFD = 3
    NFKD = 4


# U+1E030 to U+1E06D are new in Unicode 15: superscript and subscript letters, and their replacements
_MODIFIER_BASES = "абвгдежзиклмопрстуфхцчшыэюꚉәіјөүӏабвгдежзиклопсуфхцчшъыґіѕџҫꙑұ"
_MODIFIER_LETTERS = {0x1E030 + i: letter for i, letter in enumerate(_MODIFIER_BASES)}


def normalize(text: str, form: NormalizeForm) -> str:
    """Normalize a text to a Unicode normalization form.

    >>> normalize("ﬁ e\\u0301", NormalizeForm.NFKC)
    'fi é'
    """
    if form == NormalizeForm.NONE or text.isascii():
        return text
    if form in (NormalizeForm.NFKC, NormalizeForm.NFKD):
        text = text.translate(_MODIFIER_LETTERS)
    return unicodedata.normalize(cast(Literal["NFC", "NFD", "NFKC", "NFKD"], form.name), text)


class _CaseFoldTable(dict[int, str]):
    """Translation table for case folding, computed when a character first occurs."""

    def __missing__(self, point: int) -> str:
        char = chr(point)
        if char in points("IGNORED"):
            char = ""
        while True:  # folding may produce characters to normalize, and normalization characters to fold
            folded = normalize(normalize(char, NormalizeForm.NFKC).casefold(), NormalizeForm.NFKC)
            if folded == char:
                self[point] = folded
                return folded
            char = folded


_case_fold_table = _CaseFoldTable()


def case_fold(text: str) -> str:
    """Fold case, width and compatibility forms, and remove ignorable characters (NFKC_Casefold).

    >>> case_fold("Straße ＡＢＣ ﬁ\\u00ad")
    'strasse abc fi'
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text.translate(_case_fold_table))


_DIGIT_NAMES = "zero one two three four five six seven eight nine".split()  # noqa: SIM905
_DIGIT_TABLE = {ord("0") + i: f" {digit_name} " for i, digit_name in enumerate(_DIGIT_NAMES)}
# from the first < of a line to its last >, then the remaining tags across lines
_TAGS = re.compile("<[^\n\v\f\r\x85\u2028\u2029]*>")
_MULTILINE_TAGS = re.compile("<[^>]*>")
_ENTITY = re.compile("&[^;]*;")
_NON_LETTERS = re.compile("[^a-z]+")


def filter_wikipedia(text: str) -> str:
    """Extract the words of Wikipedia's XML: lower-case Latin letters, digits spelt out, single spaces.

    >>> filter_wikipedia("<b>AT&amp;T</b> has 3 Offices")
    'has three offices'
    """
    lowered = _lower_ascii(text)
    if "#redirect" in lowered:
        return ""
    plain = _ENTITY.sub(" ", _MULTILINE_TAGS.sub("", _TAGS.sub("", lowered)))
    return _NON_LETTERS.sub(" ", plain.translate(_DIGIT_TABLE)).strip()


def _lower_ascii(text: str) -> str:
    """Lower-case the letters A to Z only."""
    return text.lower() if text.isascii() else text.translate(_LOWER_TABLE)


_LOWER_TABLE = {ord("A") + i: chr(ord("a") + i) for i in range(26)}
