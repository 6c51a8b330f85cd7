"""BERT's basic tokenizer: clean a text, then split it at white space, punctuation and ideographs."""

from __future__ import annotations

import functools
import re
import unicodedata

from .unicode_normalization import NormalizeForm, case_fold, normalize
from .unicode_properties import CONTROL, IDEOGRAPHS, SPACES, char_class, points
from .unicode_tokenizers import Spans, slice_spans

__all__ = ["UNUSED", "basic_spans", "basic_tokens", "clean_text"]

# special tokens, which are not split
_SPECIAL_TOKENS = r"\[(?:CLS|SEP|UNK|PAD|MASK)\]"
UNUSED = rf"{_SPECIAL_TOKENS}|\[unused\d+\]"
_ASCII = r"!-/:-@\[-`{-~"
_UNUSED = re.compile(UNUSED)
_SPECIAL_TOKEN = re.compile(f"({_SPECIAL_TOKENS})")


@functools.cache
def _standalone_pattern() -> re.Pattern[str]:
    return re.compile(f"[{_ASCII}{char_class('PUNCTUATION')}{IDEOGRAPHS}]")


@functools.cache
def _token_pattern(keep_whitespace: bool, unused: bool) -> re.Pattern[str]:
    standalone = _standalone_pattern().pattern[1:-1]
    parts = [UNUSED] if unused else []
    if keep_whitespace:
        parts.append(f"[{SPACES}]+")
    return re.compile("|".join([*parts, f"[{standalone}]", f"[^{standalone}{SPACES}]+"]))


@functools.cache
def _ascii_token_pattern(unused: bool) -> re.Pattern[str]:
    """The token pattern for ASCII: all but letters and digits is punctuation, white space or control characters."""
    return re.compile("|".join([*([UNUSED] if unused else []), "[0-9A-Za-z]+", f"[{_ASCII}]"]))


@functools.cache
def _control_pattern() -> re.Pattern[str]:
    return re.compile(f"[{CONTROL}{char_class('FORMATS')}]")


class _FoldTable(dict[int, str]):
    """Translation table that folds case and removes accents, computed when a character first occurs."""

    def __missing__(self, point: int) -> str:
        folded = _fold_text(chr(point))
        self[point] = folded
        return folded


_fold_table = _FoldTable()


class _SpacingTable(dict[int, str]):
    """Translation table that puts spaces around punctuation and ideographs, computed when a character first occurs."""

    def __missing__(self, point: int) -> str:
        char = chr(point)
        spaced = f" {char} " if _standalone_pattern().match(char) else char
        self[point] = spaced
        return spaced


_spacing_table = _SpacingTable()
# Marks that are kept when accents are removed, but that normalization reorders: texts with them are folded as a whole.
_REORDERED_MARKS = re.compile(
    "[\u1715\u1734\u1b44\u1baa\u1bf2\u1bf3\u302e\u302f\ua953\ua9c0\U000111c0\U00011235\U0001134d\U000116b6"
    "\U0001193d\U00011f41\U00016ff0\U00016ff1\U0001d15e-\U0001d166\U0001d16d-\U0001d172\U0001d1bb-\U0001d1c0]"
)


def _fold_text(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", case_fold(text))
    marks = points("MARKS")
    return _control_pattern().sub(" ", "".join([char for char in decomposed if char not in marks]))


def clean_text(text: str, lower_case: bool, form: NormalizeForm, unused: bool) -> str:
    """Fold case and remove accents, or normalize a text; control characters become spaces.

    >>> clean_text("Crème BRÛLÉE\\x01", True, NormalizeForm.NONE, False)
    'creme brulee '
    """
    if not lower_case:
        return _control_pattern().sub(" ", normalize(text, form))
    if unused and "[" in text and _SPECIAL_TOKEN.search(text):
        parts = _SPECIAL_TOKEN.split(text)
        parts[::2] = [_lower_text(part) for part in parts[::2]]
        return "".join(parts)
    return _lower_text(text)


def _lower_text(text: str) -> str:
    if text.isascii():
        return _control_pattern().sub(" ", text.lower())
    return _fold_text(text) if _REORDERED_MARKS.search(text) else text.translate(_fold_table)


def basic_tokens(text: str, keep_whitespace: bool, unused: bool) -> list[str]:
    """The tokens of a cleaned text; may be empty.

    >>> basic_tokens("it's 北京 [CLS]", False, True)
    ['it', "'", 's', '北', '京', '[CLS]']
    """
    if keep_whitespace:
        return _token_pattern(True, unused).findall(text)
    if text.isascii():
        return _ascii_token_pattern(unused).findall(text)
    if unused and "[" in text and _UNUSED.search(text):
        return _token_pattern(False, True).findall(text)
    return text.translate(_spacing_table).split()


def basic_spans(text: str, keep_whitespace: bool, unused: bool) -> Spans:
    """The tokens of a cleaned text with their byte offsets."""
    matches = _token_pattern(keep_whitespace, unused).finditer(text)
    return slice_spans(text, [match.span() for match in matches])
