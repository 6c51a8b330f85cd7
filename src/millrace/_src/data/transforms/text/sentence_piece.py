"""Tokenize with a SentencePiece model."""

from __future__ import annotations

from enum import Enum
from typing import Any, ClassVar

import numpy as np

from millrace._src.core.args import check_type, checked
from millrace._src.core.public import public
from millrace._src.core.values.columns import RaggedColumn, StringColumn, offsets_of
from millrace._src.data.kernels.text.enums import SPieceTokenizerLoadType, SPieceTokenizerOutType
from millrace._src.data.kernels.text.sentence_piece import SentencePieceVocab, load_vocab_file
from millrace._src.data.transforms.tensor_operation import register_json_type

from .base import TextTensorOperation, single_string

__all__ = ["SentencePieceTokenizer"]

register_json_type(SentencePieceVocab)


@public("dataset.text", "dataset.text.transforms")
class SentencePieceTokenizer(TextTensorOperation):
    """Tokenize a text into pieces of a SentencePiece model.

    Args:
        mode (Union[str, SentencePieceVocab]): a model file, or a vocabulary.
        out_type (SPieceTokenizerOutType): return the pieces as text, or their ids as int32.

    >>> import millrace.dataset.text as text
    >>> with open("corpus.txt", "w") as file:
    ...     _ = file.write("the mill turns\\nthe wheel turns\\n" * 20)
    >>> vocab = text.SentencePieceVocab.from_file(["corpus.txt"], 24, 1.0, text.SentencePieceModel.BPE, {})
    >>> text.SentencePieceTokenizer(vocab, text.SPieceTokenizerOutType.STRING)("the mill")
    array(['▁the', '▁', 'm', 'il', 'l'], dtype='<U4')
    """

    batch_column_types = (StringColumn,)
    holds_gil = False  # the library does the work without it

    json_enums: ClassVar[dict[str, type[Enum]]] = {"out_type": SPieceTokenizerOutType}

    @checked
    def __init__(self, mode: Any, out_type: Any) -> None:
        check_type(
            mode, (str, SentencePieceVocab), "mode is not an instance of str or text.SentencePieceVocab."
        )
        check_type(
            out_type, (SPieceTokenizerOutType,), "out_type is not an instance of SPieceTokenizerOutType"
        )
        self.mode = mode
        self.out_type = out_type
        _ = self._processor

    @property
    def load_type(self) -> SPieceTokenizerLoadType:
        """Whether the tokenizer was created from a model file or from a vocabulary."""
        types = SPieceTokenizerLoadType
        return types.FILE if isinstance(self.mode, str) else types.MODEL

    @property
    def _processor(self) -> Any:
        return (load_vocab_file(self.mode) if isinstance(self.mode, str) else self.mode).processor

    def _identity(self) -> dict[str, Any]:
        vocab = load_vocab_file(self.mode) if isinstance(self.mode, str) else self.mode
        return {"mode": vocab, "out_type": self.out_type}

    def row(self, value: Any) -> Any:
        text = single_string(value, "SentencePieceTokenizer")
        if self.out_type == SPieceTokenizerOutType.INT:
            return np.array(self._processor.encode(text, out_type=int), np.int32)
        return np.array(self._processor.encode(text, out_type=str), np.str_)

    def batch(self, column: StringColumn) -> Any:
        if column.rows is not None:
            return None
        if self.out_type == SPieceTokenizerOutType.STRING:
            return StringColumn.of_lists(self._processor.encode(column.strings, out_type=str, num_threads=1))
        id_lists = self._processor.encode(column.strings, out_type=int, num_threads=1)
        flat = [number for numbers in id_lists for number in numbers]
        return RaggedColumn(np.array(flat, np.int32), offsets_of(list(map(len, id_lists))))
