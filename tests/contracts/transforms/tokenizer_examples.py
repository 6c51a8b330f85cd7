"""One example of every tokenizer, and of what brings texts to one form; see text_examples.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millrace.dataset.text as T


def _vocab() -> T.Vocab:
    return T.Vocab.from_list(
        ["[UNK]", "[CLS]", "[unused1]", "to", "bei", "##jing", "!", "the", "end", "cre", "##me"]
    )


TOKENIZERS: dict[str, tuple[Callable[[], Any], str]] = {
    "BasicTokenizer": (lambda: T.BasicTokenizer(True, with_offsets=True), "text"),
    "BertTokenizer": (lambda: T.BertTokenizer(_vocab(), lower_case=True), "text"),
    "CaseFold": (lambda: T.CaseFold(), "words"),
    "FilterWikipediaXML": (lambda: T.FilterWikipediaXML(), "text"),
    "NormalizeUTF8": (lambda: T.NormalizeUTF8(T.NormalizeForm.NFKD), "words"),
    "PythonTokenizer": (lambda: T.PythonTokenizer(str.split), "text"),
    "RegexReplace": (lambda: T.RegexReplace("[a-e]", "<$0>"), "words"),
    "RegexTokenizer": (lambda: T.RegexTokenizer(r"\s+|\p{P}", r"\p{P}"), "text"),
    "UnicodeCharTokenizer": (lambda: T.UnicodeCharTokenizer(True), "text"),
    "UnicodeScriptTokenizer": (lambda: T.UnicodeScriptTokenizer(True, True), "text"),
    "WhitespaceTokenizer": (lambda: T.WhitespaceTokenizer(), "text"),
    "WordpieceTokenizer": (lambda: T.WordpieceTokenizer(_vocab(), with_offsets=True), "words"),
}
