"""Enumerations of SentencePiece and Jieba."""

from __future__ import annotations

from enum import IntEnum

from millrace._src.core.public import public
from millrace._src.core.stable_ids import stable_id

__all__ = ["JiebaMode", "SPieceTokenizerLoadType", "SPieceTokenizerOutType", "SentencePieceModel"]


@public("dataset.text", "dataset.text.utils")
@stable_id("enum.JiebaMode")
class JiebaMode(IntEnum):
    """Segmentation mode of `JiebaTokenizer`.

    ``MP``: the most probable words of the dictionary. ``HMM``: a hidden Markov model over characters. ``MIX``: MP, and
    HMM for runs of single characters that MP leaves.

    >>> JiebaMode.MIX.name
    'MIX'
    """

    MIX = 0
    MP = 1
    HMM = 2


@public("dataset.text", "dataset.text.utils")
@stable_id("enum.SentencePieceModel")
class SentencePieceModel(IntEnum):
    """Algorithm of a SentencePiece model.

    >>> SentencePieceModel.BPE.name
    'BPE'
    """

    UNIGRAM = 0
    BPE = 1
    CHAR = 2
    WORD = 3


@public("dataset.text", "dataset.text.utils")
@stable_id("enum.SPieceTokenizerLoadType")
class SPieceTokenizerLoadType(IntEnum):
    """Source of a `SentencePieceTokenizer`: a model ``FILE`` or a vocabulary (``MODEL``).

    >>> SPieceTokenizerLoadType.FILE.name
    'FILE'
    """

    FILE = 0
    MODEL = 1


@public("dataset.text", "dataset.text.utils")
@stable_id("enum.SPieceTokenizerOutType")
class SPieceTokenizerOutType(IntEnum):
    """Output type of a `SentencePieceTokenizer`: pieces of text or their ids.

    >>> SPieceTokenizerOutType.INT.name
    'INT'
    """

    STRING = 0
    INT = 1
