"""Text transforms, vocabularies and word vectors, under MindSpore's names."""

from __future__ import annotations

from millrace.data.kernels.text.convert import to_bytes, to_str
from millrace.data.kernels.text.modes import (
    JiebaMode,
    SentencePieceModel,
    SPieceTokenizerLoadType,
    SPieceTokenizerOutType,
)
from millrace.data.kernels.text.sentence_piece import SentencePieceVocab
from millrace.data.kernels.text.vectors import CharNGram, FastText, GloVe, Vectors
from millrace.data.kernels.text.vocab import Vocab
from millrace.data.transforms.text.bert import BasicTokenizer, BertTokenizer, WordpieceTokenizer
from millrace.data.transforms.text.hugging_face import HuggingFaceTokenizer
from millrace.data.transforms.text.jieba import JiebaTokenizer
from millrace.data.transforms.text.lookup import Lookup, ToNumber
from millrace.data.transforms.text.normal import CaseFold, FilterWikipediaXML, NormalizeForm, NormalizeUTF8
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
    "CharNGram",
    "FastText",
    "FilterWikipediaXML",
    "GloVe",
    "HuggingFaceTokenizer",
    "JiebaMode",
    "JiebaTokenizer",
    "Lookup",
    "Ngram",
    "NormalizeForm",
    "NormalizeUTF8",
    "PythonTokenizer",
    "RegexReplace",
    "RegexTokenizer",
    "SPieceTokenizerLoadType",
    "SPieceTokenizerOutType",
    "SentencePieceModel",
    "SentencePieceTokenizer",
    "SentencePieceVocab",
    "SlidingWindow",
    "ToNumber",
    "ToVectors",
    "Truncate",
    "TruncateSequencePair",
    "UnicodeCharTokenizer",
    "UnicodeScriptTokenizer",
    "Vectors",
    "Vocab",
    "WhitespaceTokenizer",
    "WordpieceTokenizer",
    "to_bytes",
    "to_str",
]
