"""The enumerations of SentencePiece and Jieba."""

from __future__ import annotations

from enum import IntEnum

from millrace._src.core.public import public
from millrace._src.core.stable_ids import stable_id

__all__ = ["JiebaMode", "SPieceTokenizerLoadType", "SPieceTokenizerOutType", "SentencePieceModel"]


@public("dataset.text", "dataset.text.utils")
@stable_id("enum.JiebaMode")
class JiebaMode(IntEnum):
    """How JiebaTokenizer cuts.

    ``MP``: the likeliest words of the dictionary. ``HMM``: a hidden Markov model over characters. ``MIX``: the first,
    and the second for what it leaves as single characters.

    >>> JiebaMode.MIX.name
    'MIX'
    """

    MIX = 0
    MP = 1
    HMM = 2


@public("dataset.text", "dataset.text.utils")
@stable_id("enum.SentencePieceModel")
class SentencePieceModel(IntEnum):
    """How SentencePiece finds its pieces.

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
    """What a SentencePieceTokenizer is made from: a ``FILE`` or a vocabulary (``MODEL``).

    >>> SPieceTokenizerLoadType.FILE.name
    'FILE'
    """

    FILE = 0
    MODEL = 1


@public("dataset.text", "dataset.text.utils")
@stable_id("enum.SPieceTokenizerOutType")
class SPieceTokenizerOutType(IntEnum):
    """What a SentencePieceTokenizer gives: pieces of text or their numbers.

    >>> SPieceTokenizerOutType.INT.name
    'INT'
    """

    STRING = 0
    INT = 1
