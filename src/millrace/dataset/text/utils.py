"""Vocabularies, word vectors and enumerations of ``millrace.dataset.text``."""

from __future__ import annotations

from millrace._src.data.kernels.text.enums import (
    JiebaMode,
    SentencePieceModel,
    SPieceTokenizerLoadType,
    SPieceTokenizerOutType,
)
from millrace._src.data.kernels.text.sentence_piece import SentencePieceVocab
from millrace._src.data.kernels.text.string_encoding import to_bytes, to_str
from millrace._src.data.kernels.text.unicode_normalization import NormalizeForm
from millrace._src.data.kernels.text.vocab import Vocab
from millrace._src.data.kernels.text.word_vectors import CharNGram, FastText, GloVe, Vectors

__all__ = [
    "CharNGram",
    "FastText",
    "GloVe",
    "JiebaMode",
    "NormalizeForm",
    "SPieceTokenizerLoadType",
    "SPieceTokenizerOutType",
    "SentencePieceModel",
    "SentencePieceVocab",
    "Vectors",
    "Vocab",
    "to_bytes",
    "to_str",
]
