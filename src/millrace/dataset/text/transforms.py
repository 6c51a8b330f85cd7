"""The transforms of millrace.dataset.text, under MindSpore's path."""

from __future__ import annotations

from millrace.data.transforms.text.bert import BasicTokenizer, BertTokenizer, WordpieceTokenizer
from millrace.data.transforms.text.jieba import JiebaTokenizer
from millrace.data.transforms.text.lookup import Lookup, ToNumber
from millrace.data.transforms.text.normal import CaseFold, FilterWikipediaXML, NormalizeUTF8
from millrace.data.transforms.text.patterns import RegexReplace, RegexTokenizer
from millrace.data.transforms.text.sentence_piece import SentencePieceTokenizer
from millrace.data.transforms.text.sequence import (
    AddToken,
    Ngram,
    SlidingWindow,
    Truncate,
    TruncateSequencePair,
)
from millrace.data.transforms.text.to_vectors import ToVectors
from millrace.data.transforms.text.tokenizers import (
    PythonTokenizer,
    UnicodeCharTokenizer,
    UnicodeScriptTokenizer,
    WhitespaceTokenizer,
)

__all__ = [
    "AddToken",
    "BasicTokenizer",
    "BertTokenizer",
    "CaseFold",
    "FilterWikipediaXML",
    "JiebaTokenizer",
    "Lookup",
    "Ngram",
    "NormalizeUTF8",
    "PythonTokenizer",
    "RegexReplace",
    "RegexTokenizer",
    "SentencePieceTokenizer",
    "SlidingWindow",
    "ToNumber",
    "ToVectors",
    "Truncate",
    "TruncateSequencePair",
    "UnicodeCharTokenizer",
    "UnicodeScriptTokenizer",
    "WhitespaceTokenizer",
    "WordpieceTokenizer",
]
