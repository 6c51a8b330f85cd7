"""The vocabularies, word vectors and enumerations of millrace.dataset.text."""

from __future__ import annotations

from millrace.data.kernels.text.vectors import CharNGram, FastText, GloVe, Vectors
from millrace.data.kernels.text.vocab import Vocab

__all__ = [
    "CharNGram",
    "FastText",
    "GloVe",
    "Vectors",
    "Vocab",
]
