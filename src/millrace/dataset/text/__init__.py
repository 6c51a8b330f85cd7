"""Text transforms, vocabularies and word vectors, under MindSpore's names."""

from __future__ import annotations

from millrace.data.kernels.text.vectors import CharNGram, FastText, GloVe, Vectors
from millrace.data.kernels.text.vocab import Vocab
from millrace.data.transforms.text.hugging_face import HuggingFaceTokenizer
from millrace.data.transforms.text.lookup import Lookup, ToNumber
from millrace.data.transforms.text.sequence import (
    AddToken,
    Ngram,
    SlidingWindow,
    Truncate,
    TruncateSequencePair,
)
from millrace.data.transforms.text.to_vectors import ToVectors
from millrace.data.transforms.text.tokenizers import UnicodeCharTokenizer, WhitespaceTokenizer

__all__ = [
    "CharNGram",
    "FastText",
    "GloVe",
    "ToVectors",
    "Vectors",
    "AddToken",
    "HuggingFaceTokenizer",
    "Lookup",
    "Ngram",
    "SlidingWindow",
    "ToNumber",
    "Truncate",
    "TruncateSequencePair",
    "UnicodeCharTokenizer",
    "Vocab",
    "WhitespaceTokenizer",
]
