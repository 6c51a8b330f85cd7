"""The vocabularies, word vectors and enumerations of millrace.dataset.text."""

from __future__ import annotations

from millrace.data.kernels.text.convert import to_bytes, to_str
from millrace.data.kernels.text.modes import (
    JiebaMode,
    SentencePieceModel,
    SPieceTokenizerLoadType,
    SPieceTokenizerOutType,
)
from millrace.data.kernels.text.normal import NormalizeForm
from millrace.data.kernels.text.sentence_piece import SentencePieceVocab
from millrace.data.kernels.text.vectors import CharNGram, FastText, GloVe, Vectors
from millrace.data.kernels.text.vocab import Vocab

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
