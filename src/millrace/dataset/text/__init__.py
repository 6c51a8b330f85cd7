"""Text transforms, vocabularies and word vectors, under MindSpore's names."""

from __future__ import annotations

from millrace.data.kernels.text.vocab import Vocab
from millrace.data.transforms.text.tokenizers import UnicodeCharTokenizer, WhitespaceTokenizer

__all__ = [
    "UnicodeCharTokenizer",
    "Vocab",
    "WhitespaceTokenizer",
]
