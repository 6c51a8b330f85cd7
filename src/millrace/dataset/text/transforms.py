"""Text transforms under MindSpore's module path."""

from __future__ import annotations

from millrace._src.data.transforms.text.bert_tokenizer import (
    BasicTokenizer,
    BertTokenizer,
    WordpieceTokenizer,
)
from millrace._src.data.transforms.text.jieba import JiebaTokenizer
from millrace._src.data.transforms.text.lookup import Lookup, ToNumber
from millrace._src.data.transforms.text.regex_tokenizer import RegexReplace, RegexTokenizer
from millrace._src.data.transforms.text.sentence_piece import SentencePieceTokenizer
from millrace._src.data.transforms.text.token_sequence import (
    AddToken,
    Ngram,
    SlidingWindow,
    Truncate,
    TruncateSequencePair,
)
from millrace._src.data.transforms.text.unicode_normalization import (
    CaseFold,
    FilterWikipediaXML,
    NormalizeUTF8,
)
from millrace._src.data.transforms.text.unicode_tokenizers import (
    PythonTokenizer,
    UnicodeCharTokenizer,
    UnicodeScriptTokenizer,
    WhitespaceTokenizer,
)
from millrace._src.data.transforms.text.word_vectors import ToVectors

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
