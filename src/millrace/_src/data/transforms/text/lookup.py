"""Convert words to ids of a vocabulary, and texts to numbers."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import ArgumentTypeError, DataError, PlanError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.columns import RaggedColumn, StringColumn
from millrace._src.data.kernels.text.string_to_number import parse_numbers
from millrace._src.data.kernels.text.vocab import Vocab
from millrace._src.data.transforms.argument_types import DataType, data_type
from millrace._src.data.transforms.tensor_operation import register_json_type

from .base import TextTensorOperation

__all__ = ["Lookup", "ToNumber"]

register_json_type(Vocab)


@public("dataset.text", "dataset.text.transforms")
class Lookup(TextTensorOperation):
    """Look up words in a vocabulary and return their ids.

    Args:
        vocab (Vocab): the vocabulary.
        unknown_token (str): the word whose id is used for unknown words. Default: ``None``, an unknown word is an
            error.
        data_type (mindspore.dtype): the type of the ids; an id that is too large for it wraps around, as in
            MindSpore. Default: ``mstype.int32``.

    >>> import millrace.dataset.text as text
    >>> vocab = text.Vocab.from_list(["<unk>", "the", "end"])
    >>> text.Lookup(vocab, "<unk>")(["the", "very", "end"])
    array([1, 0, 2], dtype=int32)
    """

    batch_column_types = (StringColumn,)

    @checked
    def __init__(
        self, vocab: Any, unknown_token: str | None = None, data_type: DataType = mstype.int32
    ) -> None:
        check_type(vocab, (Vocab,), "vocab is not an instance of text.Vocab.")
        if not vocab.is_built:
            raise ArgumentTypeError(
                "Argument vocab has not been built: use Vocab.from_dataset(), Vocab.from_list(), Vocab.from_file() or "
                "Vocab.from_dict()."
            )
        if unknown_token is not None and unknown_token not in vocab:
            raise PlanError(
                f'Lookup: "{unknown_token}" doesn\'t exist in vocab. The unknown_token is one of its words.'
            )
        self.vocab = vocab
        self.unknown_token = unknown_token
        self.data_type = data_type
        _check_numeric(data_type)

    def row(self, value: Any) -> Any:
        if value.dtype.kind != "U":
            bytes_too = ": bytes become text with text.to_str()" if value.dtype.kind == "S" else ""
            raise DataError(f"Lookup: input is not string datatype, but got {value.dtype}{bytes_too}.")
        return self._ids(value.reshape(-1).tolist()).reshape(value.shape)

    def batch(self, column: StringColumn) -> Any:
        return _like_column(self._ids(column.strings), column)

    def _ids(self, words: list[str]) -> npt.NDArray[Any]:
        """Ids of these words, with one table lookup each."""
        table = self.vocab.table
        if self.unknown_token is None:
            numbers = list(map(table.get, words))
            if None in numbers:
                raise self._unknown(words[numbers.index(None)])
        else:
            numbers = list(map(table.get, words, repeat(table[self.unknown_token])))
        ids = np.array(numbers, np.int32)
        dtype = data_type(self.data_type)
        if dtype == np.int32:
            return ids
        with np.errstate(over="ignore"):  # float16 ends at 65504
            return ids.astype(dtype)

    def _unknown(self, word: str) -> DataError:
        return DataError(
            f'Lookup: invalid data, token: "{word}" doesn\'t exist in vocab and no unknown token is specified. '
            "Give one: Lookup(vocab, unknown_token=...)."
        )


def _check_numeric(value: Any) -> None:
    dtype = data_type(value)
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise PlanError(f"Lookup : The parameter data_type must be numeric including bool, but got {value}.")


@public("dataset.text", "dataset.text.transforms")
class ToNumber(TextTensorOperation):
    """Parse numbers from texts.

    A text is parsed like in C: white space before the number and text after it are ignored, so that "12 km" is 12 and,
    as an integer, "1.5" is 1. A text without a number, or a number that the type cannot hold, is an error.

    Args:
        data_type (mindspore.dtype): the type of the numbers; not bool.

    >>> import millrace.dataset.text as text
    >>> import millrace.common.dtype as mstype
    >>> text.ToNumber(mstype.int8)(["1", "-2", "3"])
    array([ 1, -2,  3], dtype=int8)
    """

    batch_column_types = (StringColumn,)

    @checked
    def __init__(self, data_type: DataType) -> None:
        if _number_dtype(data_type) is None:
            raise ArgumentTypeError(f"data_type: {data_type} is not numeric data type.")
        self.data_type = data_type

    def row(self, value: Any) -> Any:
        if value.dtype.kind != "U":
            raise DataError(f"ToNumber: input should be string datatype, but got {value.dtype}.")
        dtype = data_type(self.data_type)
        return parse_numbers(value.reshape(-1).tolist(), dtype).reshape(value.shape)

    def batch(self, column: StringColumn) -> Any:
        return _like_column(parse_numbers(column.strings, data_type(self.data_type)), column)


def _like_column(numbers: npt.NDArray[Any], column: StringColumn) -> npt.NDArray[Any] | RaggedColumn:
    """Numbers with the rows of a column of texts."""
    return numbers if column.rows is None else RaggedColumn(numbers, column.rows)


def _number_dtype(value: Any) -> np.dtype[Any] | None:
    dtype = data_type(value)
    return dtype if dtype.kind in "iuf" and dtype.itemsize <= 8 else None
